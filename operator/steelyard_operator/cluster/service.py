"""Reconciles one LLMService: reads all of it, lets the plan decide, makes it so, says how it is.

Level-triggered: nothing is kept between two runs that the next could not find out by itself, so a
run may be cut off anywhere, and the next one, in this process or another, finishes the work.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.errors import InvalidObjectError
from steelyard_operator.plan import Key, ServicePlan, plan
from steelyard_operator.plan.child import children, cluster_config, foreign, obsolete
from steelyard_operator.plan.child.name import ROUTER, router_name
from steelyard_operator.plan.status import (
    Observed,
    StatusPlan,
    invalid_service_status,
    service_status,
    unexplained,
)
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import (
    CONFIG_MAP,
    DEPLOYMENT,
    LLM_SERVICE,
    SERVICE,
    SLO_POLICY,
    Object,
)

from .apply import ChildKey, Outcome
from .key import ObjectKey, child_key
from .means import Means
from .observe import Scene, only, pod_events, scene, unlabelled
from .parse import concerning, parse, policies
from .queue import RetryError
from .told import told
from .uid import Uids

REFUSED_S = 60.0
"""A child that the server refuses is tried again that late: only an edit will help."""


@dataclass(frozen=True, slots=True)
class Case:
    """One service as it is asked for, and what is there of it."""

    body: Object
    service: LLMService
    scene: Scene
    planned: ServicePlan

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def config_map(self) -> ChildKey:
        return CONFIG_MAP.kind, router_name(self.service.metadata.name)


class ServiceReconcile:
    """Call it with a key, one call at a time for each."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._uids = Uids()

    async def __call__(self, key: ObjectKey) -> float | None:
        body = await self._means.kube.get(LLM_SERVICE, key.namespace, key.name)
        if body is None:
            self._forget(key)
            return None
        if "deletionTimestamp" in body["metadata"]:
            return None  # children go by their owner references
        self._drop(self._uids.meet(key, body["metadata"]["uid"]))
        try:
            service = parse(body, LLMService)
        except InvalidObjectError as error:
            status = invalid_service_status(body, str(error), now=self._means.now())
            return await self._publish(key, body, status, ())
        found = await scene(self._means.kube, key.namespace, key.name)
        return await self._reconcile(key, Case(body, service, found, _planned(service, found)))

    async def _reconcile(self, key: ObjectKey, case: Case) -> float | None:
        outcome, conflicts = await self._make_so(case)
        if case.config_map in outcome.changed:
            self._means.follow(key.namespace, key.name)
        observed = await self._observe(case, outcome, conflicts)
        status = service_status(case.service, case.planned, observed, now=self._means.now())
        again_s = await self._publish(key, case.body, status, case.scene.policies)
        return _again_s(outcome.errors, again_s)

    async def _make_so(self, case: Case) -> tuple[Outcome, tuple[Object, ...]]:
        """Applies the children; with the ones that belong to somebody else, which are left be."""
        service, live = case.service, dict(case.scene.children)
        if service.spec.reconciliation == "Paused":
            return Outcome(live), ()
        settings, kube = self._means.settings, self._means.kube
        desired = children(service, case.planned, live, settings)
        if hidden := await unlabelled(kube, desired, live):
            live |= hidden
            desired = children(service, case.planned, live, settings)
        conflicts = foreign(desired, live, service)
        outcome = await self._means.applier.apply(
            case.uid,
            desired,
            live,
            obsolete(desired, live, service),
            keep=[child_key(item) for item in conflicts],
        )
        for kind, _ in outcome.changed:
            self._means.metrics.changed(kind)
        for kind, *_ in outcome.corrected:
            self._means.metrics.corrected(kind)
        return outcome, conflicts

    async def _observe(
        self, case: Case, outcome: Outcome, conflicts: tuple[Object, ...]
    ) -> Observed:
        pods = case.scene.pods
        every = [pod for members in pods.values() for pod in members]
        reports, events = await asyncio.gather(
            self._means.ask(pods.get(ROUTER, ())),
            pod_events(self._means.kube, every, unexplained(every, self._means.now())),
        )
        return Observed(
            deployments=only(outcome.live, DEPLOYMENT),
            pods=pods,
            services=only(outcome.live, SERVICE),
            pod_events=events,
            apply_errors=outcome.errors,
            conflicts=conflicts,
            corrected=tuple(outcome.corrected),
            reports=reports,
            revision=cluster_config(case.service, case.planned).revision,
        )

    async def _publish(
        self, key: ObjectKey, body: Object, status: StatusPlan, policies: Iterable[Object]
    ) -> float | None:
        uids = {
            (SLO_POLICY.kind, item["metadata"]["name"]): item["metadata"]["uid"]
            for item in policies
        }
        uids[LLM_SERVICE.kind, key.name] = body["metadata"]["uid"]
        self._means.metrics.status(key, status.status)
        await self._means.publisher.publish(LLM_SERVICE, body, status, uids)
        return status.requeue_s

    # -- memory, for speed alone ------------------------------------------------------------------

    def _forget(self, key: ObjectKey) -> None:
        self._drop(self._uids.part(key))
        self._means.metrics.forget(key)
        self._means.gone(key)

    def _drop(self, uid: str | None) -> None:
        if uid is None:
            return
        self._means.applier.forget([uid])
        self._means.publisher.forget(uid)


def _planned(service: LLMService, found: Scene) -> ServicePlan:
    key = Key(service.metadata.namespace, service.metadata.name)
    running = told(found.children.get((CONFIG_MAP.kind, router_name(service.metadata.name))))
    readable, unreadable = policies(concerning(found.policies, [service.metadata.name]))
    kept = {} if running is None else {key: running}
    return plan([service], readable, kept, unreadable).services[0]


def _again_s(errors: Mapping[ChildKey, KubeError], again_s: float | None) -> float | None:
    """When to look again. Raises RetryError for what a mere repetition may heal."""
    passing = {key: error for key, error in errors.items() if not error.invalid}
    if passing:
        (kind, name), error = next(iter(passing.items()))
        more = f" (and {len(passing) - 1} more)" if len(passing) > 1 else ""
        raise RetryError(f"{kind} {name} not applied: {error}{more}")
    if errors:
        return REFUSED_S if again_s is None else min(again_s, REFUSED_S)
    return again_s
