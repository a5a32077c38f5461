"""Applies on a real API server: each child by itself, and never another's."""

from collections.abc import AsyncIterator

import pytest
from support.api_server import ApiServer
from support.running_operator import Place, place

from steelyard_operator.cluster.apply import Applier, Outcome
from steelyard_operator.cluster.feud import REFILL_S
from steelyard_operator.cluster.key import child_key
from steelyard_router.kube.resource import CONFIG_MAP, PDB, SERVICE, Object


@pytest.fixture
async def user(api_server: ApiServer) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


def config_map(user: Place, name: str, value: str = "1") -> Object:
    metadata = {"name": name, "namespace": user.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}


async def test_what_was_applied_and_is_still_there_is_not_applied_again(user: Place) -> None:
    applier, wanted = Applier(user.kube), [config_map(user, "a"), config_map(user, "b")]
    first = await applier.apply("owner", wanted, {}, [])
    mark = user.audit.mark()

    second = await applier.apply("owner", wanted, first.live, [])

    assert second.changed == set()
    assert [each for each in user.audit.writes(mark) if each.namespace == user.namespace] == []


async def test_an_operator_that_remembers_nothing_applies_and_changes_nothing(user: Place) -> None:
    wanted = [config_map(user, "a")]
    first = await Applier(user.kube).apply("owner", wanted, {}, [])

    second = await Applier(user.kube).apply("owner", wanted, first.live, [])

    assert (second.changed, second.corrected) == (set(), [])
    assert second.live == first.live


async def test_a_wish_that_changed_is_no_drift_and_a_change_by_others_is(user: Place) -> None:
    applier = Applier(user.kube)
    first = await applier.apply("owner", [config_map(user, "a")], {}, [])
    second = await applier.apply("owner", [config_map(user, "a", "2")], first.live, [])
    assert (len(second.changed), second.corrected) == (1, [])

    theirs = await user.kube.merge(CONFIG_MAP, user.namespace, "a", {"data": {"k": "3"}})
    third = await applier.apply(
        "owner", [config_map(user, "a", "2")], {child_key(theirs): theirs}, []
    )

    ((kind, name, versions),) = third.corrected
    assert (kind, name) == ("ConfigMap", "a")
    assert versions.startswith(theirs["metadata"]["resourceVersion"])
    assert third.live["ConfigMap", "a"]["data"] == {"k": "2"}


async def test_a_status_that_is_written_meanwhile_is_no_drift(user: Place) -> None:
    wanted: Object = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": user.namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    }
    applier = Applier(user.kube)
    await applier.apply("owner", [wanted], {}, [])
    await user.kube.merge(PDB, user.namespace, "a", {"metadata": {"annotations": {"x": "y"}}})
    seen = await user.get(PDB, "a") or {}
    status = {"status": {"currentHealthy": 2}}
    await user.kube.merge(PDB, user.namespace, "a", status, subresource="status")

    outcome = await applier.apply("owner", [wanted], {child_key(wanted): seen}, [])

    now = outcome.live[child_key(wanted)]
    assert now["metadata"]["resourceVersion"] != seen["metadata"]["resourceVersion"]
    assert (outcome.changed, outcome.corrected) == (set(), [])


async def test_one_refusal_keeps_no_other_child_from_being_applied(user: Place) -> None:
    bad: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "bad", "namespace": user.namespace},
        "spec": {"ports": [{"port": 0}]},
    }
    wanted = [config_map(user, "a"), bad, config_map(user, "b")]

    outcome = await Applier(user.kube).apply("owner", wanted, {}, [])

    assert outcome.errors.keys() == {("Service", "bad")}
    assert outcome.errors["Service", "bad"].invalid
    assert await user.get(CONFIG_MAP, "b") is not None
    assert await user.get(SERVICE, "bad") is None


