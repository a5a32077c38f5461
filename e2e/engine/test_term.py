"""SIGTERM while streams are open: an engine breaks or hangs them, the router lets them finish."""

import asyncio
import os
import signal
import time
from collections.abc import Callable

from rig.patience import until
from rig.stack import GRACE_S, Stack
from rig.story import ask, crowd

STREAMS = 9
BETWEEN_BYTES_S = 60.0
"""What `steelyard up` lets a stream be silent in its middle."""
SLACK_S = 5.0
BACK_S = 30.0


async def test_an_engine_told_to_end_hurts_its_own_streams_only(
    steelyard: Stack, note: Callable[[str], None]
) -> None:
    victim = steelyard.engines()[0]
    async with crowd(steelyard.url) as people:
        early = people.send(STREAMS, tokens=600, subject="the end")
        await people.begun()
        victim.terminate()
        told_s = time.monotonic()
        await asyncio.sleep(0.5)
        late = people.send(STREAMS, tokens=8, subject="what comes later")

    hit = [story for story in early if story.instance == victim.name]
    spared = [story for story in early if story.instance != victim.name]
    assert len(hit) >= 2
    assert all(story.failed or story.whole for story in hit), hit
    assert all(story.whole for story in spared), spared
    assert all(story.whole and story.instance != victim.name for story in late), late
    slowest_s = max(story.ended_s for story in hit) - told_s
    ends = ", ".join(sorted({str(story.error or story.finish) for story in hit}))
    note(f"engine told to end: its {len(hit)} streams ended within {slowest_s:.1f} s: {ends}")
    assert slowest_s < BETWEEN_BYTES_S + SLACK_S
    await until(steelyard.is_idle, within_s=2, what="no lease is held")


async def test_a_router_told_to_end_lets_its_streams_finish_and_is_started_again(
    steelyard: Stack, note: Callable[[str], None]
) -> None:
    old = steelyard.router_pid()
    async with crowd(steelyard.url) as people:
        people.send(STREAMS, tokens=600, subject="the last round")
        await people.begun()
        os.kill(old, signal.SIGTERM)
        told_s = time.monotonic()

    assert all(story.whole for story in people.stories), people.stories
    took_s = max(story.ended_s for story in people.stories) - told_s
    note(f"router told to end: its {STREAMS} streams finished within {took_s:.1f} s")
    assert 0.2 < took_s < GRACE_S, "the streams were still running when it was told"

    await until(steelyard.is_whole, within_s=BACK_S, what="another router serves")
    assert steelyard.router_pid() != old
    stories = await ask(steelyard.url, STREAMS, tokens=8, subject="the new round")
    assert all(story.whole for story in stories), stories
