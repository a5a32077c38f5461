"""Elections on virtual time: every candidate steps when its last step said so."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_kube import Client, MemoryKube

from steelyard_router.kube.error import KubeError
from steelyard_router.kube.lease import Election, Standing
from steelyard_router.kube.resource import LEASE, Object

OWNER: Object = {
    "apiVersion": "steelyard.io/v1alpha1",
    "kind": "LLMService",
    "name": "llama",
    "uid": "uid-1",
    "controller": True,
    "blockOwnerDeletion": False,
}


class Candidate:
    """One process: its own connection, its own clock, which started anywhere."""

    def __init__(self, race: "Race", name: str, *, owner: Object | None = OWNER) -> None:
        self.name = name
        self.connection: Client = race.server.client()
        self.next_at = race.now
        self.alive = True
        skew = race.rng.uniform(-1e6, 1e6)
        self.election = Election(
            self.connection,
            "ai",
            "llama-router",
            identity=name,
            owner=owner,
            labels={"steelyard.io/service": "llama"},
            clock=lambda: race.now + skew,
            wall=lambda: race.now + skew,
            rng=race.rng,
        )


class Race:
    """Candidates for one Lease."""

    def __init__(self, *names: str, seed: int = 0) -> None:
        self.now = 1_800_000_000.0
        self.rng = random.Random(seed)
        self.server = MemoryKube(lambda: self.now)
        self.candidates = {name: Candidate(self, name) for name in names}

    def __getitem__(self, name: str) -> Candidate:
        return self.candidates[name]

    @property
    def holders(self) -> list[str]:
        return [n for n, c in self.candidates.items() if c.alive and c.election.holder]

    @property
    def lease(self) -> Object:
        (lease,) = self.server.of_kind(LEASE)
        return lease

    async def run(self, seconds: float, *, until: Any = lambda: False) -> float:
        """Let time pass; how much has. At no moment may two hold the Lease."""
        start, end = self.now, self.now + seconds
        while self.now < end and not until():
            alive = [c for c in self.candidates.values() if c.alive]
            due = min(alive, key=lambda c: c.next_at)
            if due.next_at <= self.now:
                due.next_at = self.now + await due.election.step()
            else:
                self.now = min(due.next_at, self.now + 0.5, end)
            assert len(self.holders) <= 1
        return self.now - start


async def test_one_of_three_holds_it_and_keeps_it() -> None:
    race = Race("a", "b", "c")
    await race.run(10)
    (first,) = race.holders

    for _ in range(200):
        await race.run(3)
        assert race.holders == [first]
    assert race[first].election.term == 1


async def test_the_lease_says_who_and_whose() -> None:
    race = Race("a")
    await race.run(1)

    spec, metadata = race.lease["spec"], race.lease["metadata"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("a", 15)
    assert spec["renewTime"].endswith("Z")
    assert metadata["ownerReferences"] == [OWNER]
    assert metadata["labels"] == {"steelyard.io/service": "llama"}


@pytest.mark.parametrize("seed", range(20))
async def test_another_takes_over_within_30_s_of_a_death(seed: int) -> None:
    race = Race("a", "b", seed=seed)
    await race.run(60 + race.rng.uniform(0, 10))
    (first,) = race.holders
    race[first].alive = False

    took_s = await race.run(60, until=lambda: race.holders)

    assert 10 <= took_s <= 25


async def test_a_lease_that_is_given_back_is_taken_at_once() -> None:
    race = Race("a", "b")
    await race.run(60)
    (first,) = race.holders
    await race[first].election.release()
    race[first].alive = False

    assert await race.run(60, until=lambda: race.holders) <= 5


async def test_giving_back_does_not_take_it_from_another() -> None:
    race = Race("a", "b")
    await race.run(10)
    (first,) = race.holders
    race[first].connection.cut = True
    await race.run(60)
    (second,) = race.holders
    race[first].connection.cut = False
    await race[first].election.release()

    assert race.lease["spec"]["holderIdentity"] == second
    assert second != first


async def test_a_holder_without_a_connection_stops_before_another_starts() -> None:
    race = Race("a", "b")
    await race.run(30)
    (first,) = race.holders
    race[first].connection.cut = True

    await race.run(60, until=lambda: race[first].election.standing is Standing.SUSPENDED)
    assert race.holders == []
    await race.run(60)  # `run` watches that there are never two
    assert race.holders != [first]
    race[first].connection.cut = False
    await race.run(10)
    assert race[first].election.standing is Standing.OTHER


async def test_an_hour_without_the_server_changes_no_hands() -> None:
    race = Race("a", "b")
    await race.run(30)
    (first,) = race.holders
    race.server.away = True
    await race.run(3600)
    assert race.holders == []
    assert race[first].election.standing is Standing.SUSPENDED
    # The first to come back renews; only if it comes too late does the other take over.
    race[first].next_at = race.now
    race.server.away = False
    await race.run(20)

    assert race.holders == [first]
    assert race[first].election.term == 1


async def test_a_term_is_new_after_somebody_else_had_it() -> None:
    race = Race("a", "b")
    await race.run(30)
    (first,) = race.holders
    race[first].connection.cut = True
    await race.run(40)
    (second,) = race.holders
    race[first].connection.cut = False
    await race.run(10)
    race[second].alive = False
    await race.run(40)

    assert race.holders == [first]
    assert race[first].election.term == 2
    assert race.lease["spec"]["leaseTransitions"] >= 3


async def test_an_answer_that_was_lost_loses_nothing() -> None:
    race = Race("a")
    await race.run(10)
    for _ in range(20):
        race.server.lose_answers = 1
        await race.run(5)
        assert race.holders == ["a"]
    assert race["a"].election.term == 1


async def test_a_restarted_process_of_the_same_name_need_not_wait() -> None:
    race = Race("a")
    await race.run(10)
    race.candidates["a"] = Candidate(race, "a")

    assert await race.run(10, until=lambda: race.holders) < 1


@pytest.mark.parametrize("seed", range(10))
async def test_a_deleted_lease_is_made_again_and_never_by_two(seed: int) -> None:
    race = Race("a", "b", "c", seed=seed)
    await race.run(10 + race.rng.uniform(0, 5))
    race.server.objects.clear()
    await race.run(30)

    assert len(race.holders) == 1
    assert race.lease["metadata"]["ownerReferences"] == [OWNER]


@pytest.mark.parametrize("owners", [[], [{**OWNER, "uid": "another"}]])
async def test_a_lease_of_another_owner_is_left_alone(
    owners: list[Object], caplog: pytest.LogCaptureFixture
) -> None:
    race = Race("a")
    theirs: Object = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "llama-router", "namespace": "ai", "ownerReferences": owners},
        "spec": {"holderIdentity": ""},
    }
    await race.server.create(theirs)
    await race.run(120)

    assert race.holders == []
    assert race.server.writes == [("create", "llama-router")]
    (record,) = caplog.records
    assert "a Lease of another owner has the name llama-router: rename" in record.getMessage()


async def test_a_refusal_is_said_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    race = Race("a")
    race.server.refuse = KubeError(403, "Forbidden", "leases are forbidden")
    await race.run(60)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    race.server.refuse = None
    await race.run(10)

    assert race.holders == ["a"]
    assert [r.levelname for r in caplog.records] == ["WARNING", "INFO", "INFO"]


async def test_a_steady_holder_writes_one_renewal_in_four_to_five_seconds_and_reads_nothing() -> (
    None
):
    race = Race("a")
    await race.run(1)
    del race.server.writes[:]
    await race.run(100)

    assert 20 <= len(race.server.writes) <= 26
    assert {verb for verb, _ in race.server.writes} == {"replace"}


async def test_cancelled_it_gives_the_lease_back() -> None:
    race = Race("a")
    task = asyncio.create_task(race["a"].election.run())
    while not race.holders:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert race.lease["spec"]["holderIdentity"] == ""


@given(
    seed=st.integers(0, 1000),
    script=st.lists(
        st.tuples(
            st.sampled_from(["cut", "heal", "die", "start", "away", "back", "lose"]),
            st.sampled_from(["a", "b", "c"]),
            st.floats(0, 40),
        ),
        max_size=25,
    ),
)
def test_whatever_fails_there_are_never_two_and_in_the_end_there_is_one(
    seed: int, script: list[tuple[str, str, float]]
) -> None:
    async def play() -> None:
        race = Race("a", "b", "c", seed=seed)
        for what, name, seconds in script:
            _happen(race, what, name)
            await race.run(seconds)
        for name in race.candidates:
            _happen(race, "heal", name)
            _happen(race, "start", name)
        _happen(race, "back", "a")
        await race.run(30)
        assert len(race.holders) == 1

    asyncio.run(play())


def _happen(race: Race, what: str, name: str) -> None:
    match what:
        case "cut":
            race[name].connection.cut = True
        case "heal":
            race[name].connection.cut = False
        case "die":
            race[name].alive = sum(c.alive for c in race.candidates.values()) < 2
        case "start" if not race[name].alive:
            race.candidates[name] = Candidate(race, name)
        case "away" | "back":
            race.server.away = what == "away"
        case "lose":
            race.server.lose_answers = 1
        case _:
            assert what == "start"  # of one that runs
