"""Statuses have the fields that the schemas have: a server refuses a status with any other."""

from support.crd import misfits, root
from support.manifests import policy, service
from support.seen import NOW, Tree, deployment, good_pod, report, router_service

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import plan
from steelyard_operator.plan.status import Observed, Target, policy_status, service_status

ROW = {"alert": "a", "workload": "all", "state": "Firing", "since": "2026-03-01T11:00:00Z"}
MEASURED: Tree = {
    "policy_ref": {"name": "fast", "uid": "uid-fast"},
    "alerts": [{**ROW, "value": 123456.7}, {**ROW, "workload": "b", "state": "NoData"}],
    "service": {
        "replicas": 2,
        "workloads": [
            {
                "name": "all",
                "attainment_percent": 98.6,
                "attainment_target_percent": 99,
                "score": {"p95": 1234.5},
            }
        ],
    },
}


def known(item: SLOPolicy) -> SLOPolicy:
    metadata = item.metadata.model_copy(update={"uid": "uid-fast"})
    return item.model_copy(update={"metadata": metadata})


def test_a_services_status_fits() -> None:
    item = service(replicas=2)
    observed = Observed(
        deployments={"engine": deployment(), "router": deployment("router")},
        pods={"engine": (good_pod("chat-engine-1"), good_pod("chat-engine-2"))},
        services={"router": router_service()},
        reports=(report(**MEASURED),),
        revision="abc",
    )

    status = service_status(
        item, plan([item], [known(policy())]).services[0], observed, now=NOW
    ).status

    assert list(misfits(root("LLMService")["properties"]["status"], status)) == []
    assert {"p95Score", "measuredTime", "policies", "selector", "url"} <= status.keys()


def test_a_policys_status_fits() -> None:
    item = known(policy(targets=("chat", "gone")))
    (result,) = plan([service()], [item]).policies
    targets = {"chat": Target("abc", (report(**MEASURED),))}

    status = policy_status(result, {}, targets, now=NOW).status

    assert list(misfits(root("SLOPolicy")["properties"]["status"], status)) == []
    assert {"alerts", "attainment", "firing", "measuredTime", "targets"} <= status.keys()
    assert status["attainment"][0]["targetPercent"] == 99


def test_what_does_not_fit_is_found() -> None:
    schema = root("SLOPolicy")["properties"]["status"]

    bad = {"observedGeneration": "1", "alerts": [{"service": "chat", "state": "Bad"}], "extra": 1}

    assert sorted(misfits(schema, bad)) == [
        ".alerts[0].alert: is missing",
        ".alerts[0].state: 'Bad' is none of ['Firing', 'Pending', 'OK', 'NoData']",
        ".alerts[0].workload: is missing",
        ".extra: is unknown",
        ".observedGeneration: '1' is no integer",
    ]
