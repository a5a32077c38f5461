"""The operator on a real API server: what it makes, repairs, leaves alone and takes away."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import pytest
from support.api_server import ApiServer
from support.running_operator import Place, eventually, operator, place, sample

from steelyard_operator.cluster.controller import Controller
from steelyard_operator.plan.status import RouterReport
from steelyard_router.kube.resource import (
    CONFIG_MAP,
    DEPLOYMENT,
    LLM_SERVICE,
    NAMESPACE,
    PDB,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    SLO_POLICY,
    Object,
    of,
)

CHILDREN = {
    ("Deployment", "chat-engine"), ("Service", "chat-engine"),
    ("PodDisruptionBudget", "chat-engine"), ("Deployment", "chat-router"),
    ("Service", "chat-router"), ("ServiceAccount", "chat-router"), ("RoleBinding", "chat-router"),
    ("ConfigMap", "chat-router"), ("PodDisruptionBudget", "chat-router"),
}  # fmt: skip

log = logging.getLogger(__name__)

Condition = Callable[[], Awaitable[object]]


@pytest.fixture
async def user(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


def has_children(user: Place, service: str = "chat") -> Condition:
    async def holds() -> bool:
        return {
            (kind, name.replace(service, "chat")) for kind, name in await user.children(service)
        } >= CHILDREN

    return holds


def has_condition(
    user: Place, name: str, kind: str, reason: str, resource: object = LLM_SERVICE
) -> Condition:
    async def holds() -> bool:
        assert resource in {LLM_SERVICE, SLO_POLICY}
        chosen = LLM_SERVICE if resource == LLM_SERVICE else SLO_POLICY
        return (await user.condition(chosen, name, kind)).get("reason") == reason

    return holds


def reconciles(controller: Controller, result: str = "ok") -> float:
    return sample(controller.metrics, "reconciles_total", kind="LLMService", result=result)


async def settled(user: Place, service: str = "chat") -> dict[tuple[str, str], str]:
    """The children's resourceVersions once they have held still for a while."""
    await eventually(has_children(user, service))
    before: dict[tuple[str, str], str] = {}
    for _ in range(100):
        now = {
            key: item["metadata"]["resourceVersion"]
            for key, item in (await user.children(service)).items()
        }
        if now == before:
            return now
        before = now
        await asyncio.sleep(1.0)
    raise AssertionError("the children do not come to rest")


async def test_a_service_gets_its_children_and_a_status(api_server: ApiServer, user: Place) -> None:
    async with operator(api_server) as controller:
        await user.service("chat", replicas=2)
        took_s = await eventually(has_children(user))
        status = await eventually(lambda: user.condition(LLM_SERVICE, "chat", "Ready"))
        log.info("children after %.2f s, status %.2f s later", took_s, status)

        body = await user.get(LLM_SERVICE, "chat") or {}
        owners = {
            owner["uid"]
            for item in (await user.children("chat")).values()
            for owner in item["metadata"]["ownerReferences"]
        }
        assert owners == {body["metadata"]["uid"]}
        assert body["status"]["observedGeneration"] == 1
        assert "finalizers" not in body["metadata"]
        assert body["metadata"].get("annotations", {}) == {}
        assert sample(controller.metrics, "objects", kind="LLMService", ready="False") == 1


async def test_a_second_operator_writes_nothing(api_server: ApiServer, user: Place) -> None:
    async with operator(api_server):
        await user.service("chat")
        await user.policy("gold", "chat")
        before = await settled(user)
    stored = await user.get(LLM_SERVICE, "chat")

    async with operator(api_server) as controller:

        async def worked() -> bool:
            return reconciles(controller) > 2

        await eventually(worked)

    assert await settled(user) == before
    assert await user.get(LLM_SERVICE, "chat") == stored


async def edit(user: Place, item: Object) -> None:
    """Somebody changes a child by hand."""
    namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
    patch: Object = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "someone"}}}
    changes: dict[str, Object] = {
        "Deployment": {"spec": {"replicas": 7}},
        "Service": {"spec": {"selector": {"steelyard.io/component": "nobody"}}},
        "ConfigMap": {"data": {"policy.yaml": "policy: {}"}},
        "PodDisruptionBudget": {"spec": {"maxUnavailable": 0}},
    }
    patch |= changes.get(item["kind"], {})
    await user.kube.merge(of(item), namespace, name, patch)


def same_content(item: Object) -> Object:
    metadata = item["metadata"]
    kept = {"labels": metadata.get("labels"), "owners": len(metadata["ownerReferences"])}
    body = {key: item[key] for key in ("spec", "data", "roleRef", "subjects") if key in item}
    return kept | body


