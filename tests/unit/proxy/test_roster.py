"""Members, and the one number per member that the scheduler is told."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router import config
from steelyard_router.errors import ConfigError
from steelyard_router.proxy.breaker import BreakerState
from steelyard_router.proxy.roster import Roster

BREAKER = config.Breaker(failures=3, open_s=5, ramp_s=10)
HEALTH = config.Health(failures=3, successes=2)


class Limits(dict[str, float]):
    """What the scheduler was told last, and how often it was told."""

    told = 0

    def __call__(self, instance: str, limit: float) -> None:
        self[instance] = limit
        self.told += 1


def endpoint(name: str, **fields: object) -> config.Endpoint:
    return config.Endpoint.model_validate({"id": name, "url": f"http://{name}:8000", **fields})


def roster_of(*names: str) -> tuple[Roster, Limits]:
    limits = Limits()
    roster = Roster(BREAKER, HEALTH, on_limit=limits)
    roster.apply([endpoint(name) for name in names], now=0)
    return roster, limits


def ids(members: object) -> list[str]:
    assert isinstance(members, tuple)
    return [member.id for member in members]


def test_a_member_knows_where_it_is() -> None:
    roster, _ = roster_of()
    roster.apply(
        [endpoint("a"), endpoint("b", url="http://[::1]/"), endpoint("c", url="http://u:p@Host:1")],
        now=7,
    )

    assert [(m.host, m.port, m.authority) for m in roster] == [
        ("a", 8000, b"a:8000"),
        ("::1", 80, b"[::1]"),
        ("host", 1, b"Host:1"),
    ]
    assert roster["a"].last_byte_at == 7


def test_a_member_that_was_not_probed_yet_is_usable() -> None:
    roster, limits = roster_of("a", "b")
    roster.refresh(0)

    assert roster.usable(0) == 2
    assert limits == {}, "nothing to tell: a joined instance is free"


def test_apply_tells_who_joined_left_and_changed() -> None:
    roster, _ = roster_of("a", "b", "c")
    version = roster.version
    changes = roster.apply([endpoint("a"), endpoint("b", cache_tokens=5), endpoint("d")], now=1)

    assert ids(changes.joined) == ["d"]
    assert ids(changes.left) == ["c"]
    assert ids(changes.changed) == ["b"]
    assert roster["b"].endpoint.cache_tokens == 5
    assert [member.id for member in roster] == ["a", "b", "d"]
    assert roster.version > version


def test_applying_the_same_endpoints_changes_nothing() -> None:
    roster, _ = roster_of("a", "b")
    member, version = roster["a"], roster.version
    changes = roster.apply([endpoint("a"), endpoint("b")], now=1)

    assert (changes.joined, changes.left, changes.changed) == ((), (), ())
    assert roster["a"] is member
    assert roster.version == version


def test_another_url_is_another_server() -> None:
    roster, _ = roster_of("a")
    old = roster["a"]
    roster.probed(old, ok=True, now=1)
    changes = roster.apply([endpoint("a", url="http://elsewhere:1")], now=1)

    assert ids(changes.left) == ids(changes.joined) == ["a"]
    assert roster["a"] is not old
    assert roster["a"].healthy is None
    assert old.draining


@pytest.mark.parametrize("url", ["http://a:99999", "http://a:port", "http://:80", "http://[::1"])
def test_a_url_that_cannot_be_used_is_refused_before_anything_changes(url: str) -> None:
    roster, _ = roster_of("a")

    with pytest.raises(ConfigError, match="endpoint b"):
        roster.apply([endpoint("b").model_copy(update={"url": url})], now=1)

    assert [member.id for member in roster] == ["a"]
    assert not roster["a"].draining


def test_failed_probes_in_a_row_close_a_member_and_good_ones_reopen_it() -> None:
    roster, limits = roster_of("a", "b")
    member = roster["a"]
    for ok in (True, True, False, False, True, False, False):
        roster.probed(member, ok=ok, now=1)
    assert member.healthy
    assert limits == {}

    roster.probed(member, ok=False, now=1)
    assert limits == {"a": 0}
    assert roster.usable(1) == 1

    roster.probed(member, ok=True, now=2)
    assert limits == {"a": 0}
    roster.probed(member, ok=True, now=2)

    assert limits == {"a": math.inf}


def test_a_member_that_never_answered_is_closed_after_the_same_number_of_probes() -> None:
    roster, limits = roster_of("a")
    for ok in (False, False, True, False, False, False):
        roster.probed(roster["a"], ok=ok, now=1)

    assert limits == {"a": 0}


def test_an_open_breaker_closes_the_member_for_new_requests_at_once() -> None:
    roster, limits = roster_of("a", "b")
    for _ in range(3):
        roster.failed(roster["a"], begun=0, now=1)

    assert limits == {"a": 0}
    assert roster.refresh(1), "it has to be looked at again"


def test_ticks_bring_a_member_back_by_a_trial_and_a_slow_return() -> None:
    roster, limits = roster_of("a")
    member = roster["a"]
    for _ in range(3):
        roster.failed(member, begun=0, now=1)
    roster.refresh(6)
    assert limits["a"] == 1

    roster.succeeded(member, begun=6, now=7)
    assert limits["a"] == 2
    assert roster.refresh(12)
    assert 2 < limits["a"] < math.inf

    assert not roster.refresh(17), "all is quiet: no tick is needed"
    assert limits["a"] == math.inf


def test_good_requests_tell_the_scheduler_nothing() -> None:
    roster, limits = roster_of("a")
    for now in range(100):
        roster.succeeded(roster["a"], begun=now, now=now)
        roster.refresh(now)

    assert limits.told == 0


def test_draining_gives_a_member_nothing_new() -> None:
    roster, limits = roster_of("a", "b")
    roster.drain("a", now=1)
    roster.drain("unknown", now=1)

    assert limits == {"a": 0}
    assert roster.usable(1) == 1


def test_results_of_a_member_that_left_do_not_touch_its_successor() -> None:
    roster, limits = roster_of("a")
    old = roster["a"]
    roster.apply([endpoint("a", url="http://elsewhere:1")], now=1)
    for _ in range(3):
        roster.failed(old, begun=0, now=2)

    assert limits == {}
    assert roster["a"].breaker.state(2) is BreakerState.CLOSED


def test_new_settings_hold_for_members_that_are_there() -> None:
    roster, limits = roster_of("a")
    roster.update(config.Breaker(failures=1), config.Health(failures=1), now=1)
    roster.failed(roster["a"], begun=0, now=1)

    assert limits == {"a": 0}


def test_models_are_learned_unless_the_endpoint_names_them() -> None:
    roster, _ = roster_of("a")
    roster.apply([endpoint("a"), endpoint("b", models=("given",))], now=1)
    cards = ({"id": "m", "max_model_len": 5},)
    version = roster.version
    roster.learned(roster["a"], cards)
    roster.learned(roster["b"], cards)

    assert roster["a"].models == frozenset({"m"})
    assert roster["b"].models == frozenset({"given"})
    assert roster.version > version
    version = roster.version
    roster.learned(roster["a"], ({"id": "m", "max_model_len": 5},))
    assert roster.version == version


def test_edited_models_are_taken_over_without_a_new_member() -> None:
    roster, _ = roster_of("a")
    member = roster["a"]
    roster.learned(member, ({"id": "m"},))
    roster.apply([endpoint("a", models=("x", "y"))], now=1)
    assert member.models == frozenset({"x", "y"})

    roster.apply([endpoint("a")], now=2)

    assert roster["a"] is member
    assert member.models is None


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["ok", "bad", "up", "down", "tick"])),
        max_size=80,
    )
)
def test_the_scheduler_always_knows_the_limit_in_force(steps: list[tuple[str, str]]) -> None:
    roster, limits = roster_of("a", "b", "c")
    now = 0.0
    for name, step in steps:
        now += 0.7
        member = roster[name]
        match step:
            case "ok":
                roster.succeeded(member, begun=now, now=now)
            case "bad":
                roster.failed(member, begun=now, now=now)
            case "up" | "down":
                roster.probed(member, ok=step == "up", now=now)
            case _:
                roster.refresh(now)

        if step in {"ok", "bad"}:  # time alone moves limits too; after it, `refresh` has to come
            assert limits.get(name, math.inf) == roster.effective_limit(member, now)
    roster.refresh(now)
    assert all(limits.get(m.id, math.inf) == roster.effective_limit(m, now) for m in roster)
