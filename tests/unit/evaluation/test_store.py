from pathlib import Path

import orjson
import pytest

from steelyard_bench.evaluation.cell import Cell, Group, Task
from steelyard_bench.evaluation.store import Store, StoreError, load


def cell(rate: float = 1.0) -> Cell:
    return Cell("burst", Group.BURST, "burst", {"vllm": 2}, rate)


def tasks(made: Cell) -> list[Task]:
    return [Task(made, "vllm", seed) for seed in (1, 2)]


def store(path: Path, made: Cell) -> Store:
    return Store(path, path.parent, [made])


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "evaluation.json"
    first = store(path, cell())
    one, two = tasks(cell())
    first.put(one, {"cpu_s": 1.0})
    written = first.write([one, two], {"quick": True})

    again = store(path, cell())

    assert again.missing([one, two]) == [two]
    assert written == load(path)
    assert (written["missing"], written["stale"], written["quick"]) == (1, 0, True)
    assert [run["id"] for run in written["runs"]] == ["burst/vllm/1"]
    assert list(path.parent.iterdir()) == [path]


def test_other_inputs_make_it_stale_and_due_again(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    first = store(path, cell())
    first.put(tasks(cell())[0], {"cpu_s": 1.0})
    first.write(tasks(cell()), {})
    faster = cell(rate=2.0)

    again = store(path, faster)

    assert again.missing(tasks(faster)) == tasks(faster)
    written = again.write(tasks(faster), {})
    assert (written["missing"], written["stale"]) == (1, 1)


def test_a_task_that_is_no_longer_wanted_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    first = store(path, cell())
    one, two = tasks(cell())
    for task in (one, two):
        first.put(task, {"cpu_s": 1.0})

    assert [run["seed"] for run in first.write([two], {})["runs"]] == [2]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is no evaluation of this version; remove it"),
        (orjson.dumps({"format": 0}), "is no evaluation of this version; remove it"),
    ],
)
def test_a_file_that_is_something_else_is_named(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "evaluation.json"
    path.write_bytes(raw)

    with pytest.raises(StoreError, match=message):
        store(path, cell())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.json cannot be read"):
        load(tmp_path / "none.json")
