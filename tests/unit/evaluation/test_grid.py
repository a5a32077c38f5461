from steelyard_bench.evaluation import grid
from steelyard_bench.evaluation.cell import Group
from steelyard_bench.evaluation.source import SOURCES
from steelyard_simulator.replay.distorted import TERMS
from steelyard_simulator.replay.registry import names, parse
from steelyard_simulator.replay.scheduled import AUTO_NAME


def test_every_policy_there_is_runs_in_every_cell_of_the_comparison() -> None:
    for cell in grid.shown(grid.full(), Group.MAIN):
        assert {parse(name)[0] for name in cell.seeds} == set(names()) - {AUTO_NAME}


def test_what_bars_are_read_from_has_all_seeds() -> None:
    for cell in grid.shown(grid.full(), Group.MAIN):
        assert {cell.seeds[name] for name in (*grid.OURS, *grid.STRONG)} == {grid.SEEDS}


def test_every_coefficient_is_wrong_in_both_directions() -> None:
    wrong = {name for cell in grid.full() for name in cell.seeds if name.startswith("adaptive:")}

    assert len(wrong) == 2 * len(TERMS)
    assert {term for name in wrong for term in parse(name)[1]} == set(TERMS)


def test_tasks_have_names_of_their_own_and_sources_that_exist() -> None:
    for cells in (grid.full(), grid.quick()):
        tasks = list(grid.tasks(cells))
        assert len({task.id for task in tasks}) == len(tasks)
        assert {cell.source for cell in cells} <= SOURCES.keys()


def test_fewer_seeds_leave_the_cells_as_they_are() -> None:
    few, all_of_them = grid.full(1), grid.full()

    assert [cell.name for cell in few] == [cell.name for cell in all_of_them]
    assert {seeds for cell in few for seeds in cell.seeds.values()} == {1}
