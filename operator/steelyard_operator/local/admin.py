"""What a router says of itself on its admin port: /status and /debug/decisions."""

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

_TIMEOUT = aiohttp.ClientTimeout(total=2.0)


class Part(BaseModel):
    """Base: unknown keys are for others, absent ones are unknown."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Instance(Part):
    """One endpoint: Q in tokens, B in requests, C in tokens."""

    id: str
    url: str = ""
    state: str = ""
    queued_tokens: float = 0.0
    requests: float = 0.0
    context_tokens: float = 0.0
    leases: int = 0
    breaker: str = ""
    healthy: bool = True


class AlertState(Part):
    """One (service, alert, workload) and what it is now."""

    service: str = ""
    alert: str
    workload: str = ""
    metric: str = ""
    state: str = "OK"
    value: float | None = None
    threshold: float | None = None

    @property
    def firing(self) -> bool:
        return self.state == "Firing"


class Quantiles(Part):
    """A distribution over the reporting window."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    count: int = 0


class WorkloadState(Part):
    """One class of requests, as measured."""

    name: str
    score: Quantiles | None = None
    ttft_ms: Quantiles | None = None
    tpot_ms: Quantiles | None = None
    e2e_ms: Quantiles | None = None


class Status(Part):
    """GET /status."""

    revision: str = ""
    ready: bool = False
    config_error: str | None = None
    """Why the router did not take over its last configuration."""
    leases_held: int = 0
    instances: tuple[Instance, ...] = ()
    alerts: tuple[AlertState, ...] = ()
    workloads: tuple[WorkloadState, ...] = ()

    def leases(self, instance: str) -> int:
        """Requests in flight on an instance; 0 when it is not known any more."""
        return next((item.leases for item in self.instances if item.id == instance), 0)


class Candidate(Part):
    """One instance that a decision weighed."""

    instance: str
    q: float = 0.0
    p: float = 0.0
    b: float = 0.0
    c: float = 0.0
    cost: float = 0.0


class Decision(Part):
    """One decision with all its candidates."""

    time: float | str | None = None
    request_id: str = ""
    workload: str = ""
    strategy: str = ""
    instance: str = ""
    score: float = 0.0
    prompt_tokens: int = 0
    candidates: tuple[Candidate, ...] = ()


class Decisions(Part):
    """GET /debug/decisions."""

    decisions: tuple[Decision, ...] = ()


async def status(http: aiohttp.ClientSession, url: str) -> Status | None:
    """None when the router cannot be asked now."""
    try:
        return Status.model_validate_json(await _get(http, f"{url}/status"))
    except (aiohttp.ClientError, TimeoutError, OSError, ValidationError):
        return None


async def decisions(
    http: aiohttp.ClientSession, url: str, count: int
) -> tuple[Decision, ...] | None:
    """The newest `count` decisions, newest first; None when the router keeps none.

    Raises aiohttp.ClientError, TimeoutError, or pydantic.ValidationError.
    """
    try:
        body = await _get(http, f"{url}/debug/decisions?n={count}")
    except aiohttp.ClientResponseError as error:
        if error.status == 404:
            return None
        raise
    return Decisions.model_validate_json(body).decisions


async def _get(http: aiohttp.ClientSession, url: str) -> bytes:
    async with http.get(url, timeout=_TIMEOUT, raise_for_status=True) as response:
        return await response.read()
