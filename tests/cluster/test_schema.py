"""The schemas on a real API server: what it takes, what it refuses and in which words."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from onenode.control_plane import ControlPlane
from support import policy_case, service_case, whole
from support.case import EnumCase, RuleCase
from support.crd import KINDS, Tree, nodes, root
from support.whole import NAME

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import LLM_SERVICE, NAMESPACE, SLO_POLICY

RULES = (*service_case.RULES, *policy_case.RULES)
ENUMS = (*service_case.ENUMS, *policy_case.ENUMS)
DUPLICATES = {**service_case.DUPLICATES, **policy_case.DUPLICATES}
MANAGER = "schema-test"


Connect = Callable[[], Coroutine[Any, Any, Kube]]


@pytest.fixture(scope="module")
def connect(control_plane: ControlPlane, crds: list[str]) -> Connect:
    """A client of a server that has the kinds."""
    assert len(crds) == len(KINDS)
    kubeconfig = str(control_plane.kubectl.kubeconfig)
    return lambda: Kube.connect(kubeconfig=kubeconfig, user_agent=MANAGER)


@pytest.fixture(scope="module")
def namespace(connect: Connect) -> Iterator[str]:
    """A namespace that holds one whole object of each kind."""
    name = f"schema-{uuid.uuid4().hex[:8]}"

    async def make() -> None:
        async with await connect() as kube:
            await kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for item in (whole.SERVICE, whole.POLICY):
                await kube.apply(placed(item, name), manager=MANAGER)

    async def drop() -> None:
        async with await connect() as kube:
            await kube.delete(NAMESPACE, None, name)

    asyncio.run(make())
    yield name
    asyncio.run(drop())


def placed(item: Tree, namespace: str, **metadata: str) -> Tree:
    return {**item, "metadata": {**item["metadata"], "namespace": namespace, **metadata}}


async def tried(kube: Kube, item: Tree, namespace: str) -> Tree:
    """The object as the server would store it. Raises KubeError.

    A new object; a status can only be tried on one that is there.
    """
    if "status" not in item:
        return await kube.apply(placed(item, namespace), manager=MANAGER, dry_run=True)
    stored = {
        key: part for key, part in placed(item, namespace, name=NAME).items() if key != "spec"
    }
    return await kube.apply(stored, manager=MANAGER, subresource="status", dry_run=True)


async def refusal(kube: Kube, item: Tree, namespace: str) -> str:
    with pytest.raises(KubeError) as caught:
        await tried(kube, item, namespace)
    return caught.value.message


@pytest.mark.parametrize("case", RULES, ids=str)
async def test_each_rule_takes_and_refuses_with_its_own_words(
    case: RuleCase, connect: Connect, namespace: str
) -> None:
    async with await connect() as kube:
        for good in case.accept:
            await tried(kube, good, namespace)
        for bad in case.reject:
            assert case.message in await refusal(kube, bad, namespace), bad


@pytest.mark.parametrize("case", ENUMS, ids=lambda case: f"{case.kind}.{case.path}")
async def test_each_enum_takes_its_values_and_no_other(
    case: EnumCase, connect: Connect, namespace: str
) -> None:
    field = case.path.replace("[]", "[0]")
    async with await connect() as kube:
        for value in dict(nodes(root(case.kind)))[case.path]["enum"]:
            await tried(kube, case.holding(value), namespace)
        said = await refusal(kube, case.holding("Bogus"), namespace)

    assert f'{field}: Unsupported value: "Bogus"' in said


@pytest.mark.parametrize("place", DUPLICATES, ids=".".join)
async def test_a_key_that_is_given_twice_is_refused(
    place: tuple[str, str], connect: Connect, namespace: str
) -> None:
    async with await connect() as kube:
        said = await refusal(kube, DUPLICATES[place], namespace)

    assert f".{place[1]}: duplicate entries for key" in said


@pytest.mark.parametrize("item", [whole.SERVICE, whole.POLICY], ids=KINDS)
async def test_an_unknown_field_is_refused(item: Tree, connect: Connect, namespace: str) -> None:
    async with await connect() as kube:
        said = await refusal(kube, {**item, "spec": {**item["spec"], "replica": 1}}, namespace)

    assert "replica: field not declared in schema" in said


async def test_what_is_stored_is_read_by_the_models_as_it_was_written(
    connect: Connect, namespace: str
) -> None:
    async with await connect() as kube:
        service = await kube.get(LLM_SERVICE, namespace, NAME)
        policy = await kube.get(SLO_POLICY, namespace, NAME)

    assert LLMService.model_validate(service).spec == LLMService.model_validate(whole.SERVICE).spec
    assert SLOPolicy.model_validate(policy).spec == SLOPolicy.model_validate(whole.POLICY).spec


async def test_a_new_object_counts_as_unseen_by_the_operator(
    connect: Connect, namespace: str
) -> None:
    async with await connect() as kube:
        for item in (service_case.service(name="new"), policy_case.policy(name="new")):
            stored = await tried(kube, item, namespace)
            assert stored["status"] == {"observedGeneration": -1}


async def test_a_policy_enforces_on_llmservices_unless_it_says_otherwise(
    connect: Connect, namespace: str
) -> None:
    async with await connect() as kube:
        stored = await tried(kube, policy_case.policy(name="new"), namespace)

    assert stored["spec"]["mode"] == "Enforce"
    assert stored["spec"]["targetRefs"] == [
        {"group": "steelyard.io", "kind": "LLMService", "name": "chat"}
    ]


async def test_nothing_else_is_filled_in(connect: Connect, namespace: str) -> None:
    async with await connect() as kube:
        stored = await tried(kube, service_case.service(name="new"), namespace)

    assert stored["spec"] == service_case.service()["spec"]


async def test_autoscalers_and_kubectl_scale_set_replicas(connect: Connect, namespace: str) -> None:
    async with await connect() as kube:
        scale = await kube.merge(
            LLM_SERVICE, namespace, NAME, {"spec": {"replicas": 7}}, subresource="scale"
        )
        stored = await kube.get(LLM_SERVICE, namespace, NAME)

    assert scale["spec"]["replicas"] == 7
    assert stored is not None
    assert stored["spec"]["replicas"] == 7


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        ("llmsvc", "NAME MODEL ENGINE READY REPLICAS DESIRED REASON P95 URL AGE"),
        ("slopol", "NAME TARGET ACCEPTED PROGRAMMED MODE FIRING AGE REASON"),
    ],
)
def test_kubectl_lists_what_matters_under_short_names(
    kind: str, header: str, control_plane: ControlPlane, namespace: str
) -> None:
    listed = control_plane.kubectl.within(namespace)("get", kind, "-o", "wide").splitlines()

    assert listed[0].split() == header.split()
    assert listed[1].split()[0] == NAME
