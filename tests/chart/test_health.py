"""Argo CD's Lua and Flux's CEL make the same of a status, and nothing of an alert."""

from typing import Any, Literal

import cel
import pytest
import yaml
from lupa.lua51 import LuaRuntime
from support.helm import ROOT, Object

GITOPS = ROOT / "examples" / "gitops"
Health = Literal["waits", "works", "failed"]

READY = {"type": "Ready", "status": "True", "reason": "AllReplicasReady", "message": ""}
WAITING = {"type": "Ready", "status": "False", "reason": "ModelLoading", "message": "1 of 3"}
IDLE = {"type": "Ready", "status": "False", "reason": "ScaledToZero", "message": ""}
PAUSED = {"type": "Ready", "status": "False", "reason": "Paused", "message": ""}
RECONCILING = {"type": "Reconciling", "status": "True", "reason": "Updating", "message": ""}
STALLED = {"type": "Stalled", "status": "True", "reason": "SecretNotFound", "message": "hub"}
NOT_STALLED = {**STALLED, "status": "False"}
FIRING = {"type": "AlertFiring", "status": "True", "reason": "SLOAlertFiring", "message": "score"}
DRIFT = {"type": "PredictionDrift", "status": "True", "reason": "Clock", "message": "a"}

CASES: list[tuple[str, Object, Health]] = [
    ("nobody looked yet", {"observedGeneration": -1}, "waits"),
    ("first look", {"observedGeneration": 2, "conditions": [WAITING, RECONCILING]}, "waits"),
    ("ready", {"observedGeneration": 2, "conditions": [READY]}, "works"),
    ("edited since", {"observedGeneration": 1, "conditions": [READY]}, "waits"),
    ("not ready", {"observedGeneration": 2, "conditions": [WAITING]}, "waits"),
    ("stalled", {"observedGeneration": 2, "conditions": [WAITING, STALLED]}, "failed"),
    ("stalled no more", {"observedGeneration": 2, "conditions": [READY, NOT_STALLED]}, "works"),
    ("alert", {"observedGeneration": 2, "conditions": [READY, FIRING]}, "works"),
    ("drift", {"observedGeneration": 2, "conditions": [READY, DRIFT]}, "works"),
]
KINDS = ["LLMService", "SLOPolicy"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "health"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_argo_cd_tells_what_waits_works_and_failed(
    kind: str, status: Object, health: Health
) -> None:
    words = {"waits": "Progressing", "works": "Healthy", "failed": "Degraded"}

    assert (
        _argo(kind, {"metadata": {"generation": 2}, "spec": {}, "status": status}) == words[health]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "health"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_flux_tells_what_waits_works_and_failed(kind: str, status: Object, health: Health) -> None:
    assert _flux(kind, {"metadata": {"generation": 2}, "spec": {}, "status": status}) == health


@pytest.mark.parametrize(
    ("spec", "ready"), [({"reconciliation": "Paused"}, PAUSED), ({"replicas": 0}, IDLE)]
)
def test_a_service_that_is_to_do_nothing_holds_nothing_up(spec: Object, ready: Object) -> None:
    status = {"observedGeneration": 2, "conditions": [ready]}
    service = {"metadata": {"generation": 2}, "spec": spec, "status": status}

    assert _argo("LLMService", service) == "Suspended"
    assert _flux("LLMService", service) == "works"


def _argo(kind: str, item: Object) -> str:
    text = (GITOPS / "argocd" / "health.yaml").read_text(encoding="utf-8")
    script = yaml.safe_load(text)["data"][f"resource.customizations.health.steelyard.io_{kind}"]
    runtime = LuaRuntime(unpack_returned_tuples=True)
    judge: Any = runtime.eval(f"function(obj)\n{script}\nend")
    status: str = judge(runtime.table_from(item, recursive=True))["status"]
    return status


def _flux(kind: str, item: Object) -> str:
    """In the order of Flux: in progress, failed, current; none of them is in progress too."""
    text = (GITOPS / "flux" / "models.yaml").read_text(encoding="utf-8")
    _, kustomization = yaml.safe_load_all(text)
    (rules,) = [r for r in kustomization["spec"]["healthCheckExprs"] if r["kind"] == kind]
    for field, health in (("inProgress", "waits"), ("failed", "failed"), ("current", "works")):
        if cel.evaluate(rules[field], item):
            return health
    return "waits"
