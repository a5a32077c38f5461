from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.engine.decode import DecodeBatch
from steelyard_simulator.engine.job import Job, Sequence

SIZES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=8)


def batch_of(block_tokens: int, sizes: list[tuple[int, int]]) -> DecodeBatch:
    """Sequences of (prompt tokens, steps before the next one joins), each with 100 tokens to go."""
    batch = DecodeBatch(block_tokens)
    for order, (prompt, pause) in enumerate(sizes):
        sequence = Sequence(Job(str(order), prompt, 101), order)
        sequence.generated = 1
        batch.join(sequence)
        batch.step(pause)
    return batch


@given(st.integers(1, 7), SIZES, st.integers(0, 20), st.integers(0, 20))
def test_block_demand_counts_each_crossing_of_a_block_boundary(
    block_tokens: int, sizes: list[tuple[int, int]], start: int, count: int
) -> None:
    batch = batch_of(block_tokens, sizes)
    expected = 0
    for sequence in batch.members.values():
        context = sequence.job.prompt_tokens + batch.generated(sequence)
        # Step k computes the token at position context - 1 + k: a new block when that begins one.
        expected += sum(
            (context - 1 + step) % block_tokens == 0 for step in range(start, start + count)
        )

    assert batch.blocks_needed(start, start + count) == expected


@given(st.integers(1, 7), SIZES)
def test_members_finish_after_the_tokens_they_asked_for(
    block_tokens: int, sizes: list[tuple[int, int]]
) -> None:
    batch = batch_of(block_tokens, sizes)
    done: list[Sequence] = []
    while len(batch):
        done += batch.step(batch.steps_to_finish())

    assert all(sequence.generated == 101 for sequence in done)
    assert len(done) == len(sizes)
    assert batch.context_tokens == 0
    assert batch.blocks_needed(0, 50) == 0


def test_who_left_and_came_back_does_not_finish_at_the_old_time() -> None:
    batch = DecodeBatch(16)
    sequence = Sequence(Job("a", 10, 5), 0)
    sequence.generated = 1
    batch.join(sequence)
    batch.step(2)
    batch.leave(sequence)
    batch.step(7)
    batch.join(sequence)

    assert sequence.generated == 3
    assert batch.steps_to_finish() == 2
