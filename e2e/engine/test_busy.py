"""A long queue is not a hang: engines with more requests than they can run are left in peace."""

from collections.abc import Callable
from pathlib import Path

from rig.router import router
from rig.stack import ENGINES, MAX_SEQUENCES, Stack
from rig.story import ask, crowd

REQUESTS = 60
FIRST_BYTE_S = 1.5


async def test_a_crowd_that_queues_in_all_engines_is_served_whole(steelyard: Stack) -> None:
    stories = await ask(steelyard.url, REQUESTS, tokens=64, subject="the crowd")

    assert all(story.whole for story in stories), stories
    status = steelyard.status()
    assert status is not None
    assert [item["breaker"] for item in status["instances"]] == ["closed"] * ENGINES


async def test_waiting_longer_than_the_first_byte_timeout_is_no_failure_while_others_progress(
    steelyard: Stack, tmp_path: Path, note: Callable[[str], None]
) -> None:
    engine = steelyard.engines()[0]
    async with (
        router([engine], tmp_path, timeouts={"first_byte_s": FIRST_BYTE_S}) as alone,
        crowd(alone.url) as people,
    ):
        people.send(REQUESTS, tokens=300, subject="the queue")
        await people.begun()
        status = alone.status()

    assert all(story.whole for story in people.stories), people.stories
    longest_s = max(story.ttft_s for story in people.stories)
    note(
        f"{REQUESTS} streams on one engine that runs {MAX_SEQUENCES}, first-byte timeout "
        f"{FIRST_BYTE_S:g} s: the last first token came after {longest_s:.1f} s, none failed"
    )
    assert longest_s > 2 * FIRST_BYTE_S, "the queue was too short to show anything"
    assert status["totals"]["retries"] == 0
    assert [item["breaker"] for item in status["instances"]] == ["closed"]
