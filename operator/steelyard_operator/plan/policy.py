"""Compiles an SLOPolicy into the `policy` part of the router's configuration.

Only what is given is passed on: what is absent keeps the router's own default, so a default can be
improved without touching stored objects. Units become the router's: `...Seconds` is `..._s` there.
"""

import json
from typing import Any

from pydantic import ValidationError

from steelyard_operator.api.alert import Alert
from steelyard_operator.api.base import Model
from steelyard_operator.api.routing import Routing
from steelyard_operator.api.slopolicy import SLOPolicy, SLOPolicySpec
from steelyard_operator.api.workload import Match, Slo, Workload
from steelyard_operator.errors import InvalidPolicyError
from steelyard_router import config

MAX_BYTES = 400_000
"""As ASCII. A ConfigMap holds 1 MiB: the service, a policy in force and one on trial. One that is
refused for its size would keep every other change from the routers too.
"""


def compile_policy(policy: SLOPolicy) -> config.Policy:
    """Raises InvalidPolicyError."""
    compiled = _compiled(policy)
    size = len(json.dumps(compiled.model_dump(mode="json", exclude_unset=True)))
    if size > MAX_BYTES:
        raise InvalidPolicyError(
            f"it is too large for the routers' configuration: {size} bytes, and {MAX_BYTES} are "
            "the most; give fewer or shorter headers, models and paths to match"
        )
    return compiled


def _compiled(policy: SLOPolicy) -> config.Policy:
    spec = policy.spec
    try:
        return config.Policy(
            workloads=tuple(_workload(workload) for workload in spec.workloads),
            alerts=tuple(_alert(alert) for alert in spec.alerts),
            **_waiting(spec),
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidPolicyError(": ".join(filter(None, (field, first["msg"])))) from error


def default_policy(routing: Routing | None) -> config.Policy:
    """What a service runs on while no policy is in force."""
    if routing is None:
        return config.Policy()
    only = config.Workload(name="default", default=True, routing=_routing(routing))
    return config.Policy(workloads=(only,))


def _given(model: Model) -> dict[str, Any]:
    """What is given, in the router's units."""
    given = model.model_dump(exclude_none=True)
    return {_in_router_units(name): value for name, value in given.items()}


def _in_router_units(name: str) -> str:
    for unit, short in (("_milliseconds", "_ms"), ("_seconds", "_s")):
        if name.endswith(unit):
            return name.removesuffix(unit) + short
    return name


def _waiting(spec: SLOPolicySpec) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if spec.queue is not None:
        given["queue"] = config.Queue(**_given(spec.queue))
    if spec.batch is not None:
        given["batch"] = config.Batch(**_given(spec.batch))
    if spec.scheduler is not None:
        given["scheduler"] = config.SchedulerSettings(**_given(spec.scheduler))
    return given


def _workload(workload: Workload) -> config.Workload:
    plain = {"name", "default", "priority", "max_concurrent", "max_sequences_per_instance"}
    given = workload.model_dump(include=plain, exclude_none=True)
    if workload.queue is not None:
        given["queue"] = config.OwnQueue(**_given(workload.queue))
    weights = workload.weights
    return config.Workload(
        **given,
        match=_match(workload.match),
        slo=_targets(workload.slo),
        weights=None if weights is None else config.WeightPercents(**_given(weights)),
        routing=_routing(workload.routing),
    )


def _routing(routing: Routing) -> config.Routing:
    return config.Routing(**_given(routing))


def _match(match: Match) -> config.Match:
    return config.Match(
        headers={header.name.lower(): header.value for header in match.headers},
        models=match.models,
        paths=match.paths,
        prompt_tokens_min=match.prompt_tokens_min,
        prompt_tokens_max=match.prompt_tokens_max,
    )


def _targets(slo: Slo) -> config.Targets:
    return config.Targets(
        ttft_ms=slo.ttft_milliseconds,
        tpot_ms=slo.tpot_milliseconds,
        e2e_ms=slo.e2e_milliseconds,
        attainment_percent=slo.attainment_percent,
    )


def _alert(alert: Alert) -> config.Alert:
    return config.Alert(**_given(alert))
