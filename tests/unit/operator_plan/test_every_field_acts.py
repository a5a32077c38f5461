"""A field of the API exists only when it acts: changing it alone must change what runs."""

import pytest
from support.children import Children, children, stored
from support.leaf import leaves
from support.manifests import Tree, policy, service

from steelyard_operator.api.llmservice import LLMServiceSpec
from steelyard_operator.api.slopolicy import SLOPolicySpec
from steelyard_operator.plan import Plan, plan

HF = {"uri": "hf://org/model"}
URLS = {"type": "External", "urls": ["http://127.0.0.1:1"]}
SECRET = {"name": "a", "key": "a"}
FROM_SECRET = {"secretKeyRef": SECRET}
SIZED = {"size": "1Gi"}


def engine(**parts: object) -> Tree:
    return {"engine": {"type": "Simulator", **parts}}


def router(**parts: object) -> Tree:
    return {"router": parts}


def real(**model: object) -> Tree:
    return {"engine": {"type": "VLLM"}, "model": {**HF, **model}}


def found(**reference: object) -> Tree:
    return {
        "engine": {"type": "External", "serviceRef": {"name": "a", "port": 1, **reference}},
    }


def cache(**parts: object) -> Tree:
    return {**real(), "cache": {"type": "PersistentVolumeClaim", **parts}}


def exposed(**parts: object) -> Tree:
    return router(service=parts)


def keyed(**secret: str) -> Tree:
    return router(apiKeySecretRef={**SECRET, **secret})


def defaults(**routing: object) -> Tree:
    return router(defaults={"strategy": "Multiplicative", **routing})


def env(**parts: object) -> list[Tree]:
    return [{"name": "A", **parts}]


SERVICE: dict[str, tuple[Tree, Tree]] = {
    "model.uri": (real(), real(uri="hf://org/other")),
    "model.name": ({}, {"model": {"name": "other"}}),
    "model.revision": (real(), real(revision="main")),
    "model.tokenSecretRef.name": (
        real(tokenSecretRef=SECRET),
        real(tokenSecretRef={**SECRET, "name": "b"}),
    ),
    "model.tokenSecretRef.key": (
        real(tokenSecretRef=SECRET),
        real(tokenSecretRef={**SECRET, "key": "b"}),
    ),
    "engine.type": ({"model": HF}, real()),
    "engine.image": ({}, engine(image="mine:1")),
    "engine.imagePullPolicy": ({}, engine(imagePullPolicy="Always")),
    "engine.args": ({}, engine(args=["--speed=2"])),
    "engine.env.name": (engine(env=env()), engine(env=[{"name": "B"}])),
    "engine.env.value": (engine(env=env(value="1")), engine(env=env(value="2"))),
    "engine.env.valueFrom": (engine(env=env()), engine(env=env(valueFrom=FROM_SECRET))),
    "engine.resources": ({}, engine(resources={"limits": {"cpu": "7"}})),
    "engine.port": ({}, engine(port=9000)),
    "engine.sharedMemorySize": ({}, engine(sharedMemorySize="1Gi")),
    "engine.startupTimeoutSeconds": ({}, engine(startupTimeoutSeconds=900)),
    "engine.drain.gracePeriodSeconds": ({}, engine(drain={"gracePeriodSeconds": 900})),
    "engine.podTemplate": ({}, engine(podTemplate={"spec": {"priorityClassName": "high"}})),
    "engine.urls": ({"engine": URLS}, {"engine": {**URLS, "urls": ["http://127.0.0.1:2"]}}),
    "engine.serviceRef.name": (found(), found(name="b")),
    "engine.serviceRef.port": (found(), found(port="http")),
    "replicas": ({}, {"replicas": 2}),
    "rollout.maxSurge": ({}, {"rollout": {"maxSurge": 1}}),
    "rollout.maxUnavailable": ({}, {"rollout": {"maxUnavailable": 2}}),
    "rollout.progressDeadlineSeconds": ({}, {"rollout": {"progressDeadlineSeconds": 9000}}),
    "restartToken": ({}, {"restartToken": "again"}),
    "disruption.minAvailable": ({}, {"disruption": {"minAvailable": 2}}),
    "disruption.maxUnavailable": ({}, {"disruption": {"maxUnavailable": 2}}),
    "cache.type": (real(), {**real(), "cache": {"type": "None"}}),
    "cache.claimName": (cache(claimName="a"), cache(claimName="b")),
    "cache.template.size": (cache(template=SIZED), cache(template={"size": "2Gi"})),
    "cache.template.storageClassName": (
        cache(template=SIZED),
        cache(template={**SIZED, "storageClassName": "fast"}),
    ),
    "cache.template.accessModes": (
        cache(template=SIZED),
        cache(template={**SIZED, "accessModes": ["ReadWriteMany"]}),
    ),
    "cache.retention": (cache(template=SIZED), cache(template=SIZED, retention="Delete")),
    "router.replicas": ({}, router(replicas=2)),
    "router.image": ({}, router(image="mine:1")),
    "router.env.name": (router(env=env()), router(env=[{"name": "B"}])),
    "router.env.value": (router(env=env(value="1")), router(env=env(value="2"))),
    "router.env.valueFrom": (router(env=env()), router(env=env(valueFrom=FROM_SECRET))),
    "router.resources": ({}, router(resources={"limits": {"cpu": "7"}})),
    "router.podTemplate": ({}, router(podTemplate={"spec": {"priorityClassName": "high"}})),
    "router.service.type": ({}, exposed(type="LoadBalancer")),
    "router.service.port": ({}, exposed(port=8080)),
    "router.service.annotations": ({}, exposed(annotations={"a": "b"})),
    "router.apiKeySecretRef.name": (keyed(), keyed(name="b")),
    "router.apiKeySecretRef.key": (keyed(), keyed(key="b")),
    "router.drain.gracePeriodSeconds": ({}, router(drain={"gracePeriodSeconds": 900})),
    "router.defaults.strategy": (defaults(), defaults(strategy="RoundRobin")),
    "router.defaults.pTokenExponentPercent": (defaults(), defaults(pTokenExponentPercent=50)),
    "router.defaults.batchSizeExponentPercent": (
        defaults(),
        defaults(batchSizeExponentPercent=50),
    ),
    "router.defaults.pTokenOffset": (defaults(), defaults(pTokenOffset=10)),
    "router.defaults.maxPTokens": (defaults(), defaults(maxPTokens=10)),
    "router.clientHints": ({}, router(clientHints="Trusted")),
    "networkPolicy": ({}, {"networkPolicy": "Enabled"}),
}
LOCAL = (
    *("model.uri", "model.name", "model.revision", "engine.type", "engine.args"),
    *("engine.env.name", "engine.env.value", "engine.env.valueFrom", "engine.urls"),
    *("engine.serviceRef.name", "engine.serviceRef.port", "replicas", "router.clientHints"),
    *(field for field in SERVICE if field.startswith("router.defaults.")),
)
"""Fields that also decide what `steelyard up` runs, or that it refuses."""
ELSEWHERE = {"reconciliation"}
"""Stops the operator from applying children at all; tested with it, and with the status."""
FIXED = {"targetRefs.group", "targetRefs.kind"}
"""Take one value only, so that a reference reads as everywhere in Kubernetes."""


