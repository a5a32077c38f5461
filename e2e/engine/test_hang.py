"""An engine that stands still: its requests are served elsewhere, and it comes back when it moves.

The waits are those that `steelyard up` gives: 30 s for a first byte.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rig.patience import until
from rig.stack import Stack
from rig.story import Story, ask, crowd

STREAMS = 12
FIRST_BYTE_S = 30.0
SLACK_S = 8.0
SHUNNED_S = 20.0
RETURN_S = 30.0


async def test_a_hung_engine_fails_no_request_and_returns_when_it_goes_on(
    steelyard: Stack, note: Callable[[str], None]
) -> None:
    victim = steelyard.engines()[2]

    def says(check: Callable[[dict[str, Any]], bool]) -> Callable[[], bool]:
        return lambda: check(steelyard.instance(victim.name) or {})

    victim.stop()
    stopped_s = time.monotonic()
    try:
        async with crowd(steelyard.url) as people:
            people.send(STREAMS, tokens=8, subject="the hang")
            shunned = says(lambda item: not item["usable"])
            shunned_s = await until(shunned, within_s=SHUNNED_S, what="it gets nothing new")
            late = people.send(STREAMS, tokens=8, subject="what comes later")
        open_ = says(lambda item: item["breaker"] != "closed")
        await until(open_, within_s=1, what="the breaker is open")
    finally:
        victim.go_on()

    took_s = max(story.ended_s for story in people.stories) - stopped_s
    note(
        f"hung: shunned after {shunned_s:.1f} s, its requests served elsewhere after "
        f"{took_s:.1f} s, none of {len(people.stories)} failed"
    )
    assert all(story.whole and story.instance != victim.name for story in people.stories)
    assert FIRST_BYTE_S <= took_s < FIRST_BYTE_S + SLACK_S, "its requests waited for the timeout"
    assert max(story.ttft_s for story in late) < 5.0, "who came later did not"

    returned_s = await _return(steelyard, victim.name)
    note(f"hung: served again {returned_s:.1f} s after it went on")
    assert steelyard.engine(victim.name).pid == victim.pid, "it was never restarted"


async def _return(steelyard: Stack, name: str) -> float:
    """Seconds until the engine answers requests again; none may fail meanwhile."""
    began_s = time.monotonic()
    stories: list[Story] = []
    while name not in {story.instance for story in stories}:
        assert time.monotonic() - began_s < RETURN_S, f"{name} did not come back"
        stories = await ask(steelyard.url, 3, tokens=8, subject=f"try {time.monotonic()}")
        assert all(story.whole for story in stories), stories
        await asyncio.sleep(0.2)
    return time.monotonic() - began_s
