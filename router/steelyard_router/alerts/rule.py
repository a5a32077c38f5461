"""The state machine of one alert key (service, alert, workload), over explicit time.

    NoData   fewer than min_samples for a whole window, and from the start until there are enough
    OK       not in breach
    Pending  in breach, for less than for_s without a dip
    Firing   until the value passes the clearing bound (hysteresis) or the data stops

A bound is fixed, or a percentage of the rule's own usual level (baseline.py); until that is known
the state stays NoData. For Attainment, a floor, everything is turned over. Too few samples hold the
state for one window: a stalled service answers few requests, which is no reason to call it well.
Where the window cannot be known at all (a replica is out of reach), there is no data at once.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from steelyard_router.alerts.baseline import Baseline
from steelyard_router.alerts.measure import is_floor, measure
from steelyard_router.alerts.transition import Kind, Reason
from steelyard_router.config import Alert
from steelyard_router.scheduling.histogram import Histogram


class State(StrEnum):
    """As in the table above; /status shows these words."""

    NO_DATA = "NoData"
    OK = "OK"
    PENDING = "Pending"
    FIRING = "Firing"


@dataclass(frozen=True, slots=True)
class Change:
    """What one step has to report."""

    kind: Kind
    reason: Reason | None = None


class Rule:
    """`value`, `threshold` and `samples` are those of the last step; `since` belongs to `state`.
    While the data fades, `value` is the last that could be judged.
    """

    def __init__(self, alert: Alert) -> None:
        self.alert = alert
        self.state = State.NO_DATA
        self.since: float | None = None
        self.value: float | None = None
        self.samples = 0
        self._floor = is_floor(alert.metric)
        self._baseline = Baseline(alert.window_s)
        self._notified_at = 0.0
        self._short_since: float | None = None

    @property
    def fingerprint(self) -> str:
        """The same for rules that say the same, in any process. Watching more workloads does not
        change the rule.
        """
        said = self.alert.model_dump(mode="json", exclude_unset=True, exclude={"workloads"})
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def fading(self) -> bool:
        """Whether there are too few samples now, so that `value` is of a step before."""
        return self._short_since is not None

    @property
    def threshold(self) -> float | None:
        """The firing bound; None while the usual level is still unknown."""
        if self.alert.threshold is not None:
            return float(self.alert.threshold)
        level, percent = self._baseline.level, self.alert.baseline_percent
        return None if level is None or percent is None else level * percent / 100

    @property
    def clear_threshold(self) -> float | None:
        bound = self.threshold
        if bound is None:
            return None
        if self._floor:
            return min(bound * 100 / self.alert.clear_percent, 100.0)
        return bound * self.alert.clear_percent / 100

    def breaches(self, value: float) -> bool:
        bound = self.threshold
        return bound is not None and (value < bound if self._floor else value > bound)

    def clears(self, value: float) -> bool:
        bound = self.clear_threshold
        return bound is not None and (value >= bound if self._floor else value <= bound)

    def resume(
        self, *, since: float, notified_at: float, threshold: float | None, now: float
    ) -> None:
        """Fire on, where another process left off: begun at `since`, last told at `notified_at`."""
        self.state, self.since, self._notified_at = State.FIRING, since, notified_at
        if threshold is not None and self.alert.baseline_percent is not None:
            self._baseline.resume(threshold * 100 / self.alert.baseline_percent, now)

    def step(self, now: float, histogram: Histogram | None) -> Change | None:
        """Judge the window that ends now; None: it cannot be known. Time must not go backwards."""
        if self.since is None:
            self.since = now
        if histogram is None:
            self.samples = 0
            self._baseline.skip(now)
            return self._end_unknown(now)
        self.samples = histogram.count
        value = measure(self.alert.metric, histogram, self.alert.percentile)
        if value is None or self.samples < self.alert.min_samples:
            self._baseline.skip(now)
            return self._hold(now)
        self._short_since = None
        self.value = value
        if self.state is State.FIRING:
            return self._burn(now, value)
        return self._watch(now, value)

    def _hold(self, now: float) -> Change | None:
        """Too few samples to judge."""
        if self._short_since is None:
            self._short_since = now
        if now - self._short_since < self.alert.window_s:
            return self._repeat(now)
        return self._end_unknown(now)

    def _end_unknown(self, now: float) -> Change | None:
        fired = self.state is State.FIRING
        self.value = None
        self._enter(State.NO_DATA, now)
        return Change(Kind.CLEARED, Reason.NO_DATA) if fired else None

    def _burn(self, now: float, value: float) -> Change | None:
        """Firing: nothing is learned until it has cleared."""
        self._baseline.skip(now)
        if self.clears(value):
            self._enter(State.OK, now)
            return Change(Kind.CLEARED, Reason.RECOVERED)
        return self._repeat(now)

    def _watch(self, now: float, value: float) -> Change | None:
        """Not firing: learn from calm, count the time in breach."""
        if not self.breaches(value):
            if self.threshold is not None:
                self._enter(State.OK, now)
            self._baseline.learn(value, now)
            return None
        self._baseline.skip(now)
        self._enter(State.PENDING, now)
        assert self.since is not None
        if now - self.since < self.alert.for_s:
            return None
        self._enter(State.FIRING, now)
        self._notified_at = now
        return Change(Kind.FIRED)

    def _repeat(self, now: float) -> Change | None:
        if self.state is not State.FIRING or now - self._notified_at < self.alert.repeat_s:
            return None
        self._notified_at = now
        return Change(Kind.REPEATED)

    def _enter(self, state: State, now: float) -> None:
        if state is not self.state:
            self.state, self.since = state, now
