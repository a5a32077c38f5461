"""The loads that the cells describe."""

import orjson
import pytest

from steelyard_bench.wire.cell import BODIES, CELLS, GROUPS, Cell, prompts
from steelyard_bench.wire.reply import wish


def test_the_cells_are_those_of_the_report() -> None:
    assert [cell.name for cell in CELLS] == [
        "plain-c1",
        "plain-c32",
        "stream-c1",
        "stream-c32",
        "paced-100",
        "plain-32kB",
    ]


@pytest.mark.parametrize("size", [1024, 32 * 1024])
def test_prompts_have_their_size_and_differ_after_a_shared_half(size: int) -> None:
    texts = prompts(BODIES, size)

    assert {len(text) for text in texts} == {size}
    assert len(set(texts)) == BODIES
    first, second = texts[0], texts[GROUPS]
    assert first[: size // 2] == second[: size // 2]
    assert first[: size // 2 + 32] != second[: size // 2 + 32]
    assert texts[0][:32] != texts[1][:32]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_requests_ask_for_what_the_cell_says(cell: Cell) -> None:
    for request in cell.requests():
        asked = wish(request.body)
        assert asked is not None
        assert asked.tokens == request.tokens
        assert cell.tokens[0] <= request.tokens <= cell.tokens[1]
        assert asked.streams == cell.streams
        assert asked.pace_s == cell.pace_ms / 1000
        assert b"\n" not in request.body  # wrk reads them line by line


def test_requests_are_the_same_each_time() -> None:
    assert CELLS[4].requests() == CELLS[4].requests()
    assert len({orjson.loads(r.body)["max_tokens"] for r in CELLS[4].requests()}) > 10
