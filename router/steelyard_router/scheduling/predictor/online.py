"""Coefficients of every instance, fitted while requests pass.

Instances that behave alike form a class and share one fit (likeness.py). An instance whose time is
off its class's prediction for long moves to the class that explains what it shows now, or founds
one, and what it showed before counts no more (subject.py). One that has stepped to another pace
moves at once, and takes along those of its class that begin to show the same: a clock is often
lowered for all. A class that is founded by a member of a known one is known.

An observation counts by its share of surprise: up to a few times the usual error fully, beyond that
less (Huber), so that a stalled connection teaches little; the usual error itself is learned.
"""

from math import inf, log
from operator import mul
from typing import Final

from steelyard_router.scheduling.predictor.coefficients import PRIOR, Coefficients
from steelyard_router.scheduling.predictor.fit import FLOOR, products
from steelyard_router.scheduling.predictor.likeness import Likeness
from steelyard_router.scheduling.predictor.protocol import Observation
from steelyard_router.scheduling.predictor.subject import ENOUGH, Subject

SWEEPS: Final = 2
SURPRISE: Final = 2.5
"""Times the usual error from which on an observation counts less."""
LEAST_ERROR: Final = 0.02
ALIKE: Final = 0.15
"""An instance belongs to a class that it is off by less, in logarithms."""
FAR: Final = 3.0
"""Times the prediction from which on an observation's own time is the measure of its error."""
LOOK: Final = 8
"""Observations of an instance after which it is asked whether its class is the right one."""


class OnlinePredictor:
    """A Predictor (protocol.py)."""

    def __init__(self, prior: Coefficients = PRIOR) -> None:
        believed = zip(prior, PRIOR, strict=True)
        self._first = Likeness([max(FLOOR, mine / usual) for mine, usual in believed])
        self._classes = [self._first]
        self._subjects: dict[str, Subject] = {}

    def join(self, instance: str) -> None:
        if instance not in self._subjects:
            self._subjects[instance] = Subject(max(self._classes, key=_size))

    def leave(self, instance: str) -> None:
        subject = self._subjects.pop(instance, None)
        if subject is not None:
            self._part(subject)

    def coefficients(self, instance: str) -> Coefficients:
        subject = self._subjects.get(instance)
        return PRIOR if subject is None else subject.likeness.coefficients

    def trusted(self, instance: str) -> bool:
        """A newcomer among equals is taken for one of them."""
        subject = self._subjects.get(instance)
        if subject is None or not subject.likeness.good:
            return False
        return subject.seen >= ENOUGH or len(self._classes) == 1

    def pace(self, instance: str) -> float:
        subject = self._subjects.get(instance)
        return 1.0 if subject is None else subject.pace.ratio

    def observe(self, instance: str, seen: Observation) -> None:
        """What makes no sense is passed over."""
        subject = self._subjects.get(instance)
        if subject is None or min(seen) < 0:
            return
        likeness = subject.likeness
        parts = _parts(seen)
        base, prefill, attention, sequence, context = map(mul, parts, likeness.ratios)
        predicted = base + prefill + attention + sequence + context
        if not (0 < predicted < inf and 0 < seen.seconds < inf):
            return
        prompts = (prefill + attention) / predicted
        times = seen.seconds / predicted
        miss = abs(times - 1) / max(times, 1)
        weight = min(1.0, SURPRISE * max(likeness.error, LEAST_ERROR) / miss) if miss else 1.0
        scale = 1 / (predicted if times < FAR else seen.seconds)
        target = seen.seconds * scale
        equation = products([part * scale for part in parts], target, weight)
        subject.seen += 1
        subject.gram.add(equation, target, weight)
        subject.note(log(min(max(times, 1 / FAR), FAR)), prompts)
        likeness.gram.add(equation, target, weight)
        likeness.solve(SWEEPS)
        likeness.judge(miss)
        subject.walk(parts, seen.seconds)
        if subject.leaps:
            self._leap(subject)
        elif subject.seen % LOOK == 0:
            if subject.apart:
                self._move(subject)
            elif len(self._classes) > 1:
                self._join(likeness)

    def _leap(self, subject: Subject) -> None:
        """It has stepped, and so have, it seems, those that show a sign of it."""
        leaping = [each for each in subject.likeness.members if each.shows(subject)]
        for each in leaping:
            each.leap()
            self._move(each, known=True)

    def _part(self, subject: Subject) -> None:
        likeness = subject.likeness
        likeness.members.pop(subject, None)
        if not likeness.members and len(self._classes) > 1:
            self._classes.remove(likeness)

    def _move(self, subject: Subject, *, known: bool = False) -> None:
        """To the class that explains it best, or to one of its own."""
        old = subject.likeness
        others = [each for each in self._classes if each is not old]
        home = min(others, key=subject.distance, default=None)
        if home is None or subject.distance(home) > ALIKE:
            home = subject.alike(heir=known)
            self._classes.append(home)
        self._part(subject)
        subject.enter(home)
        if old.members:
            old.recount()

    def _join(self, likeness: Likeness) -> None:
        """Make one class of two, where a larger one explains this one's members as well as it does
        itself.
        """
        own = likeness.gram.fits(likeness.ratios)[1]
        for other in self._classes:
            if other is likeness or len(other.members) < len(likeness.members):
                continue
            factor, error = likeness.gram.fits(other.ratios)
            if factor > 0 and abs(log(factor)) < ALIKE / 2 and error < own + LEAST_ERROR:
                self._classes.remove(likeness)
                other.gram.merge(likeness.gram)
                for member in likeness.members:
                    member.likeness = other
                other.members |= likeness.members
                return


def _size(likeness: Likeness) -> int:
    return len(likeness.members)


def _parts(seen: Observation) -> list[float]:
    """What each term has in it by PRIOR."""
    _, steps, tokens, pairs, sequences, contexts = seen
    base, prefill, attention, sequence, context = PRIOR
    return [
        steps * base,
        tokens * prefill,
        pairs * attention,
        sequences * sequence,
        contexts * context,
    ]
