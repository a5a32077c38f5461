"""When requests leave: by the clock, or by the reply before them."""

import asyncio
import time

import pytest

from steelyard_simulator.load.client import Call
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.prompt import PromptWriter
from steelyard_simulator.load.replay import Replay
from steelyard_simulator.load.trace import TraceRequest

REPLY_S = 0.05
EARLY_S = 0.002
"""Timers may fire this much before their time."""


class FakeSender:
    """Answers everything after REPLY_S; logs (input_tokens, sent, replied) in replay time."""

    def __init__(self) -> None:
        self.log: list[tuple[int, float, float]] = []
        self.in_flight = 0
        self.most_in_flight = 0

    async def send(self, call: Call, *, origin_s: float) -> Measurement:
        sent_s = time.monotonic() - origin_s
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(REPLY_S)
        finally:
            self.in_flight -= 1
        self.log.append((call.input_tokens, sent_s, time.monotonic() - origin_s))
        return Measurement(
            at_s=sent_s,
            lag_s=sent_s - call.planned_s,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
        )

    def sent(self, tokens: int) -> float:
        return next(sent_s for found, sent_s, _ in self.log if found == tokens)

    def replied(self, tokens: int) -> float:
        return next(replied_s for found, _, replied_s in self.log if found == tokens)


def asked(
    tokens: int, at_s: float = 0.0, *, follows: int | None = None, think_s: float = 0.0
) -> TraceRequest:
    return TraceRequest(
        at_s=at_s, input_tokens=tokens, output_tokens=1, follows=follows, think_s=think_s
    )


def replay_of(
    sender: FakeSender,
    *requests: TraceRequest,
    done: list[Measurement] | None = None,
    concurrency: int | None = None,
) -> Replay:
    on_done = (done if done is not None else []).append
    writer = PromptWriter(block_tokens=512)
    return Replay(sender, writer, requests, on_done, concurrency=concurrency)


async def test_open_loop_sends_by_the_clock_whatever_is_still_running() -> None:
    sender = FakeSender()
    done: list[Measurement] = []

    await replay_of(sender, asked(2, 0.01), asked(1, 0.0), asked(3, 0.01), done=done).open_loop()

    assert sender.sent(1) < 0.05
    assert 0.01 - EARLY_S <= sender.sent(2) < sender.replied(1)
    assert sender.most_in_flight == 3
    assert len(done) == 3


async def test_a_concurrency_cap_holds_requests_back_and_shows_as_lateness() -> None:
    sender = FakeSender()
    done: list[Measurement] = []

    await replay_of(sender, *map(asked, range(1, 5)), done=done, concurrency=2).open_loop()

    assert sender.most_in_flight == 2
    assert sum(m.lag_s >= REPLY_S - EARLY_S for m in done) == 2


async def test_closed_loop_waits_for_the_reply_and_then_thinks() -> None:
    sender = FakeSender()
    requests = asked(1), asked(2, follows=0, think_s=0.03), asked(3, follows=1)

    await replay_of(sender, *requests).closed_loop(users=4)

    assert sender.sent(2) >= sender.replied(1) + 0.03 - EARLY_S
    assert sender.sent(3) >= sender.replied(2)
    assert sender.most_in_flight == 1


async def test_requests_that_wait_for_one_reply_run_side_by_side() -> None:
    sender = FakeSender()

    await replay_of(sender, asked(1), asked(2, follows=0), asked(3, follows=0)).closed_loop(users=1)

    assert sender.most_in_flight == 2
    assert min(sender.sent(2), sender.sent(3)) >= sender.replied(1)


async def test_a_user_begins_a_session_when_the_last_one_is_over() -> None:
    sender = FakeSender()
    requests = asked(1), asked(2, follows=0), asked(3), asked(4), asked(5, follows=3)

    await replay_of(sender, *requests).closed_loop(users=2)

    assert sender.most_in_flight == 2
    assert len(sender.log) == 5
    assert sender.sent(4) >= min(sender.replied(2), sender.replied(3))


async def test_what_was_measured_before_a_cancellation_is_not_lost() -> None:
    sender = FakeSender()
    done: list[Measurement] = []
    replay = replay_of(sender, asked(1), asked(2, 30.0), done=done)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(replay.open_loop(), 4 * REPLY_S)

    assert [m.input_tokens for m in done] == [1]
    assert sender.in_flight == 0
