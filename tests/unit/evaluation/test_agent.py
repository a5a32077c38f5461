from itertools import pairwise

from steelyard_bench.evaluation.agent import BLOCK_TOKENS, SYSTEM_TOKENS, burst, small_agents
from steelyard_simulator.load.trace import TraceRequest


def by_session(requests: tuple[TraceRequest, ...]) -> dict[str | None, list[TraceRequest]]:
    found: dict[str | None, list[TraceRequest]] = {}
    for request in requests:
        found.setdefault(request.session, []).append(request)
    return found


def test_the_same_trace_is_made_every_time_in_the_order_of_arrival() -> None:
    trace = small_agents(span_s=20.0)

    assert trace.requests == small_agents(span_s=20.0).requests
    times = [request.at_s for request in trace.requests]
    assert times == sorted(times)
    assert len(times) > 100


def test_blocks_never_cover_more_than_the_prompt() -> None:
    for request in small_agents(span_s=20.0).requests:
        assert len(list(request.block_ids())) * BLOCK_TOKENS <= request.input_tokens


def test_a_step_extends_the_prompt_of_the_step_before() -> None:
    sessions = by_session(small_agents(span_s=20.0).requests)

    assert any(len(steps) > 1 for steps in sessions.values())
    for steps in sessions.values():
        for before, after in pairwise(steps):
            held = list(before.block_ids())
            assert list(after.block_ids())[: len(held)] == held
            assert after.input_tokens > before.input_tokens + before.output_tokens


def test_calls_of_one_kind_share_their_system_prompt_and_nothing_else() -> None:
    first = [steps[0] for steps in by_session(small_agents(span_s=20.0).requests).values()]

    shared = {request.blocks[0] for request in first}
    own = [request.blocks[1].start for request in first]

    assert len(shared) <= len(SYSTEM_TOKENS)
    assert {len(blocks) * BLOCK_TOKENS for blocks in shared} <= set(SYSTEM_TOKENS)
    assert len(set(own)) == len(own)


def test_a_burst_is_equal_requests_at_once() -> None:
    trace = burst(5, 640, 3)

    assert len(trace.requests) == 5
    assert len(set(trace.requests)) == 1
    assert list(trace.requests[0].block_ids()) == list(range(10))
