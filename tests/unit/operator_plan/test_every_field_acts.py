"""A field of the API exists only when it acts: changing it alone must change the plan."""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel
from support.manifests import Tree, policy, service

from steelyard_operator.api.llmservice import LLMServiceSpec
from steelyard_operator.api.reason import nested_model
from steelyard_operator.api.slopolicy import SLOPolicySpec
from steelyard_operator.plan import Plan, plan

HF = {"uri": "hf://org/model"}
URLS = {"type": "External", "urls": ["http://127.0.0.1:1"]}

SERVICE: dict[str, tuple[Tree, Tree]] = {
    "model.uri": (
        {"engine": {"type": "VLLM"}, "model": HF},
        {"engine": {"type": "VLLM"}, "model": {"uri": "hf://org/other"}},
    ),
    "model.name": ({}, {"model": {"name": "other"}}),
    "engine.type": ({"model": HF}, {"model": HF, "engine": {"type": "VLLM"}}),
    "engine.args": ({}, {"engine": {"type": "Simulator", "args": ["--speed=2"]}}),
    "engine.env.name": (
        {"engine": {"type": "Simulator", "env": [{"name": "A", "value": "1"}]}},
        {"engine": {"type": "Simulator", "env": [{"name": "B", "value": "1"}]}},
    ),
    "engine.env.value": (
        {"engine": {"type": "Simulator", "env": [{"name": "A", "value": "1"}]}},
        {"engine": {"type": "Simulator", "env": [{"name": "A", "value": "2"}]}},
    ),
    "engine.urls": ({"engine": URLS}, {"engine": {**URLS, "urls": ["http://127.0.0.1:2"]}}),
    "engine.serviceRef.name": (
        {"engine": {"type": "External", "serviceRef": {"name": "a", "port": 1}}},
        {"engine": {"type": "External", "serviceRef": {"name": "b", "port": 1}}},
    ),
    "engine.serviceRef.port": (
        {"engine": {"type": "External", "serviceRef": {"name": "a", "port": 1}}},
        {"engine": {"type": "External", "serviceRef": {"name": "a", "port": 2}}},
    ),
    "replicas": ({}, {"replicas": 2}),
    "router.clientHints": ({}, {"router": {"clientHints": "Trusted"}}),
}


def workload(**parts: object) -> Tree:
    return {"workloads": [{"name": "all", "default": True, **parts}]}


def alert(**parts: object) -> Tree:
    return {"alerts": [{"name": "a", "metric": "Score", "threshold": 1, **parts}]}


TWO = [{"name": "all", "default": True}, {"name": "rest"}]
POLICY: dict[str, tuple[Tree, Tree]] = {
    "targetRefs.name": ({}, {"targetRefs": [{"name": "nobody"}]}),
    "workloads.name": ({}, {"workloads": [{"name": "other", "default": True}]}),
    "workloads.default": (
        {"workloads": TWO},
        {"workloads": [{"name": "all"}, {"name": "rest", "default": True}]},
    ),
    "workloads.match.headers.name": (
        workload(match={"headers": [{"name": "a", "value": "1"}]}),
        workload(match={"headers": [{"name": "b", "value": "1"}]}),
    ),
    "workloads.match.headers.value": (
        workload(match={"headers": [{"name": "a", "value": "1"}]}),
        workload(match={"headers": [{"name": "a", "value": "2"}]}),
    ),
    "workloads.match.models": ({}, workload(match={"models": ["m"]})),
    "workloads.match.paths": ({}, workload(match={"paths": ["/v1/embeddings"]})),
    "workloads.match.promptTokensMin": ({}, workload(match={"promptTokensMin": 10})),
    "workloads.match.promptTokensMax": ({}, workload(match={"promptTokensMax": 10})),
    "workloads.priority": ({}, workload(priority=1)),
    "workloads.slo.ttftMilliseconds": ({}, workload(slo={"ttftMilliseconds": 1})),
    "workloads.slo.tpotMilliseconds": ({}, workload(slo={"tpotMilliseconds": 1})),
    "workloads.slo.e2eMilliseconds": ({}, workload(slo={"e2eMilliseconds": 1})),
    "workloads.slo.attainmentPercent": ({}, workload(slo={"attainmentPercent": 90})),
    "workloads.weights.ttftPercent": (workload(weights={}), workload(weights={"ttftPercent": 1})),
    "workloads.weights.tpotPercent": (workload(weights={}), workload(weights={"tpotPercent": 1})),
    "workloads.weights.e2ePercent": (workload(weights={}), workload(weights={"e2ePercent": 1})),
    "workloads.routing.strategy": ({}, workload(routing={"strategy": "RoundRobin"})),
    "workloads.routing.pTokenExponentPercent": (
        {},
        workload(routing={"pTokenExponentPercent": 50}),
    ),
    "workloads.routing.batchSizeExponentPercent": (
        {},
        workload(routing={"batchSizeExponentPercent": 50}),
    ),
    "workloads.routing.pTokenOffset": ({}, workload(routing={"pTokenOffset": 10})),
    "workloads.routing.maxPTokens": ({}, workload(routing={"maxPTokens": 10})),
    "alerts.name": (alert(), alert(name="b")),
    "alerts.metric": (alert(), alert(metric="TTFT")),
    "alerts.percentile": (alert(), alert(percentile=99)),
    "alerts.threshold": (alert(), alert(threshold=2)),
    "alerts.baselinePercent": (alert(), alert(threshold=None, baselinePercent=150)),
    "alerts.windowSeconds": (alert(), alert(windowSeconds=10)),
    "alerts.forSeconds": (alert(), alert(forSeconds=10)),
    "alerts.clearPercent": (alert(), alert(clearPercent=50)),
    "alerts.minSamples": (alert(), alert(minSamples=10)),
    "alerts.repeatSeconds": (alert(), alert(repeatSeconds=300)),
    "alerts.severity": (alert(), alert(severity="Normal")),
    "alerts.workloads": (alert(), alert(workloads=["all"])),
}


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Dotted names of all fields that hold no fields themselves."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = nested_model(field.annotation)
        if inner is None:
            yield path
        else:
            yield from leaves(inner, f"{path}.")


def test_every_field_of_an_llmservice_has_a_case_here() -> None:
    assert set(leaves(LLMServiceSpec)) == set(SERVICE)


def test_every_field_of_an_slopolicy_has_a_case_here() -> None:
    assert set(leaves(SLOPolicySpec)) == set(POLICY)


@pytest.mark.parametrize("field", SERVICE)
def test_changing_a_service_field_changes_what_runs(field: str) -> None:
    before, after = (plan([service(**spec)], []) for spec in SERVICE[field])

    assert before != after


@pytest.mark.parametrize("field", POLICY)
def test_changing_a_policy_field_changes_the_router_configuration(field: str) -> None:
    def compiled(spec: Tree) -> Plan:
        return plan([service()], [policy(**spec)])

    before, after = (compiled(spec).services[0].router for spec in POLICY[field])

    assert before.revision != after.revision