@pytest.mark.parametrize("how", ["edited", "unlabelled", "deleted"])
async def test_drift_is_repaired(api_server: ApiServer, user: Place, how: str) -> None:
    async with operator(api_server):
        await user.service("chat", replicas=2)
        await settled(user)
        times = []
        for key, item in (await user.children("chat")).items():
            resource, name = of(item), item["metadata"]["name"]
            if how == "edited":
                await edit(user, item)
            elif how == "unlabelled":
                labels = {"metadata": {"labels": {"steelyard.io/service": None}}}
                await user.kube.merge(resource, user.namespace, name, labels)
            else:
                await user.kube.delete(resource, user.namespace, name)

            async def repaired(key: tuple[str, str] = key, item: Object = item) -> bool:
                now = (await user.children("chat")).get(key)
                if now is None or "deletionTimestamp" in now["metadata"]:
                    return False
                new = now["metadata"]["uid"] != item["metadata"]["uid"]
                if item["kind"] == "Service":  # the server gives a new one another address
                    item = item | {
                        "spec": item["spec"]
                        | {k: v for k, v in now["spec"].items() if k.startswith("cluster")}
                    }
                return same_content(now) == same_content(item) and new == (how == "deleted")

            times.append(await eventually(repaired, 10.0))
        log.info("%s: repaired after %.2f s at most, of %d", how, max(times), len(times))

        async def told() -> bool:
            return len(await user.events("DriftCorrected")) >= 1

        await eventually(told)


async def test_a_deleted_service_takes_its_children_along(
    api_server: ApiServer, user: Place
) -> None:
    async with operator(api_server) as controller:
        await user.service("chat")
        await settled(user)
        await user.kube.delete(LLM_SERVICE, user.namespace, "chat")

        async def gone() -> bool:
            return not await user.children("chat")

        await eventually(gone, 60.0)
        assert sample(controller.metrics, "objects", kind="LLMService", ready="False") == 0


async def test_a_policy_edit_reaches_the_routers_configuration_within_a_second(
    api_server: ApiServer, user: Place
) -> None:
    async with operator(api_server):
        await user.service("chat")
        await user.policy("gold", "chat")

        async def first() -> bool:
            return "500" in await user.told("chat")

        await eventually(first)
        times = []
        for ttft_ms in range(701, 721):
            await user.policy("gold", "chat", ttft_ms=ttft_ms)

            async def written(text: str = str(ttft_ms)) -> bool:
                return text in await user.told("chat")

            times.append(await eventually(written, 5.0))
        times.sort()
        log.info("policy edits: median %.3f s, slowest %.3f s", times[10], times[-1])
        assert times[-1] < 5.0


async def test_the_older_of_two_policies_is_in_force_and_the_other_is_told(
    api_server: ApiServer, user: Place
) -> None:
    async with operator(api_server):
        await user.service("chat")
        await user.policy("old", "chat", ttft_ms=111)
        await asyncio.sleep(1.1)  # creation times have whole seconds
        await user.policy("new", "chat", ttft_ms=222)

        await eventually(has_condition(user, "new", "Accepted", "Conflicted", SLO_POLICY))
        await eventually(has_condition(user, "old", "Accepted", "Accepted", SLO_POLICY))
        assert "111" in await user.told("chat")

        await user.kube.delete(SLO_POLICY, user.namespace, "old")

        async def taken_over() -> bool:
            return "222" in await user.told("chat")

        await eventually(taken_over)
        await eventually(has_condition(user, "new", "Accepted", "Accepted", SLO_POLICY))


async def test_a_policy_may_come_before_its_service(api_server: ApiServer, user: Place) -> None:
    async with operator(api_server):
        await user.policy("gold", "chat")
        await eventually(has_condition(user, "gold", "Accepted", "TargetNotFound", SLO_POLICY))

        await user.service("chat")

        await eventually(has_condition(user, "gold", "Accepted", "Accepted", SLO_POLICY))


async def test_what_belongs_to_somebody_else_is_not_touched(
    api_server: ApiServer, user: Place
) -> None:
    theirs = await user.put(
        SERVICE, "chat-router", spec={"ports": [{"port": 5432}], "selector": {"app": "database"}}
    )
    async with operator(api_server):
        await user.service("chat")
        await eventually(has_condition(user, "chat", "Ready", "NameConflict"))

        assert await user.get(SERVICE, "chat-router") == theirs
        assert await user.get(DEPLOYMENT, "chat-router") is not None
        condition = await user.condition(LLM_SERVICE, "chat", "Ready")
        assert "chat-router" in condition["message"]

        await user.kube.delete(LLM_SERVICE, user.namespace, "chat")

        async def gone() -> bool:
            return not await user.children("chat")

        await eventually(gone, 60.0)
        assert await user.get(SERVICE, "chat-router") == theirs