async def test_a_child_that_was_replaced_in_between_is_not_touched(user: Place) -> None:
    seen = await user.put(CONFIG_MAP, "a", data={"k": "ours"})
    await user.kube.delete(CONFIG_MAP, user.namespace, "a")
    theirs = await user.put(CONFIG_MAP, "a", data={"k": "theirs"})
    live = {child_key(seen): seen}
    applier = Applier(user.kube)

    applied = await applier.apply("owner", [config_map(user, "a")], live, [])
    deleted = await applier.apply("owner", [], live, [seen])

    assert applied.errors["ConfigMap", "a"].conflict
    assert deleted.errors == {}
    assert await user.get(CONFIG_MAP, "a") == theirs


async def test_a_child_that_vanished_in_between_is_left_to_the_next_round(user: Place) -> None:
    seen = await user.put(CONFIG_MAP, "a", data={"k": "ours"})
    await user.kube.delete(CONFIG_MAP, user.namespace, "a")

    outcome = await Applier(user.kube).apply(
        "owner", [config_map(user, "a")], {child_key(seen): seen}, []
    )

    assert outcome.errors["ConfigMap", "a"].conflict
    assert await user.get(CONFIG_MAP, "a") is None


async def test_what_is_in_the_way_goes_before_its_successor_comes(user: Place) -> None:
    old = await user.put(CONFIG_MAP, "a", data={"k": "1"}, immutable=True)
    wanted = [config_map(user, "a", "2")]

    outcome = await Applier(user.kube).apply("owner", wanted, {child_key(old): old}, [old])

    assert outcome.errors == {}
    now = await user.get(CONFIG_MAP, "a") or {}
    assert now["data"] == {"k": "2"}
    assert now["metadata"]["uid"] != old["metadata"]["uid"]


async def test_a_file_that_somebody_put_into_a_configuration_is_taken_out(user: Place) -> None:
    """Routers read every file in it: one more, and those that start anew cannot."""
    applier, wanted, key = Applier(user.kube), config_map(user, "a"), ("ConfigMap", "a")
    await applier.apply("owner", [wanted], {}, [])
    theirs = await user.kube.merge(CONFIG_MAP, user.namespace, "a", {"data": {"more": "2"}})

    outcome = await applier.apply("owner", [wanted], {key: theirs}, [])

    assert [(kind, name) for kind, name, _ in outcome.corrected] == [key]
    assert outcome.live[key]["data"] == {"k": "1"}
    assert (await user.get(CONFIG_MAP, "a") or {})["data"] == {"k": "1"}
    mark = user.audit.mark()
    await applier.apply("owner", [wanted], outcome.live, [])
    assert [each for each in user.audit.writes(mark) if each.namespace == user.namespace] == []


async def test_what_somebody_keeps_changing_back_is_repaired_ten_times_and_then_now_and_then(
    user: Place,
) -> None:
    """Edits and deletions alike; a new wish of our own is no repair."""
    moment = 0.0
    applier = Applier(user.kube, lambda: moment)
    wanted, key = config_map(user, "a"), ("ConfigMap", "a")
    await applier.apply("owner", [wanted], {}, [])

    async def undone(number: int) -> Outcome:
        if number % 2:
            await user.kube.delete(CONFIG_MAP, user.namespace, "a")
            return await applier.apply("owner", [wanted], {}, [])
        theirs = await user.put(CONFIG_MAP, "a", data={"k": f"theirs-{number}"})
        return await applier.apply("owner", [wanted], {key: theirs}, [])

    for number in range(10):
        assert (await undone(number)).errors == {}
    refused = (await undone(10)).errors[key]
    assert (refused.status, "second operator" in refused.message) == (409, True)
    assert (await user.get(CONFIG_MAP, "a") or {})["data"] == {"k": "theirs-10"}
    moment += REFILL_S
    assert (await undone(12)).errors == {}
    assert (await undone(14)).errors.keys() == {key}

    theirs = await user.get(CONFIG_MAP, "a") or {}
    edited = await applier.apply("owner", [config_map(user, "a", "2")], {key: theirs}, [])
    assert edited.errors == {}
