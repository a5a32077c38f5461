"""Whether predictions still fit the world: three monitors, each OK or Drifting.

- error: of late the predictions of a workload's TTFT or TPOT are off by far more than usual;
- clock: an instance takes longer, or less long, for the same work than it did (predictor/pace.py);
- input: a workload's prompts or replies have another length than usual, or find another share of
  themselves cached. What was learned from the ones before may be wrong for these.

Fed with every request that ends, judged every second or so. Nothing acts on it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from typing import Final

from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.shift import Shift

LEAST_ERROR: Final = 0.1
"""Errors of a tenth are never drift."""
WORSE: Final = log(1.5)
OTHER: Final = log(1.6)
"""Factors from which on errors are worse than usual, and inputs others than usual."""
TINY: Final = 0.01
"""What is nearer to nothing counts as so much, so that it has a logarithm."""
QUIET_S: Final = 60.0
"""A workload that has had no request for longer drifts nowhere: of the last before a pause, the
long ones end last."""
SHOWN: Final = 8
"""Findings of one monitor, at most."""
HOLD_S: Final = 60.0
"""What is over sooner is not told in the cluster, neither by an Event nor by a condition."""

Finding = tuple[str, str]
"""The workload or instance, and what has drifted there, in words."""


class Monitor(StrEnum):
    """What is watched."""

    ERROR = "error"
    CLOCK = "clock"
    INPUT = "input"


@dataclass(slots=True)
class Drift:
    """The state of one monitor. `what` says what has drifted, empty if nothing has, and `where` of
    which workloads or instances, without figures, which change all the time. `since` is on the
    router's clock: when anything of it began, or when the last of it ended.
    """

    monitor: Monitor
    since: float
    what: tuple[str, ...] = ()
    where: tuple[str, ...] = ()

    @property
    def drifting(self) -> bool:
        return bool(self.what)

    def lasting(self, now: float) -> bool:
        """Whether it drifts, and has for HOLD_S."""
        return self.drifting and now - self.since >= HOLD_S


class Watched:
    """One number of a workload's requests; `drifting` as it was judged last."""

    __slots__ = ("drifting", "feature", "shift")

    def __init__(self, feature: str, least: float) -> None:
        self.feature = feature
        self.shift = Shift(least)
        self.drifting = False

    def add(self, value: float) -> None:
        self.shift.add(log(value if value > TINY else TINY))


class Workload:
    """What is watched of a workload."""

    __slots__ = ("computed", "last_s", "prompts", "replies", "tpot", "ttft")

    def __init__(self) -> None:
        self.last_s = 0.0
        """When the last of its requests ended."""
        self.ttft = Watched("TTFT", WORSE)
        self.tpot = Watched("TPOT", WORSE)
        self.prompts = Watched("prompts", OTHER)
        self.replies = Watched("replies", OTHER)
        self.computed = Watched("computed", OTHER)

    def add(self, outcome: Outcome) -> None:
        if (error := outcome.ttft_error) is not None:
            self.ttft.add(error)
        if (error := outcome.tpot_error) is not None:
            self.tpot.add(error)
        self.prompts.add(outcome.prompt_tokens)
        self.replies.add(outcome.output_tokens)
        if outcome.cached_tokens is not None and outcome.prompt_tokens:
            self.computed.add(1 - outcome.cached_tokens / outcome.prompt_tokens)

    def judge(self) -> Iterator[tuple[Monitor, str]]:
        """What has drifted, in words."""
        for error in (self.ttft, self.tpot):
            late, usual = exp(error.shift.late), exp(error.shift.usual)
            size = error.shift.size if late >= LEAST_ERROR else 0.0
            error.drifting = error.shift.shifted(size, before=error.drifting)
            if error.drifting:
                off = f"off by {late:.0%}, usually by {usual:.0%}"
                yield Monitor.ERROR, f"{error.feature} predictions are {off}"
        for each in (self.prompts, self.replies, self.computed):
            each.drifting = each.shift.shifted(abs(each.shift.size), before=each.drifting)
            if each.drifting:
                yield Monitor.INPUT, _input(each.feature, exp(each.shift.size))


class DriftBook:
    """Of one router, which has started at `now`. Workloads come from a bounded set."""

    def __init__(self, now: float) -> None:
        self._workloads: dict[str, Workload] = {}
        self._paces: dict[str, tuple[float, bool]] = {}
        """By instance, when it last changed its pace or came back to it, and whether it is off
        it."""
        self._states = {monitor: Drift(monitor, now) for monitor in Monitor}

    def add(self, workload: str, outcome: Outcome, now: float) -> None:
        """A request that has ended."""
        if outcome.result != "ok":
            return
        known = self._workloads.get(workload)
        if known is None:
            known = self._workloads[workload] = Workload()
        known.add(outcome)
        known.last_s = now

    def keep(self, workloads: Collection[str]) -> None:
        """Forget all others."""
        for name in [name for name in self._workloads if name not in workloads]:
            del self._workloads[name]

    def judge(self, paces: Mapping[str, float], now: float) -> list[Drift]:
        """Look at everything; `paces` are the instances' (predictor/pace.py), 1 where nothing has
        changed. Gives the states that have begun or ended.
        """
        self._step(paces, now)
        found: dict[Monitor, list[Finding]] = {monitor: [] for monitor in Monitor}
        found[Monitor.CLOCK] = [
            (name, _pace(name, ratio)) for name, ratio in paces.items() if ratio != 1
        ]
        for name, workload in self._workloads.items():
            if now - workload.last_s > QUIET_S:
                continue
            for monitor, words in workload.judge():
                found[monitor].append((name, f"{name}: {words}"))
        return list(self._changed(found, now))

    def stepped_at(self, instance: str) -> float | None:
        """When its pace last changed, or was back; None if it never did."""
        step = self._paces.get(instance)
        return None if step is None else step[0]

    def states(self) -> tuple[Drift, ...]:
        """One for each monitor."""
        return tuple(self._states.values())

    def _step(self, paces: Mapping[str, float], now: float) -> None:
        for name in self._paces.keys() - paces.keys():
            del self._paces[name]
        for name, ratio in paces.items():
            before = self._paces.get(name)
            if (ratio != 1) is not (before is not None and before[1]):
                self._paces[name] = (now, ratio != 1)

    def _changed(self, found: Mapping[Monitor, list[Finding]], now: float) -> Iterator[Drift]:
        for monitor, findings in found.items():
            before, shown = self._states[monitor], findings[:SHOWN]
            what = tuple(words for _, words in shown)
            where = tuple(dict.fromkeys(name for name, _ in shown))
            if bool(what) is before.drifting:
                before.what, before.where = what, where
            else:
                self._states[monitor] = Drift(monitor, now, what, where)
                yield self._states[monitor]


def _input(feature: str, times: float) -> str:
    if feature == "computed":
        return f"{times:.1f} times the usual share of prompts has to be computed"
    return f"{feature} have {times:.1f} times the usual tokens"


def _pace(instance: str, ratio: float) -> str:
    return f"{instance} takes {ratio:.1f} times as long for the same work as before"
