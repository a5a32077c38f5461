"""The bounds of the process itself, and where it listens."""

from typing import Annotated

from pydantic import Field

from steelyard_router.config.base import PositiveFloat, PositiveInt, Section


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
