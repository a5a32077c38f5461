from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.server.clock import ScaledClock
from steelyard_simulator.server.text import PERIOD, TOKEN_BYTES, OutputText
from steelyard_simulator.server.tokenizer import (
    block_hashes,
    count_tokens,
    render_chat,
    render_ids,
    token_ids,
)

MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant", "tool"]),
            "content": st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
        }
    ),
    min_size=1,
    max_size=5,
)


@given(st.integers(0, 2**64), st.integers(0, 9000), st.integers(1, 9000), st.integers(1, 50))
def test_an_answer_read_in_pieces_is_the_answer(
    offset: int, start: int, first: int, second: int
) -> None:
    text = OutputText(seed=3)
    middle, stop = start + first, start + first + second
    whole = text.read(offset, start, stop)

    assert text.read(offset, start, middle) + text.read(offset, middle, stop) == whole
    assert len(whole) == (first + second) * TOKEN_BYTES
    assert text.read(offset + PERIOD, start, stop) == whole


@given(MESSAGES, st.integers(1, 30))
def test_the_next_turn_begins_with_the_prompt_and_the_answer(
    messages: list[dict[str, str]], tokens: int
) -> None:
    prompt = render_chat(messages)
    answer = OutputText(seed=0).read(0, 0, tokens)
    said = {"role": "assistant", "content": answer.decode()}
    following = render_chat([*messages, said, {"role": "user", "content": "go on"}])

    assert following.startswith(prompt + answer)
    assert len(prompt) % TOKEN_BYTES == 0


@given(st.binary(max_size=400), st.integers(0, 400))
def test_block_hashes_are_equal_as_far_as_the_text_is(text: bytes, cut: int) -> None:
    changed = text[:cut] + b"!" + text[cut:]
    left = block_hashes(text, 4, namespace="m")
    right = block_hashes(changed, 4, namespace="m")
    same = next((i for i, (a, b) in enumerate(zip(text, changed, strict=False)) if a != b), None)
    common = len(text) if same is None else same

    assert left[: common // 16] == right[: common // 16]
    if same is not None and same // 16 < len(left):
        # Chained: past the first difference nothing is equal again.
        assert not set(left[same // 16 :]) & set(right[same // 16 :])
    assert not set(left) & set(block_hashes(text, 4, namespace="other"))


def test_tokens_are_four_bytes_each_and_the_last_may_be_short() -> None:
    assert [count_tokens(b"x" * size) for size in (0, 1, 4, 5, 8)] == [1, 1, 1, 2, 2]
    assert len(token_ids(b"x" * 9)) == 3
    assert count_tokens(render_ids([1, 2, 2**40])) == 3


def test_a_clock_changes_its_pace_without_a_jump() -> None:
    wall = [100.0]
    clock = ScaledClock(lambda: wall[0], speed=10.0)
    wall[0] += 2.0
    assert clock.now() == 20.0
    assert clock.wall_until(35.0) == 1.5

    clock.set_speed(0.0)
    wall[0] += 60.0
    assert clock.now() == 20.0
    assert clock.wall_until(35.0) == float("inf")
    assert clock.wall_until(20.0) == 0.0

    clock.set_speed(2.0)
    wall[0] += 5.0
    assert clock.now() == 30.0
