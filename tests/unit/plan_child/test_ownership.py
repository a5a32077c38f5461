"""What is ours among what is there."""

from copy import deepcopy
from typing import Any

from support.children import SETTINGS, VLLM, Children, children, stored

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import child

OTHER_UID = "99999999-0000-0000-0000-000000000000"
CLAIM: dict[str, Any] = {"type": "PersistentVolumeClaim", "template": {"size": "1Gi"}}
EXTERNAL = {"type": "External", "urls": ["http://10.0.0.1:8000"]}


def obsolete(item: LLMService, live: Children) -> set[tuple[str, str]]:
    desired = children(item, live=live).values()
    found = child.obsolete(desired, live, item)
    return {(body["kind"], body["metadata"]["name"]) for body in found}


def foreign(item: LLMService, live: Children) -> set[tuple[str, str]]:
    found = child.foreign(children(item, live=live).values(), live, item)
    return {(body["kind"], body["metadata"]["name"]) for body in found}


def owned_by(uid: str | None, body: dict[str, Any]) -> dict[str, Any]:
    changed = deepcopy(body)
    owners = changed["metadata"].pop("ownerReferences", None) or [{"controller": True}]
    if uid is not None:
        changed["metadata"]["ownerReferences"] = [{**owners[0], "uid": uid}]
    return changed


def test_a_steady_state_has_nothing_to_remove_and_no_conflict() -> None:
    live = children(stored(**VLLM, cache=CLAIM, networkPolicy="Enabled"))
    item = stored(**VLLM, cache=CLAIM, networkPolicy="Enabled")

    assert obsolete(item, live) == set()
    assert foreign(item, live) == set()


def test_engines_go_when_someone_else_runs_them() -> None:
    live = children(stored(networkPolicy="Enabled"))

    assert obsolete(stored(engine=EXTERNAL), live) == {
        ("Deployment", "chat-engine"),
        ("Service", "chat-engine"),
        ("PodDisruptionBudget", "chat-engine"),
        ("NetworkPolicy", "chat-engine"),
        ("NetworkPolicy", "chat-router"),
    }


def test_only_a_cache_that_was_to_go_with_its_service_is_removed() -> None:
    kept = children(stored(**VLLM, cache=CLAIM))
    gone = children(stored(**VLLM, cache={**CLAIM, "retention": "Delete"}))

    assert obsolete(stored(**VLLM), kept) == set()
    assert obsolete(stored(**VLLM), gone) == {("PersistentVolumeClaim", "chat-cache")}


def test_what_others_own_is_neither_removed_nor_overwritten() -> None:
    theirs = {key: owned_by(OTHER_UID, body) for key, body in children(stored()).items()}
    nobodys = {key: owned_by(None, body) for key, body in children(stored()).items()}

    for live in (theirs, nobodys):
        assert obsolete(stored(engine=EXTERNAL), live) == set()
        assert foreign(stored(), live) == set(live)


def test_what_a_router_writes_is_not_taken_for_a_child() -> None:
    """Its Lease names the service as its owner, so that it goes with it."""
    (body, *_) = children(stored()).values()
    lease = {**body, "kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}

    assert obsolete(stored(), {("Lease", "chat-router"): lease}) == set()


def test_a_cache_that_outlived_its_service_is_taken_over() -> None:
    before = stored(uid=OTHER_UID, **VLLM, cache=CLAIM)
    live = {key: body for key, body in children(before).items() if key[0].startswith("Persistent")}

    assert len(live) == 1
    assert foreign(stored(**VLLM, cache=CLAIM), live) == set()


def test_a_claim_that_is_not_ours_is_a_conflict() -> None:
    item = stored(**VLLM, cache=CLAIM)
    key = ("PersistentVolumeClaim", "chat-cache")
    body = children(item)[key]
    unlabelled = deepcopy(body)
    del unlabelled["metadata"]["labels"]["steelyard.io/service"]

    assert foreign(item, {key: unlabelled}) == {key}
    assert foreign(item, {key: owned_by(OTHER_UID, body)}) == {key}


def test_a_binding_to_another_role_has_to_go_first() -> None:
    """A role reference can never be changed."""
    item = stored()
    live = children(item)
    live["RoleBinding", "chat-router"]["roleRef"]["name"] = "before"

    assert obsolete(item, live) == {("RoleBinding", "chat-router")}
    assert foreign(item, live) == set()


def test_settings_alone_make_nothing_obsolete() -> None:
    live = children(stored(), settings=child.Settings(image="steelyard:0"))
    desired = children(stored(), live=live, settings=SETTINGS).values()

    assert child.obsolete(desired, live, stored()) == ()
