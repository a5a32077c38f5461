"""Children of services on a real API server: taken as they are, and settled after one apply."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from support import whole
from support.api_server import ApiServer
from support.children import SETTINGS
from support.crd import Tree
from support.service_case import claim, real, service

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import child, plan
from steelyard_operator.plan.child.ownership import Key, key
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import DEPLOYMENT, LLM_SERVICE, Object, of

EXAMPLES = Path(__file__).parents[2] / "examples"
MANAGER = "steelyard"
NEWER = child.Settings(image="steelyard:2", vllm_image="vllm:2", sglang_image="sglang:2")
ATTEMPTS = 50
Result = TypeVar("Result")


class Place:
    """One namespace on the server, and what the operator would do there."""

    def __init__(self, server: ApiServer) -> None:
        self._kubeconfig = str(server.kubeconfig)
        self.namespace = server.namespace

    def run(self, act: Callable[[Kube], Awaitable[Result]]) -> Result:
        async def connected() -> Result:
            kube = await Kube.connect(kubeconfig=self._kubeconfig, user_agent="children-test")
            async with kube:
                return await act(kube)

        return asyncio.run(connected())

    def store(self, tree: Tree) -> LLMService:
        """The service as the server has it: it owns the children, so it has to be there."""
        placed = {**tree, "metadata": {**tree["metadata"], "namespace": self.namespace}}
        return LLMService.model_validate(self.run(lambda kube: kube.apply(placed, manager="user")))

    def apply(
        self,
        item: LLMService,
        live: Mapping[Key, Object] | None = None,
        settings: child.Settings = SETTINGS,
    ) -> dict[Key, Object]:
        """What the server answers to an apply of each child."""
        made = self.desired(item, live, settings)

        async def apply(kube: Kube) -> dict[Key, Object]:
            return {key(body): await kube.apply(body, manager=MANAGER) for body in made}

        return self.run(apply)

    def desired(
        self,
        item: LLMService,
        live: Mapping[Key, Object] | None = None,
        settings: child.Settings = SETTINGS,
    ) -> tuple[Object, ...]:
        (planned,) = plan([item], []).services
        return child.children(item, planned, live or {}, settings)


@pytest.fixture
def place(api_server: ApiServer, crds: list[str]) -> Place:
    return Place(api_server)


def services() -> dict[str, Tree]:
    found: dict[str, Tree] = {
        path.stem: item
        for path in sorted(EXAMPLES.rglob("*.yaml"))
        for item in yaml.safe_load_all(path.read_text())
        if item.get("kind") == LLM_SERVICE.kind
    }
    shapes = {"cpu": 1, "memory": "1024Mi", "example.com/gpu": "1000m"}
    return found | {
        "whole": whole.SERVICE,
        "sglang": real("SGLang", networkPolicy="Enabled"),
        "odd quantities": service(
            engine={
                "type": "Simulator",
                "resources": {"limits": shapes},
                "sharedMemorySize": "1024Mi",
            }
        ),
    }


async def writes_nothing(kube: Kube, body: Object) -> bool:
    """Whether an apply leaves the object alone.

    Controllers write statuses at the same time; once they are done, only an apply can make a
    difference, so one that writes never leaves the version that it found.
    """
    namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
    for _ in range(ATTEMPTS):
        before = await kube.get(of(body), namespace, name)
        after = await kube.apply(body, manager=MANAGER)
        assert before is not None
        if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
            return True
        await asyncio.sleep(0.2)
    return False


@pytest.mark.parametrize("name", services())
def test_a_second_apply_writes_nothing(name: str, place: Place) -> None:
    item = place.store(services()[name])
    live = place.apply(item)
    made = place.desired(item, live)

    async def writers(kube: Kube) -> list[Key]:
        return [key(body) for body in made if not await writes_nothing(kube, body)]

    assert place.run(writers) == []
    assert child.obsolete(made, live, item) == ()
    assert child.foreign(made, live, item) == ()


def test_a_newer_operator_changes_no_engine_template_on_the_server(place: Place) -> None:
    item = place.store(service())
    before = place.apply(item)
    after = place.apply(item, live=before, settings=NEWER)

    def generation(live: Mapping[Key, Object], name: str) -> int:
        count: int = live[DEPLOYMENT.kind, name]["metadata"]["generation"]
        return count

    assert generation(after, "chat-engine") == generation(before, "chat-engine")
    assert generation(after, "chat-router") > generation(before, "chat-router")


def test_a_pod_template_is_repaired_when_somebody_changes_it(place: Place) -> None:
    item = place.store(service())
    live = place.apply(item)
    change = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}
    changed = place.run(lambda kube: kube.merge(DEPLOYMENT, place.namespace, "chat-engine", change))
    repaired = place.apply(item, live={**live, key(changed): changed})

    pod = repaired[key(changed)]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 120


def test_what_is_taken_out_of_a_service_is_taken_out_of_its_children(place: Place) -> None:
    before = place.store(
        service(
            disruption={"minAvailable": 1},
            networkPolicy="Enabled",
            router={"service": {"type": "LoadBalancer", "annotations": {"a.example/b": "c"}}},
        )
    )
    live = place.apply(before)
    after = place.store(service())
    now = place.apply(after, live=live)
    gone = child.obsolete(now.values(), live, after)

    assert now["PodDisruptionBudget", "chat-engine"]["spec"].get("minAvailable") is None
    assert now["Service", "chat-router"]["spec"]["type"] == "ClusterIP"
    assert "annotations" not in now["Service", "chat-router"]["metadata"]
    assert {key(body) for body in gone} == {
        ("NetworkPolicy", "chat-engine"),
        ("NetworkPolicy", "chat-router"),
    }


def test_a_cache_is_kept_or_goes_as_its_service_says_in_the_end(place: Place) -> None:
    template = {"size": "1Gi", "accessModes": ["ReadWriteMany"]}
    name = ("PersistentVolumeClaim", "chat-cache")
    kept = place.apply(place.store(claim(template=template)))
    owned = place.apply(place.store(claim(template=template, retention="Delete")), live=kept)
    again = place.apply(place.store(claim(template=template, retention="Retain")), live=owned)

    owners = [live[name]["metadata"].get("ownerReferences", []) for live in (kept, owned, again)]
    assert [len(found) for found in owners] == [0, 1, 0]


def test_a_binding_to_another_role_is_made_anew(place: Place) -> None:
    """Its role cannot be changed: the old one goes, and the next apply makes the new one."""
    item = place.store(service())
    live = place.apply(item)
    renamed = child.Settings(image="steelyard:1", router_cluster_role="renamed")
    made = place.desired(item, live, renamed)
    (old,) = child.obsolete(made, live, item)
    (new,) = [body for body in made if key(body) == key(old)]

    with pytest.raises(KubeError, match="roleRef"):
        place.run(lambda kube: kube.apply(new, manager=MANAGER))
    place.run(lambda kube: kube.delete(of(old), place.namespace, old["metadata"]["name"]))
    assert place.apply(item, live, renamed)[key(new)]["roleRef"]["name"] == "renamed"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ({"spec": {"containers": [{"image": "nameless"}]}}, "name"),
        ({"spec": {"restartPolicy": "Never"}}, "restartPolicy"),
        ({"spec": {"nodeSelektor": {"a": "b"}}}, "nodeSelektor"),
        ({"spec": 3}, "spec"),
    ],
)
def test_a_wrong_pod_template_is_refused_by_the_server_in_its_words(
    template: Tree, words: str, place: Place
) -> None:
    item = place.store(service(engine={"type": "Simulator", "podTemplate": template}))
    (engine,) = [
        body for body in place.desired(item) if key(body) == (DEPLOYMENT.kind, "chat-engine")
    ]

    with pytest.raises(KubeError, match=words):
        place.run(lambda kube: kube.apply(engine, manager=MANAGER, dry_run=True))
