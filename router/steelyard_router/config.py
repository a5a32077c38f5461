"""The router's configuration: what is served (`service`), how (`policy`), and the process's own
limits.

The operator compiles an LLMService and its SLOPolicy into this shape; a person may write it by
hand. It is immutable: a reload makes a new object and swaps it in whole. `revision` is a hash of
what it says, so two replicas that report one revision were told the same, whatever their versions.
No field has a meaning only here: each is read by exactly the module that its docstring names.
"""

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Name = Annotated[
    str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$")
]
PositiveFloat = Annotated[float, Field(gt=0)]
PositiveInt = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """Base of all sections: immutable, and an unknown key is an error rather than a silent
    nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


class EngineType(StrEnum):
    """Which adapter reads an endpoint's metrics (engines/)."""

    VLLM = "VLLM"
    SGLANG = "SGLang"
    SIMULATOR = "Simulator"
    EXTERNAL = "External"


class Endpoint(Section):
    """One inference server. `models` absent: learned from its GET /v1/models."""

    id: Name
    url: Annotated[str, Field(pattern=r"^http://[^/\s]+/?$", max_length=512)]
    engine: EngineType = EngineType.EXTERNAL
    models: tuple[str, ...] | None = None
    cache_tokens: PositiveInt | None = None
    """KV cache size in tokens; absent: read from the engine's metrics, else a default
    (engines/).
    """

    @field_validator("url")
    @classmethod
    def _has_a_usable_port(cls, url: str) -> str:
        urlsplit(url).port  # noqa: B018 -- reading it raises ValueError for one that cannot be
        return url


class ClientHints(StrEnum):
    """What x-slo-* and priority headers may do (analysis/)."""

    LOWER_ONLY = "LowerOnly"
    TRUSTED = "Trusted"
    IGNORE = "Ignore"


class Service(Section):
    """The served model and where it runs."""

    name: Name = "steelyard"
    endpoints: tuple[Endpoint, ...] = ()
    client_hints: ClientHints = ClientHints.LOWER_ONLY
    api_keys_file: str | None = None
    """One `key` or `key tenant` a line; absent: no authentication (proxy/auth)."""

    @model_validator(mode="after")
    def _unique(self) -> Self:
        ids = [endpoint.id for endpoint in self.endpoints]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"endpoint ids must be unique; given twice: {', '.join(twice)}")
        return self


class Match(Section):
    """A workload takes a request when every given part matches; an empty match takes none but as
    default.
    """

    headers: dict[str, str] = {}
    models: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Path prefixes, such as /v1/embeddings."""
    prompt_tokens_min: Annotated[int, Field(ge=0)] | None = None
    prompt_tokens_max: Annotated[int, Field(ge=0)] | None = None


class Targets(Section):
    """A workload's SLO; an absent target takes no part."""

    ttft_ms: PositiveInt | None = None
    tpot_ms: PositiveInt | None = None
    e2e_ms: PositiveInt | None = None
    attainment_percent: Annotated[int, Field(ge=1, le=100)] | None = None


class WeightPercents(Section):
    """Weights of the three targets; absent: 60 / 30 / 10."""

    ttft_percent: Annotated[int, Field(ge=0, le=100)] = 60
    tpot_percent: Annotated[int, Field(ge=0, le=100)] = 30
    e2e_percent: Annotated[int, Field(ge=0, le=100)] = 10


class Routing(Section):
    """How one workload's instance is chosen (scheduling/strategy).

    Exponents absent: with weights given, batch exponent / P-token exponent = tpot weight / ttft
    weight; without weights both are 1.
    """

    strategy: str = "Auto"
    p_token_exponent_percent: Annotated[int, Field(ge=0, le=1000)] | None = None
    batch_size_exponent_percent: Annotated[int, Field(ge=0, le=1000)] | None = None
    p_token_offset: Annotated[int, Field(ge=0)] = 0
    max_p_tokens: PositiveInt | None = None


class Workload(Section):
    """One class of requests."""

    name: Name
    default: bool = False
    match: Match = Match()
    priority: int = 0
    slo: Targets = Targets()
    weights: WeightPercents | None = None
    routing: Routing = Routing()
    max_concurrent: PositiveInt | None = None
    """Requests in flight at once; more wait in the queue (proxy/admission)."""


class Alert(Section):
    """A rule over a windowed distribution (alerts/). Times in seconds; thresholds in the metric's
    unit: Score in tokens x requests, TTFT, TPOT and E2E in milliseconds, Attainment in percent (a
    floor).
    """

    name: Name
    metric: Literal["Score", "TTFT", "TPOT", "E2E", "Attainment"]
    percentile: Annotated[int, Field(ge=1, le=100)] = 95
    threshold: PositiveInt | None = None
    baseline_percent: PositiveInt | None = None
    window_s: PositiveInt = 300
    for_s: Annotated[int, Field(ge=0)] = 60
    clear_percent: Annotated[int, Field(ge=1, le=100)] = 90
    min_samples: PositiveInt = 100
    repeat_s: PositiveInt = 900
    severity: Literal["Warning", "Normal"] = "Warning"
    workloads: tuple[str, ...] = ()
    """Absent: every workload, each with a state of its own."""

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.threshold is None) == (self.baseline_percent is None):
            raise ValueError("give exactly one of threshold and baseline_percent")
        return self


