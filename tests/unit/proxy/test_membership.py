"""Joins and leaves of configured and found endpoints, and who is the last resort."""

import math

import pytest

from steelyard_router.config import Breaker, Endpoint, Health
from steelyard_router.discovery.found import Found
from steelyard_router.proxy.membership import Membership
from steelyard_router.proxy.roster import Roster
from steelyard_router.scheduling.refusal import NoCandidate
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy.least_request import LeastRequest

BLOCKS = bytes(range(32))
"""Four of them."""


class Site:
    """A membership with a scheduler."""

    def __init__(self) -> None:
        self.now = 0.0
        self.scheduler = Scheduler(index_bytes=1 << 20)
        self.roster = Roster(Breaker(), Health(failures=1), on_limit=self.scheduler.limit)
        self.membership = Membership(self.roster, self.scheduler, {}, 4, {})

    def find(self, *found: Found) -> None:
        self.membership.find(found, self.now)

    def probe(self, instance: str, *, ok: bool) -> None:
        self.roster.probed(self.roster[instance], ok=ok, now=self.now)

    def choose(self) -> Decision:
        request = RequestView(blocks=BLOCKS, prompt_tokens=400)
        return self.scheduler.choose(request, LeastRequest(), self.now)

    def usable(self) -> list[str]:
        limits = {load.instance: load.limit for load in self.scheduler.snapshot(self.now)}
        return [name for name in limits if limits[name] > 0]

    def blocks(self, instance: str) -> int:
        (load,) = [load for load in self.scheduler.snapshot(self.now) if load.instance == instance]
        return load.index_blocks


@pytest.fixture
def site() -> Site:
    return Site()


def engine(name: str, *, ready: bool = True, uid: str = "u", port: int = 1) -> Found:
    return Found(Endpoint(id=name, url=f"http://{name}:{port}"), ready, uid)


def test_found_and_configured_endpoints_serve_side_by_side(site: Site) -> None:
    site.membership.configure([Endpoint(id="own", url="http://own:1")], 0)
    site.find(engine("a"), engine("b"))

    assert site.usable() == ["own", "a", "b"]
    site.membership.configure([], 1)
    assert site.usable() == ["a", "b"]
    site.find()
    assert site.usable() == []


def test_a_configured_endpoint_goes_before_a_found_one_of_its_name(site: Site) -> None:
    site.membership.configure([Endpoint(id="a", url="http://own:1")], 0)
    site.find(engine("a", ready=False))

    assert site.roster["a"].host == "own"
    assert site.usable() == ["a"]


def test_one_that_is_not_ready_gets_nothing_while_another_is(site: Site) -> None:
    site.find(engine("a"), engine("b", ready=False))
    site.probe("b", ok=True)

    assert site.usable() == ["a"]
    assert {site.choose().instance for _ in range(5)} == {"a"}


def test_when_none_is_ready_those_that_our_probes_reach_are_the_last_resort(site: Site) -> None:
    site.find(engine("a"), engine("b"), engine("c"))
    site.probe("a", ok=True)
    site.probe("b", ok=False)

    site.find(engine("a", ready=False), engine("b", ready=False), engine("c", ready=False))

    assert site.usable() == ["a"]  # b fails its probes, c was never reached
    site.probe("c", ok=True)
    assert site.usable() == ["a", "c"]
    site.find(engine("a", ready=False), engine("b"), engine("c", ready=False))
    assert site.usable() == []  # b is ready and yet fails our probes: not a loss of sight
    site.probe("b", ok=True)
    assert site.usable() == ["b"]


def test_a_new_engine_that_is_not_ready_waits_for_our_own_probe(site: Site) -> None:
    site.find(engine("a", ready=False))

    assert site.usable() == []
    with pytest.raises(NoCandidate):
        site.choose()
    site.probe("a", ok=True)
    assert site.choose().instance == "a"


def test_one_on_its_way_out_gets_nothing_new_and_keeps_what_it_runs(site: Site) -> None:
    site.find(engine("a"))
    decision = site.choose()
    site.find()

    with pytest.raises(NoCandidate):
        site.choose()
    site.membership.tick(1)
    assert list(site.membership.leaving) == ["a"]
    decision.lease.release(2)
    site.membership.tick(3)
    assert not site.membership.leaving
    assert not site.scheduler.snapshot(3)
    assert site.scheduler.index.holder_count == 0


@pytest.mark.parametrize(
    ("story", "polled", "kept"),
    [
        ([engine("a")], False, True),
        ([engine("a", ready=False)], False, True),
        ([engine("a", ready=False), engine("a")], False, False),
        ([engine("a", ready=False), engine("a")], True, True),  # its counters will tell
        ([engine("a", uid="v")], True, False),  # another pod under the same name and address
        ([engine("a", port=2)], True, False),
    ],
)
def test_an_engine_that_began_anew_holds_no_prefix(
    site: Site, story: list[Found], polled: bool, kept: bool
) -> None:
    site.find(engine("a"))
    site.choose().lease.release(0)
    assert site.blocks("a") == 4
    site.roster["a"].polled = polled

    for step in story:
        site.find(step)

    assert (site.blocks("a") == 4) is kept


def test_a_hundred_changes_leave_nothing_behind(site: Site) -> None:
    for number in range(100):
        site.find(engine(f"e{number}"), engine(f"e{number + 1}"))
        site.choose().lease.release(number)
        site.membership.tick(number)

    assert len(site.scheduler.snapshot(100)) == 2
    assert len(site.membership.pools) == 2
    assert all(limit == math.inf for limit in (member.limit for member in site.roster))