def workload(**parts: object) -> Tree:
    return {"workloads": [{"name": "all", "default": True, **parts}]}


def waiting(**parts: object) -> Tree:
    return {"queue": parts}


def annealed(**parts: object) -> Tree:
    return {"scheduler": {"order": "SimulatedAnnealing", "annealing": parts}}


def alert(**parts: object) -> Tree:
    return {"alerts": [{"name": "a", "metric": "Score", "threshold": 1, **parts}]}


TWO = [{"name": "all", "default": True}, {"name": "rest"}]
POLICY: dict[str, tuple[Tree, Tree]] = {
    "mode": ({}, {"mode": "DryRun"}),
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
    "workloads.maxConcurrent": ({}, workload(maxConcurrent=8)),
    "workloads.maxSequencesPerInstance": ({}, workload(maxSequencesPerInstance=8)),
    "workloads.queue.maxWaitSeconds": ({}, workload(queue={"maxWaitSeconds": 10})),
    "workloads.queue.onTimeout": ({}, workload(queue={"onTimeout": "Degrade"})),
    "queue.maxWaitSeconds": (waiting(), waiting(maxWaitSeconds=10)),
    "queue.onTimeout": (waiting(), waiting(onTimeout="Reject")),
    "batch.maxSequences": ({}, {"batch": {"maxSequences": 16}}),
    "batch.kvPercent": ({}, {"batch": {"kvPercent": 90}}),
    "batch.harmPercent": ({}, {"batch": {"harmPercent": 90}}),
    "batch.queuedPrefillMilliseconds": ({}, {"batch": {"queuedPrefillMilliseconds": 500}}),
    "scheduler.mode": ({}, {"scheduler": {"mode": "DryRun"}}),
    "scheduler.order": ({}, {"scheduler": {"order": "FCFS"}}),
    "scheduler.timeoutMilliseconds": ({}, {"scheduler": {"timeoutMilliseconds": 2}}),
    "scheduler.annealing.iterations": (annealed(), annealed(iterations=50)),
    "scheduler.annealing.coolingPercent": (annealed(), annealed(coolingPercent=90)),
    "scheduler.annealing.acceptancePercent": (annealed(), annealed(acceptancePercent=50)),
    "scheduler.enginePriority": ({}, {"scheduler": {"enginePriority": "Header"}}),
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


def unrecorded(made: Children) -> Children:
    """Without the annotations that only repeat what a Deployment was made from."""
    return {
        key: {**body, "metadata": {**body["metadata"], "annotations": {}}}
        if key[0] == "Deployment"
        else body
        for key, body in made.items()
    }


def test_every_field_of_an_llmservice_has_a_case_here() -> None:
    assert set(leaves(LLMServiceSpec)) == set(SERVICE) | ELSEWHERE


def test_every_field_of_an_slopolicy_has_a_case_here() -> None:
    assert set(leaves(SLOPolicySpec)) == set(POLICY) | FIXED


@pytest.mark.parametrize("field", SERVICE)
def test_changing_a_service_field_changes_a_child(field: str) -> None:
    before, after = (unrecorded(children(stored(**spec))) for spec in SERVICE[field])

    assert before != after


@pytest.mark.parametrize("field", LOCAL)
def test_what_a_single_machine_can_do_it_does(field: str) -> None:
    before, after = (plan([service(**spec)], []) for spec in SERVICE[field])

    assert before != after


@pytest.mark.parametrize("field", POLICY)
def test_changing_a_policy_field_changes_the_router_configuration(field: str) -> None:
    def compiled(spec: Tree) -> Plan:
        return plan([service()], [policy(**spec)])

    before, after = (compiled(spec).services[0].router for spec in POLICY[field])

    assert before.revision != after.revision