class Policy(Section):
    """Workloads and alerts, from the SLOPolicy."""

    workloads: tuple[Workload, ...] = (Workload(name="default", default=True),)
    alerts: tuple[Alert, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [workload.name for workload in self.workloads]
        if len(set(names)) != len(names):
            raise ValueError("workload names must be unique")
        alerts = [alert.name for alert in self.alerts]
        if len(set(alerts)) != len(alerts):
            raise ValueError("alert names must be unique")
        if sum(workload.default for workload in self.workloads) != 1:
            raise ValueError("exactly one workload must have `default: true`")
        for alert in self.alerts:
            if unknown := sorted(set(alert.workloads) - set(names)):
                raise ValueError(
                    f"alert {alert.name} names unknown workloads: {', '.join(unknown)}"
                )
        return self


class Listen(Section):
    """Addresses: data (clients) and admin (/metrics, /healthz, /readyz, /status, /debug)."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    admin_host: str | None = None
    admin_port: Annotated[int, Field(ge=0, le=65535)] = 9090


class Timeouts(Section):
    """No wait without an end (proxy/). `first_byte_s` holds for streams, and only while the
    instance is silent as a whole; `total_s` bounds everything else.
    """

    connect_s: PositiveFloat = 3.0
    first_byte_s: PositiveFloat = 30.0
    between_bytes_s: PositiveFloat = 60.0
    total_s: PositiveFloat = 1800.0
    client_head_s: PositiveFloat = 30.0
    """How long a client may take to send a request's head, and may pause within its body."""
    client_idle_s: PositiveFloat = 75.0
    client_write_s: PositiveFloat = 120.0
    """How long a client may stop reading before its request is given up."""


class Retry(Section):
    """Before the first byte only, on another instance, and at most this share of requests
    (proxy/retry).
    """

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    budget_percent: Annotated[int, Field(ge=0, le=100)] = 10


class Health(Section):
    """Active probes (proxy/health) and polls of engine metrics (engines/)."""

    path: str = "/health"
    interval_s: PositiveFloat = 2.0
    timeout_s: PositiveFloat = 2.0
    failures: PositiveInt = 3
    successes: PositiveInt = 1


class Breaker(Section):
    """Passive health (proxy/breaker): opens after `failures` in a row, tries again after `open_s`
    (doubled each time up to `open_max_s`), then lets load return over `ramp_s`. A 4xx never
    counts.
    """

    failures: PositiveInt = 3
    open_s: PositiveFloat = 5.0
    open_max_s: PositiveFloat = 60.0
    ramp_s: PositiveFloat = 10.0


class Limits(Section):
    """Bounds of the process (proxy/, scheduling/index)."""

    body_bytes: PositiveInt = 64 * 1024 * 1024
    head_bytes: PositiveInt = 64 * 1024
    connections: PositiveInt = 16384
    concurrent: PositiveInt = 4096
    queue: Annotated[int, Field(ge=0)] = 1024
    queue_wait_s: PositiveFloat = 30.0
    index_bytes: PositiveInt = 512 * 1024 * 1024
    idle_connections: Annotated[int, Field(ge=0)] = 64
    """Kept alive per endpoint."""


class Drain(Section):
    """On SIGTERM: stop accepting, finish what runs within the grace, then close."""

    grace_s: PositiveFloat = 120.0


class Debug(Section):
    """Off by default; `decisions` keeps that many for /debug/decisions."""

    decisions: Annotated[int, Field(ge=0, le=100_000)] = 0
    record: bool = False
    """Whether /debug/record tells the traffic as hashes and lengths (observability/recorder)."""
    instance_header: bool = True
    """Whether responses carry x-steelyard-instance."""


class ObjectRef(Section):
    """An object of the cluster that Events are about (alerts/, cluster/)."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    uid: Annotated[str, Field(min_length=1, max_length=128)]


class Kubernetes(Section):
    """Where the router finds the rest of itself in a cluster; only there (cluster/)."""

    namespace: Name
    engine_service: Name | None = None
    """Whose EndpointSlices are the engines; absent: only service.endpoints."""
    engine_port: Annotated[int, Field(gt=0, le=65535)] | Name = "http"
    """Name or number of the slices' port."""
    engine: EngineType = EngineType.EXTERNAL
    models: tuple[str, ...] | None = None
    """Of every engine found; absent: learned from each."""
    config_map: Name
    """This configuration's own source, followed through the API as well."""
    router_service: Name
    """Whose EndpointSlices are the router's replicas."""
    lease: Name
    """Held by the replica that reports alerts."""
    service: ObjectRef
    """The LLMService."""


class RouterConfig(Section):
    """The whole file. Every section has defaults, so a file needs only endpoints."""

    service: Service = Service()
    policy: Policy = Policy()
    listen: Listen = Listen()
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    health: Health = Health()
    breaker: Breaker = Breaker()
    limits: Limits = Limits()
    drain: Drain = Drain()
    debug: Debug = Debug()
    kubernetes: Kubernetes | None = None
    policy_ref: ObjectRef | None = None
    """Where `policy` comes from; absent: nobody's, the defaults."""
    shadow: Policy | None = None
    """A policy on trial: measured beside `policy`, never acted on (shadow/)."""
    shadow_ref: ObjectRef | None = None

    @property
    def revision(self) -> str:
        """First 12 hex digits of the sha256 of what is said: no default takes part, so a new
        default in one version of the router makes no other revision.
        """
        said = self.model_dump(mode="json", exclude_unset=True)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]
