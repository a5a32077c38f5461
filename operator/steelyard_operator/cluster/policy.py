"""Reconciles one SLOPolicy: what became of it, and what the routers of its services report.

It writes nothing but its own status and Events: that a policy comes true is the work of the
services that it names.
"""

import asyncio
from collections.abc import Iterable, Mapping

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import Key, Plan, ServicePlan, plan
from steelyard_operator.plan.child import cluster_config
from steelyard_operator.plan.status import RouterReport, Target, policy_status
from steelyard_router.kube.resource import LLM_SERVICE, SLO_POLICY, Object

from .heard import targets as named
from .key import ObjectKey
from .means import Means
from .observe import Routers, namespace_objects, routers
from .parse import concerning, policies, services
from .told import told
from .uid import Uids


class PolicyReconcile:
    """Call it with a key, one call at a time for each."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._uids = Uids()

    async def __call__(self, key: ObjectKey) -> float | None:
        body = await self._means.kube.get(SLO_POLICY, key.namespace, key.name)
        if body is None:
            self._forget(key)
            return None
        if "deletionTimestamp" in body["metadata"]:
            return None
        self._drop(self._uids.meet(key, body["metadata"]["uid"]))
        there, others = await namespace_objects(self._means.kube, key.namespace)
        targeted = [item for item in there if item["metadata"]["name"] in named(body)]
        found = await routers(
            self._means.kube, key.namespace, (item["metadata"]["name"] for item in targeted)
        )
        # The very object that was read decides, whatever the listing says a moment later.
        rivals = concerning(others, named(body))
        rivals = (item for item in rivals if item["metadata"]["name"] != key.name)
        wanted = services(targeted)
        made = _plan(wanted, (body, *rivals), found)
        seen = await self._targets(made.services, wanted, found)
        return await self._publish(key, body, made, targeted, seen)

    async def _publish(
        self,
        key: ObjectKey,
        body: Object,
        made: Plan,
        targeted: Iterable[Object],
        seen: Mapping[str, Target],
    ) -> float | None:
        result = next(item for item in made.policies if item.name == key.name)
        status = policy_status(result, body.get("status"), seen, now=self._means.now())
        uids = {
            (LLM_SERVICE.kind, item["metadata"]["name"]): item["metadata"]["uid"]
            for item in targeted
        }
        uids[SLO_POLICY.kind, key.name] = body["metadata"]["uid"]
        self._means.metrics.status(key, status.status)
        await self._means.publisher.publish(SLO_POLICY, body, status, uids)
        return status.requeue_s

    async def _targets(
        self,
        planned: Iterable[ServicePlan],
        there: Iterable[LLMService],
        found: Mapping[str, Routers],
    ) -> dict[str, Target]:
        """What each service's routers should run, and what they say they do."""
        by_name = {service.metadata.name: service for service in there}
        plans = [item for item in planned if item.key.name in by_name]
        reports = await asyncio.gather(
            *(self._means.ask(found[item.key.name].pods) for item in plans)
        )
        return {
            item.key.name: _target(by_name[item.key.name], item, found, said)
            for item, said in zip(plans, reports, strict=True)
        }

    def _forget(self, key: ObjectKey) -> None:
        self._drop(self._uids.part(key))
        self._means.metrics.forget(key)
        self._means.gone(key)

    def _drop(self, uid: str | None) -> None:
        if uid is not None:
            self._means.publisher.forget(uid)


def _plan(
    targeted: list[LLMService], bodies: Iterable[Object], found: Mapping[str, Routers]
) -> Plan:
    readable, unreadable = policies(bodies)
    running = {
        Key(service.metadata.namespace, service.metadata.name): told(
            found[service.metadata.name].config_map
        )
        for service in targeted
    }
    kept = {key: config for key, config in running.items() if config is not None}
    return plan(targeted, readable, kept, unreadable)


def _target(
    service: LLMService,
    planned: ServicePlan,
    found: Mapping[str, Routers],
    said: tuple[RouterReport, ...],
) -> Target:
    paused = service.spec.reconciliation == "Paused"
    return Target(_revision(service, planned, found), said, paused)


def _revision(
    service: LLMService, planned: ServicePlan, found: Mapping[str, Routers]
) -> str | None:
    """None while there is no configuration that a router could have loaded."""
    if found[service.metadata.name].config_map is None:
        return None
    return cluster_config(service, planned).revision
