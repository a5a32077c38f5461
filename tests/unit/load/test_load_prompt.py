"""Prompts rebuilt from block ids share exactly the text that their ids say they share."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.load.prompt import WORDS, PromptWriter
from steelyard_simulator.load.trace import TraceRequest, to_ranges

BLOCK = 16
BLOCK_BYTES = 4 * BLOCK


def request(ids: list[int], tokens: int, scope: str = "") -> TraceRequest:
    return TraceRequest(
        at_s=0, input_tokens=tokens, output_tokens=1, blocks=to_ranges(ids), scope=scope
    )


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common head."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def test_the_vocabulary_has_one_word_of_three_letters_for_every_value_of_a_byte() -> None:
    words = WORDS.split()

    assert len(set(words)) == len(words) == 256
    assert {len(word) for word in words} == {3}


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 200))
def test_a_prompt_has_four_bytes_for_every_token(ids: list[int], more: int) -> None:
    tokens = max(0, BLOCK * len(ids) - BLOCK + 1) + more

    text = PromptWriter(block_tokens=BLOCK).write(request(ids, tokens), 0)

    assert len(text) == 4 * tokens
    assert text.isascii()


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_two_prompts_share_text_as_far_as_they_share_ids(one: list[int], other: list[int]) -> None:
    writer = PromptWriter(block_tokens=BLOCK)
    same = common(one, other)

    first = writer.write(request(one, BLOCK * len(one)), 0)
    second = writer.write(request(other, BLOCK * len(other)), 1)

    assert common(first, second) // BLOCK_BYTES == same


def test_a_partial_last_block_is_the_head_of_the_whole_one() -> None:
    writer = PromptWriter(block_tokens=BLOCK)

    part = writer.write(request([1, 2], BLOCK + 5), 0)
    whole = writer.write(request([1, 2], 2 * BLOCK), 1)

    assert whole.startswith(part)
    assert len(part) == 4 * (BLOCK + 5)


def test_what_no_id_covers_is_unique_to_its_request() -> None:
    writer = PromptWriter(block_tokens=BLOCK)

    assert common(*(writer.write(request([], 40), number) for number in (0, 1))) < 16


def test_equal_ids_of_different_scopes_are_different_text() -> None:
    writer = PromptWriter(block_tokens=BLOCK)

    assert common(*(writer.write(request([1], BLOCK, s), 0) for s in ("a", "b"))) < 16


def test_the_same_seed_writes_the_same_bytes_and_another_seed_others() -> None:
    texts = [
        PromptWriter(seed=seed, block_tokens=BLOCK).write(request([1], BLOCK), 0)
        for seed in (1, 1, 2)
    ]

    assert texts[0] == texts[1] != texts[2]
