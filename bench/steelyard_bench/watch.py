"""Follows a router's alerts through its /status while a replay runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiohttp
from pydantic import ValidationError

from steelyard_operator.local import admin
from steelyard_operator.local.admin import AlertState

POLL_S = 0.5
TIMEOUT = aiohttp.ClientTimeout(total=2.0)

Key = tuple[str, str]
"""Alert and workload."""


class Instance(admin.Instance):
    """With the models that the router knows it serves."""

    models: tuple[str, ...] = ()


class Status(admin.Status):
    """What the demo reads of /status."""

    instances: tuple[Instance, ...] = ()


async def fetch(http: aiohttp.ClientSession, admin_url: str) -> Status | None:
    """None while the router cannot be asked."""
    try:
        async with http.get(f"{admin_url}/status", timeout=TIMEOUT) as response:
            return Status.model_validate_json(await response.read())
    except (aiohttp.ClientError, OSError, ValidationError):
        return None


@dataclass(frozen=True, slots=True)
class AlertChange:
    """An alert that began or ceased to fire, `at_s` real seconds after the replay began."""

    at_s: float
    alert: str
    workload: str
    metric: str
    firing: bool
    value: float | None
    threshold: float | None

    def to_dict(self, speed: float) -> dict[str, object]:
        return {
            "at_s": round(self.at_s, 1),
            "trace_s": round(self.at_s * speed),
            "alert": self.alert,
            "workload": self.workload,
            "metric": self.metric,
            "state": "firing" if self.firing else "cleared",
            "value": self.value,
            "threshold": self.threshold,
        }


@dataclass(slots=True)
class AlertLog:
    """What was seen so far. `samples` are (real seconds, value) of the alert that was looked at."""

    changes: list[AlertChange] = field(default_factory=list)
    samples: list[tuple[float, float]] = field(default_factory=list)
    threshold: float | None = None
    states: Mapping[Key, AlertState] = field(default_factory=dict)

    @property
    def firing(self) -> bool:
        return any(state.firing for state in self.states.values())

    def take(self, alerts: Iterable[AlertState], at_s: float) -> list[AlertChange]:
        """Notes one look; returns what changed since the last."""
        now = {(alert.alert, alert.workload): alert for alert in alerts}
        new = list(_changes(self.states, now, at_s))
        self.changes += new
        self.states = now
        for alert in now.values():
            if alert.value is not None:
                self.samples.append((at_s, alert.value))
                self.threshold = alert.threshold
            break  # the demo's policies have one
        return new


def _changes(
    before: Mapping[Key, AlertState], now: Mapping[Key, AlertState], at_s: float
) -> Iterator[AlertChange]:
    for key, alert in now.items():
        fired = key in before and before[key].firing
        if alert.firing != fired:
            yield AlertChange(
                at_s=at_s,
                alert=alert.alert,
                workload=alert.workload,
                metric=alert.metric,
                firing=alert.firing,
                value=alert.value,
                threshold=alert.threshold,
            )


@asynccontextmanager
async def following(
    http: aiohttp.ClientSession,
    admin_url: str,
    log: AlertLog,
    *,
    clock: Callable[[], float],
    on_change: Callable[[AlertChange], None],
) -> AsyncIterator[None]:
    """Fills `log` until the block ends. `clock` gives real seconds since the replay began."""

    async def look() -> None:
        while True:
            if (status := await fetch(http, admin_url)) is not None:
                for change in log.take(status.alerts, clock()):
                    on_change(change)
            await asyncio.sleep(POLL_S)

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
