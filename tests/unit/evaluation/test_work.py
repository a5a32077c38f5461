from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steelyard_bench.evaluation.cell import Cell, Group, Task
from steelyard_bench.evaluation.work import WANTED, perform, smallest
from steelyard_router.scheduling.request import SLO

NOWHERE = Path("nowhere")
"""A made trace needs no folder."""


@given(least=st.integers(1, 40), more=st.integers(0, 100), enough=st.integers(1, 140))
def test_the_smallest_fleet_that_is_enough_is_found_in_a_few_looks(
    least: int, more: int, enough: int
) -> None:
    most = least + more

    found = smallest(lambda size: 1.0 if size >= enough else 0.5, least, most)

    assert found.instances == (None if enough > most else max(least, enough))
    assert len(found.probes) <= 10


def test_a_share_of_exactly_what_is_wanted_is_enough() -> None:
    assert smallest(lambda size: WANTED if size == 4 else 0.0, 4, 4).instances == 4


def burst_cell(group: Group, *, told: bool = False, curves: bool = False) -> Cell:
    slo = SLO(ttft_s=100.0, tpot_s=1.0)
    policies = {"multiplicative": 1}
    return Cell("cell", group, "burst", policies, instances=8, slo=slo, told=told, curves=curves)


def test_a_run_tells_how_evenly_it_was_placed_and_how_many_met_the_targets() -> None:
    task = Task(burst_cell(Group.MAIN, curves=True), "multiplicative", 1)

    record = perform(task, NOWHERE)

    assert record["requests"] == 1000
    assert record["requests_by_instance"] == {"least": 125, "most": 125}
    assert record["attainment"] == 1.0
    curves = record["curves"]
    assert isinstance(curves, dict)
    assert curves["ttft_ms"] == sorted(curves["ttft_ms"])


def test_a_search_ends_with_the_size_and_what_each_size_attained() -> None:
    task = Task(burst_cell(Group.CAPACITY, told=True), "multiplicative", 1)

    record = perform(task, NOWHERE)

    needed, probes = record["instances_needed"], record["probes"]
    assert isinstance(needed, int)
    assert isinstance(probes, dict)
    assert probes[str(needed)] >= WANTED
    assert probes.get(str(needed - 1), 0.0) < WANTED
