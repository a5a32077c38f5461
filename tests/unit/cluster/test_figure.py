"""The figures of a service come from the sum of its replicas, never from their figures."""

import json

import pytest

from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.alerts.window import STATUS_WINDOW_S, Windows
from steelyard_router.cluster.merge import Others
from steelyard_router.cluster.replica import Replica
from steelyard_router.config import Policy, Targets, Workload

POLICY = Policy(
    workloads=(Workload(name="chat", default=True, slo=Targets(ttft_ms=500)), Workload(name="code"))
)
NOW = 10.0


def windows(scores: dict[float, int], *, met: int, missed: int) -> Windows:
    """So many requests of each score; so many that met their targets."""
    made = Windows(POLICY)
    for score, count in scores.items():
        for _ in range(count):
            made.record("chat", "Score", score, NOW)
    for number in range(met + missed):
        made.met("chat", ok=number < met, now=NOW)
    return made


def told(of: Windows) -> Measured:
    """As it comes over the wire."""
    said = json.loads(json.dumps(Measured.of(POLICY, of, NOW).to_dict()))
    return Measured.from_dict(said)


def together(own: Windows, *others: Windows, now: float = NOW) -> ServiceFigures:
    known = Others()
    names = [f"r{number}" for number in range(len(others))]
    known.follow([Replica(name, name, ready=True) for name in names], NOW, keep_s=STATUS_WINDOW_S)
    for name, other in zip(names, others, strict=True):
        known.heard(name, told(other), NOW)
    source = known.merged(told(own), now)
    return ServiceFigures(source, source.replicas(STATUS_WINDOW_S), POLICY.workloads)


QUIET = windows({100.0: 8, 9000.0: 2}, met=1, missed=9)
BUSY = windows({100.0: 990}, met=990, missed=0)


def test_the_p95_is_that_of_all_requests() -> None:
    """The slow two are a fifth of one replica's requests and 0.2 % of the service's."""
    alone = [together(one).score("chat", NOW) for one in (QUIET, BUSY)]
    both = together(QUIET, BUSY).score("chat", NOW)

    p95s = [score["p95"] for score in alone if score is not None]
    assert p95s == [pytest.approx(9000, rel=0.02), pytest.approx(100, rel=0.02)]
    assert both is not None
    assert both["p95"] == pytest.approx(100, rel=0.02)  # their mean would be 4,550
    assert both["count"] == 1000
    assert both["mean"] == pytest.approx((998 * 100 + 2 * 9000) / 1000)
    assert set(both) == {"count", "mean", "p50", "p95", "p99"}


def test_attainment_weighs_requests_not_replicas() -> None:
    alone = [together(one).attainment_percent("chat", NOW) for one in (QUIET, BUSY)]

    assert alone == [pytest.approx(10), pytest.approx(100)]
    assert together(QUIET, BUSY).attainment_percent("chat", NOW) == pytest.approx(99.1)


def test_who_adds_up_does_not_matter() -> None:
    one, other = together(QUIET, BUSY), together(BUSY, QUIET)

    assert one.score("chat", NOW) == other.score("chat", NOW)
    assert (one.replicas, other.replicas) == (2, 2)


def test_a_workload_without_requests_is_known_to_have_none() -> None:
    found = together(QUIET, BUSY)

    assert found.attainment_percent("code", NOW) is None
    assert (found.score("code", NOW) or {})["count"] == 0


def test_while_a_replica_is_out_of_reach_for_too_long_nothing_is_known() -> None:
    late = NOW + STATUS_WINDOW_S

    assert together(QUIET, BUSY, now=late).attainment_percent("chat", late) == pytest.approx(99.1)
    gone = together(QUIET, BUSY, now=late + 1)
    assert gone.score("chat", late + 1) is None
    assert gone.attainment_percent("chat", late + 1) is None
    assert gone.replicas == 1
