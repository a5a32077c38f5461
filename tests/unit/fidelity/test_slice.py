from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fidelity_case import request

from steelyard_bench.fidelity.slice import Scale, longer, reuse, scaled
from steelyard_simulator.load.trace import Trace, TraceRequest

ALL = Scale(share=1.0, turns=1, prompt=16, reply=8, longest=10_000, blocks=2, speed=10.0)


def trace(*requests: TraceRequest) -> Trace:
    return Trace(Path("made"), "made", requests)


def common(one: TraceRequest, other: TraceRequest) -> int:
    """Blocks that both begin with."""
    pairs = list(zip(one.block_ids(), other.block_ids(), strict=False))
    return next((place for place, (a, b) in enumerate(pairs) if a != b), len(pairs))


def test_lengths_shrink_and_blocks_are_joined() -> None:
    asked = request(5.0, range(5), 5 * 512 - 100, output=20)

    (small,) = scaled(trace(asked), ALL)

    assert (small.at_s, small.input_tokens, small.output_tokens) == (0.0, 154, 3)
    assert list(small.block_ids()) == [1, 3, 4]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 512))
def test_a_joined_block_is_shared_where_all_of_its_parts_are(sizes: list[int], last: int) -> None:
    # one conversation, each turn of which begins with a part of the first one's prompt
    first = list(range(40))
    turns = [first[:size] + list(range(1000 * size, 1000 * size + 4)) for size in sizes]
    asked = [
        request(float(place), ids, 512 * (len(ids) - 1) + last)
        for place, ids in enumerate([first, *turns])
    ]

    small = scaled(trace(*asked), ALL)

    assert len(small) == len(asked)
    for before, after in zip(asked, small, strict=True):
        assert len(list(after.block_ids())) == -(-after.input_tokens // 64)
        # of whole blocks: one that is not full may have any name
        whole = after.input_tokens // 64
        assert min(common(small[0], after), whole) == min(common(asked[0], before) // 2, whole)


def test_conversations_are_drawn_whole_and_in_time() -> None:
    asked = [
        request(float(turn * 100 + number), [0, number, turn], 1500)
        for turn in range(3)
        for number in range(1, 60)
    ]
    half = Scale(share=0.5, turns=2, prompt=16, reply=8, longest=10_000, blocks=1, speed=10.0)

    small = scaled(trace(*asked), half)

    drawn = [list(one.block_ids())[1] for one in small]
    assert 15 < len(set(drawn)) < 45
    assert all(drawn.count(number) == 3 for number in drawn)
    assert [one.at_s for one in small] == sorted(one.at_s for one in small)
    assert small[-1].at_s <= 25.9
    assert scaled(trace(*asked), half) == small


def test_short_conversations_and_long_prompts_are_left_out() -> None:
    asked = [request(0.0, [0, 1], 800), request(1.0, [0, 2], 800), request(2.0, [0, 2], 900)]
    many = Scale(share=1.0, turns=2, prompt=1, reply=1, longest=850, blocks=1, speed=1.0)

    assert [one.input_tokens for one in scaled(trace(*asked), many)] == [800]


def test_reuse_counts_what_one_cache_would_hold() -> None:
    asked = [request(0.0, [1, 2], 128), request(1.0, [1, 2, 3], 192), request(2.0, [1, 9], 128)]

    # of the second two blocks, of the third one
    assert reuse(asked, 64) == pytest.approx(192 / 448)
    # a prompt that is all there has its last token computed, and so its last block
    assert reuse([asked[0], asked[0]], 64) == pytest.approx(64 / 256)


def test_the_chat_template_makes_prompts_longer() -> None:
    assert [one.input_tokens for one in longer([request(0.0, [1], 60)], 4)] == [64]
