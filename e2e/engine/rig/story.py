"""One streamed chat request as its client lives it.

The client reads events with little more than a JSON parser: many streams at once must not keep it
so busy that it sees late what came in time. What the `openai` client makes of the same bytes is
looked at where there are few of them.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from rig.stack import SERVICE

PATIENCE = aiohttp.ClientTimeout(total=280.0)
EVENT_END = b"\n\n"
DATA = b"data: "
DONE = b"[DONE]"


@dataclass
class Story:
    """Times are seconds of the monotonic clock."""

    instance: str | None = None
    text: str = ""
    finish: str | None = None
    done: bool = False
    error: str | None = None
    sent_s: float = 0.0
    first_s: float | None = None
    ended_s: float = 0.0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first text, and at the end."""

    @property
    def whole(self) -> bool:
        return self.error is None and self.done and self.finish in {"length", "stop"}

    @property
    def failed(self) -> bool:
        """What a client can tell: an error, or an answer that says itself that it was cut off."""
        return self.error is not None or self.finish == "abort"

    @property
    def ttft_s(self) -> float:
        assert self.first_s is not None, f"not a token came: {self.error}"
        return self.first_s - self.sent_s

    def take(self, event: dict[str, Any]) -> None:
        if "error" in event:
            self.error = self.error or str(event["error"]["message"])
        for choice in event.get("choices", ()):
            if text := choice["delta"].get("content"):
                self.text += text
                if self.first_s is None:
                    self.first_s = time.monotonic()
                    self.begun.set()
            self.finish = choice["finish_reason"] or self.finish


async def live(http: aiohttp.ClientSession, url: str, body: dict[str, Any], story: Story) -> None:
    """Never raises for what came back: it is in the story."""
    story.sent_s = time.monotonic()
    try:
        async with http.post(f"{url}/v1/chat/completions", json=body) as response:
            story.instance = response.headers.get("x-steelyard-instance")
            if response.status != 200:
                story.error = f"{response.status}: {await response.text()}"
                return
            async for event in _events(response):
                story.done = event == DONE
                if not story.done:
                    story.take(orjson.loads(event))
        if not story.done and story.error is None:
            story.error = "the stream ended before [DONE]"
    except (aiohttp.ClientError, TimeoutError) as error:
        story.error = story.error or repr(error)
    finally:
        story.ended_s = time.monotonic()
        story.begun.set()


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.content.iter_any():
        *events, rest = (rest + chunk).split(EVENT_END)
        for event in events:
            yield event.removeprefix(DATA)


class Crowd:
    """Requests under way side by side, each with a prompt of its own."""

    def __init__(self, url: str, http: aiohttp.ClientSession, group: asyncio.TaskGroup) -> None:
        self._url = url
        self._http = http
        self._group = group
        self.stories: list[Story] = []

    def send(self, count: int, *, tokens: int, subject: str) -> list[Story]:
        """Each gets exactly `tokens` tokens. `subject` keeps the prompts of one crowd apart from
        those of another.
        """
        new = [Story() for _ in range(count)]
        for story in new:
            prompt = f"{len(self.stories)} {subject}: tell me all about it."
            body = {
                "model": SERVICE,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": tokens,
                "temperature": 0,
                "stream": True,
            }
            self.stories.append(story)
            self._group.create_task(live(self._http, self._url, body, story))
        return new

    async def begun(self) -> None:
        """All have their first text, or their end."""
        await asyncio.gather(*(story.begun.wait() for story in self.stories))


@asynccontextmanager
async def crowd(url: str) -> AsyncIterator[Crowd]:
    """Ends when all of its requests have."""
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=PATIENCE
        ) as http,
        asyncio.TaskGroup() as group,
    ):
        yield Crowd(url, http, group)


async def ask(url: str, count: int, *, tokens: int, subject: str) -> list[Story]:
    """A crowd of `count` requests, when all are over."""
    async with crowd(url) as people:
        people.send(count, tokens=tokens, subject=subject)
    return people.stories
