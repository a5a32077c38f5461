"""Coefficients of every instance, fitted while requests pass.

Instances that behave alike form a class and share one fit, so that a fleet of equals learns as many
times faster as it has members, and equals stay exactly equal: ties between them are broken by load,
not by noise. An instance whose time is off its class's prediction for long moves to the class that
explains what it shows now, or founds one, and what it showed before counts no more. What shows it:
the mean of log(time / prediction) of late, apart for time that went into prompts and into decoding.

An observation counts by its share of surprise: up to a few times the usual error fully, beyond that
less (Huber), so that a stalled connection teaches little; the usual error itself is learned.
"""

from math import exp, isfinite, log
from typing import Final

from steelyard_router.scheduling.predictor.coefficients import PRIOR, Coefficients
from steelyard_router.scheduling.predictor.fit import CEILING, FLOOR, Gram, products, sweep
from steelyard_router.scheduling.predictor.protocol import Observation

MEMORY: Final = 1 - 1 / 300
"""Of an instance's equations;"""
CLASS_MEMORY: Final = 1 - 1 / 2000
"""and of a class's, which come from all its members."""
STRENGTH: Final = 1.0
"""Equations of a term alone that what was believed before is worth."""
SWEEPS: Final = 2
SURPRISE: Final = 2.5
"""Times the usual error from which on an observation counts less."""
ERROR_GAIN: Final = 1 / 32
LEAST_ERROR: Final = 0.02
APART: Final = 0.2
"""An instance that is off its class's prediction by more, in logarithms, does not belong there;"""
ALIKE: Final = 0.15
"""one that is off by less does."""
FAR: Final = 3.0
"""Times the prediction from which on an observation's own time is the measure of its error."""
DRIFT_GAIN: Final = 1 / 16
SIDES: Final = ((0, 3, 4), (1, 2))
"""Terms of decoding, and of prompts."""
LOOK: Final = 8
"""Observations of an instance after which it is asked whether its class is the right one."""
ENOUGH: Final = 10
"""Observations after which an instance may be told from others, or counts as known;"""
CLASS_ENOUGH: Final = 48
"""and those after which a class counts as known,"""
PREFILL_ENOUGH: Final = 0.5
"""if so much of them (sum of squared shares) shows what prompts cost"""
GOOD: Final = 0.2
"""and the usual error is no more than this. It is not any more"""
BAD: Final = 0.35
"""from here on."""


class Likeness:
    """A class of instances that behave alike, and their common fit."""

    __slots__ = ("centre", "coefficients", "error", "good", "gram", "members", "ratios")

    def __init__(self, centre: list[float]) -> None:
        self.centre = centre
        """Ratios to PRIOR that are believed before anything is seen."""
        self.ratios = list(centre)
        self.coefficients = _scaled(centre)
        self.gram = Gram(CLASS_MEMORY)
        self.members: dict[Subject, None] = {}
        """In order of entry: a set would add up their sums in another order every time."""
        self.error = 0.5
        """The usual one, relative."""
        self.good = False

    def solve(self, sweeps: int) -> None:
        for _ in range(sweeps):
            sweep(self.ratios, self.gram, self.centre, STRENGTH)
        self.coefficients = _scaled(self.ratios)

    def judge(self, miss: float) -> None:
        """Learn how large errors are, and from it whether the fit can be relied on."""
        self.error += (miss - self.error) * ERROR_GAIN
        known = self.gram.weight >= CLASS_ENOUGH and self.gram.sums[7] >= PREFILL_ENOUGH
        self.good = known and self.error <= (BAD if self.good else GOOD)

    def recount(self) -> None:
        """From its members alone, after one has come or gone."""
        self.gram = Gram(CLASS_MEMORY)
        for member in self.members:
            self.gram.merge(member.gram)


class Subject:
    """An instance and what it has shown."""

    __slots__ = ("drift", "gram", "likeness", "seen", "told")

    def __init__(self, likeness: Likeness) -> None:
        self.seen = 0
        self.enter(likeness)

    def enter(self, likeness: Likeness) -> None:
        """Be one of them, as far as is known by now."""
        likeness.members[self] = None
        self.likeness = likeness
        self.gram = Gram(MEMORY)
        self.drift = [0.0, 0.0]
        """Mean logarithm of time / prediction of late, by side,"""
        self.told = [0.0, 0.0]
        """and how many observations, or shares of them, have told it."""

    def note(self, stretch: float, prompts: float) -> None:
        """So much longer than predicted (logarithm); prompts had that share of it."""
        for side, share in enumerate((1 - prompts, prompts)):
            self.told[side] += share
            gain = max(DRIFT_GAIN, 1 / (1 + self.told[side])) * share
            self.drift[side] += (stretch - self.drift[side]) * gain

    @property
    def apart(self) -> bool:
        """Whether it has shown for long enough that it is not like the others of its class."""
        pairs = zip(self.drift, self.told, strict=True)
        return any(abs(drift) > APART and told >= ENOUGH for drift, told in pairs)

    def distance(self, other: Likeness) -> float:
        """How far off that class is from what this one shows, in logarithms, on the worse side."""
        off = 0.0
        for drift, terms in zip(self.drift, SIDES, strict=True):
            there = self.gram.size(other.ratios, terms)
            here = self.gram.size(self.likeness.ratios, terms)
            if here and there:
                off = max(off, abs(drift - log(there / here) / 2))
        return off

    def alike(self) -> Likeness:
        """A class as this one shows itself: that of now, each side stretched by its drift."""
        ratios = list(self.likeness.ratios)
        for drift, terms in zip(self.drift, SIDES, strict=True):
            for term in terms:
                ratios[term] = min(max(ratios[term] * exp(drift), FLOOR), CEILING)
        return Likeness(ratios)


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

    def observe(self, instance: str, seen: Observation) -> None:
        subject = self._subjects.get(instance)
        if subject is None or not _sound(seen):
            return
        likeness = subject.likeness
        parts = [amount * cost for amount, cost in zip(seen[1:], PRIOR, strict=True)]
        ratios = likeness.ratios
        predicted = sum([part * ratio for part, ratio in zip(parts, ratios, strict=True)])
        prompts = (parts[1] * ratios[1] + parts[2] * ratios[2]) / predicted
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
        if subject.seen % LOOK == 0:
            if subject.apart:
                self._move(subject)
            elif len(self._classes) > 1:
                self._join(likeness)

    def _part(self, subject: Subject) -> None:
        likeness = subject.likeness
        likeness.members.pop(subject, None)
        if not likeness.members and len(self._classes) > 1:
            self._classes.remove(likeness)

    def _move(self, subject: Subject) -> None:
        """To the class that explains it best, or to one of its own."""
        old = subject.likeness
        others = [each for each in self._classes if each is not old]
        home = min(others, key=subject.distance, default=None)
        if home is None or subject.distance(home) > ALIKE:
            home = subject.alike()
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


def _scaled(ratios: list[float]) -> Coefficients:
    return Coefficients(*[ratio * usual for ratio, usual in zip(ratios, PRIOR, strict=True)])


def _sound(seen: Observation) -> bool:
    """Something was done, in a time that is one."""
    return seen.seconds > 0 and min(seen) >= 0 and max(seen[1:]) > 0 and isfinite(sum(seen))