async def test_a_paused_service_is_left_alone_until_it_is_active_again(
    api_server: ApiServer, user: Place
) -> None:
    async with operator(api_server):
        await user.service("chat", replicas=2)
        await settled(user)
        await user.service("chat", replicas=3, reconciliation="Paused")
        await eventually(has_condition(user, "chat", "Ready", "Paused"))
        await user.kube.delete(PDB, user.namespace, "chat-engine")
        await asyncio.sleep(2.0)
        assert await user.get(PDB, "chat-engine") is None
        engines = await user.get(DEPLOYMENT, "chat-engine") or {}
        assert engines["spec"]["replicas"] == 2

        await user.service("chat", replicas=3)

        await eventually(has_children(user))
        engines = await user.get(DEPLOYMENT, "chat-engine") or {}
        assert engines["spec"]["replicas"] == 3


async def test_what_is_no_longer_wanted_goes(api_server: ApiServer, user: Place) -> None:
    async with operator(api_server):
        await user.service("chat", networkPolicy="Enabled")
        await eventually(lambda: _network_policies(user, 2))

        await user.service("chat")

        await eventually(lambda: _network_policies(user, 0))


async def _network_policies(user: Place, count: int) -> bool:
    children = await user.children("chat")
    return sum(kind == "NetworkPolicy" for kind, _ in children) == count


async def test_a_template_that_the_server_refuses_is_explained_and_the_rest_applied(
    api_server: ApiServer, user: Place
) -> None:
    bad = {"spec": {"containers": [{"name": "engine", "resources": {"limits": {"cpu": "much"}}}]}}
    async with operator(api_server):
        await user.service("chat", engine={"type": "Simulator", "podTemplate": bad})

        await eventually(has_condition(user, "chat", "Ready", "InvalidPodTemplate"))
        for resource in (SERVICE_ACCOUNT, ROLE_BINDING, CONFIG_MAP, SERVICE, PDB, DEPLOYMENT):
            assert await user.get(resource, "chat-router") is not None

        await user.service("chat")
        await eventually(has_children(user))


async def test_five_services_at_rest_send_no_write_over_two_resyncs(
    api_server: ApiServer, user: Place
) -> None:
    names = [f"chat{number}" for number in range(5)]
    async with operator(api_server, resync_s=2.0) as controller:
        for name in names:
            await user.service(name)
            await user.policy(f"for-{name}", name)
        for name in names:
            await settled(user, name)
        mark = user.audit.mark()
        requeues = reconciles(controller)

        async def passed() -> bool:
            count = reconciles(controller)
            return count >= requeues + 3 * len(names)

        await eventually(passed, 60.0)

        assert user.writes(mark) == []
        assert reconciles(controller, "failed") == 0


async def test_a_policy_is_programmed_once_its_routers_report_what_was_compiled(
    api_server: ApiServer, user: Place
) -> None:
    said = RouterReport("chat-router-1", "an-older-one", ready=True, holder=True)

    async def ask(pods: Iterable[Object]) -> tuple[RouterReport, ...]:
        return (said,)

    async with operator(api_server, ask=ask):
        await user.service("chat")
        await user.policy("gold", "chat")
        await eventually(has_condition(user, "gold", "Programmed", "Reconciling", SLO_POLICY))
        stored = (await user.get(SLO_POLICY, "gold") or {})["status"]["ancestors"][0]
        assert stored["programmedReplicas"] == "0/1"

        said = RouterReport("chat-router-1", stored["revision"], ready=True, holder=True)

        took_s = await eventually(
            has_condition(user, "gold", "Programmed", "Programmed", SLO_POLICY)
        )
        log.info("programmed %.2f s after the router reported it", took_s)


async def test_without_a_namespace_it_works_in_all_of_them(
    api_server: ApiServer, user: Place
) -> None:
    other = f"{user.namespace}-b"
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    await user.kube.create(namespace)
    async with operator(api_server, everywhere=True):
        await user.service("chat")
        await user.put(
            LLM_SERVICE,
            "chat",
            metadata={"namespace": other},
            spec={"engine": {"type": "Simulator"}},
        )
        await eventually(has_children(user))

        async def there() -> bool:
            return await user.kube.get(DEPLOYMENT, other, "chat-router") is not None

        await eventually(there)
        await user.kube.delete(DEPLOYMENT, other, "chat-router")
        await eventually(there)
    await user.kube.delete(NAMESPACE, None, other)
