"""Engines that die under load: each client hears of it at once, and nobody else does."""

import asyncio
from collections.abc import Callable

import openai
import pytest
from rig import process
from rig.patience import until
from rig.stack import ENGINES, SERVICE, Stack
from rig.story import ask, crowd

STREAMS = 9
TOKENS = 600
GONE_S = 10.0
ERROR_SEEN_S = 0.2
"""From the moment when the engine is gone."""
CORE_ERROR_SEEN_S = 2.0
"""Its API server has to notice first."""
LEASES_BACK_S = 2.0
RESTART_S = 300.0


@pytest.mark.parametrize("part", ["api server", "core"])
async def test_a_killed_engine_breaks_its_own_streams_only(
    steelyard: Stack, note: Callable[[str], None], part: str
) -> None:
    victim = steelyard.engines()[0]
    async with crowd(steelyard.url) as people:
        people.send(STREAMS, tokens=TOKENS, subject=f"the {part}")
        await people.begun()
        pid = victim.pid if part == "api server" else victim.core_pid
        killed_s, gone_s = await process.kill(pid, within_s=GONE_S)

    hit = [story for story in people.stories if story.instance == victim.name]
    spared = [story for story in people.stories if story.instance != victim.name]
    assert len(hit) >= 2
    assert len(spared) >= 4
    assert all(story.failed and story.text for story in hit), hit
    assert all(story.whole for story in spared), spared
    told_s = max(story.ended_s for story in hit)
    note(
        f"{part} killed: gone after {gone_s - killed_s:.3f} s, "
        f"the last of {len(hit)} clients knew after {told_s - killed_s:.3f} s"
    )
    assert told_s - gone_s < (ERROR_SEEN_S if part == "api server" else CORE_ERROR_SEEN_S)

    await until(steelyard.is_idle, within_s=LEASES_BACK_S, what="no lease is held")
    assert victim.name not in await _servers(steelyard, "the rest")

    down_s = await until(steelyard.is_whole, within_s=RESTART_S, what="it is back")
    note(f"{part} killed: {victim.name} served again after {down_s:.0f} s")
    assert steelyard.engine(victim.name).pid != victim.pid
    assert not process.is_alive(victim.pid)
    assert victim.name in await _servers(steelyard, "a new life")


async def test_an_engine_killed_before_the_first_token_fails_no_request(
    steelyard: Stack, note: Callable[[str], None]
) -> None:
    victim = steelyard.engines()[1]
    victim.stop()  # so that its requests have certainly not begun
    async with crowd(steelyard.url) as people:
        people.send(STREAMS, tokens=8, subject="the beginning")
        await until(lambda: _holds_leases(steelyard, victim.name), within_s=5, what="it has some")
        killed_s, _ = await process.kill(victim.pid, within_s=GONE_S)

    assert all(story.whole for story in people.stories), people.stories
    slowest_s = max(story.ended_s for story in people.stories) - killed_s
    note(f"killed before the first token: all served elsewhere within {slowest_s:.2f} s")
    assert slowest_s < 5.0


async def test_the_openai_client_raises_for_a_stream_that_broke(
    steelyard: Stack, client: openai.AsyncOpenAI
) -> None:
    victim = steelyard.engines()[2]
    under_way = asyncio.Semaphore(0)

    async def follow(number: int) -> tuple[str, openai.APIError | None]:
        answer = await client.chat.completions.with_raw_response.create(
            model=SERVICE,
            messages=[{"role": "user", "content": f"{number} is the number of the dog"}],
            max_tokens=TOKENS,
            stream=True,
        )
        try:
            async for _ in answer.parse():
                under_way.release()
        except openai.APIError as error:
            return answer.headers["x-steelyard-instance"], error
        return answer.headers["x-steelyard-instance"], None

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow(number)) for number in range(ENGINES)]
        for _ in range(50):
            await under_way.acquire()
        await process.kill(victim.pid, within_s=GONE_S)

    errors = dict(task.result() for task in tasks)
    assert len(errors) == ENGINES, "each engine had one of them"
    assert errors.pop(victim.name) is not None
    assert set(errors.values()) == {None}


async def _servers(steelyard: Stack, subject: str) -> set[str | None]:
    """Which engines answer; all requests must be served."""
    stories = await ask(steelyard.url, STREAMS, tokens=4, subject=subject)
    assert all(story.whole for story in stories), stories
    return {story.instance for story in stories}


def _holds_leases(steelyard: Stack, name: str) -> bool:
    instance = steelyard.instance(name)
    return instance is not None and instance["leases"] > 0
