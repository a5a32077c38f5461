"""Requests as clients send them, and what became of each."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp


@dataclass
class Answer:
    """`error` is None when the answer is whole. `begun`: its first byte had come."""

    begun: bool = False
    error: str | None = None
    chunks: int = 0
    engine: str | None = None
    cached_tokens: int = 0
    prompt_tokens: int = 0


@dataclass
class Conversation:
    """A session whose prompt grows with every turn, so that its prefix is worth finding."""

    name: str
    words: int = 600
    turns: list[dict[str, str]] = field(default_factory=list)

    def ask(self) -> list[dict[str, str]]:
        """The next turn's messages."""
        turn = len(self.turns) // 2
        text = " ".join(f"{self.name}-turn{turn}-{i}" for i in range(self.words))
        self.turns.append({"role": "user", "content": text})
        return list(self.turns)

    def hear(self, text: str) -> None:
        self.turns.append({"role": "assistant", "content": text})


class Client:
    """Talks to one URL."""

    def __init__(self, url: str, model: str, session: aiohttp.ClientSession) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._model = model
        self._session = session

    async def chat(self, messages: Sequence[dict[str, str]], *, max_tokens: int = 8) -> Answer:
        """One request that does not stream; its usage tells what was cached."""
        answer = Answer()
        body = {"model": self._model, "messages": list(messages), "max_tokens": max_tokens}
        try:
            async with self._session.post(self._url, json=body) as response:
                answer.begun = True
                text = await response.text()
                answer.engine = response.headers.get("x-steelyard-instance")
                if response.status != 200:
                    answer.error = f"{response.status}: {text[:300]}"
                    return answer
                usage = json.loads(text)["usage"]
                answer.prompt_tokens = usage["prompt_tokens"]
                details = usage.get("prompt_tokens_details") or {}
                answer.cached_tokens = details.get("cached_tokens") or 0
        except (aiohttp.ClientError, TimeoutError) as error:
            answer.error = f"{type(error).__name__}: {error}"
        return answer

    async def stream(self, text: str, *, max_tokens: int, answer: Answer | None = None) -> Answer:
        """One stream, read to its end; whole only with its [DONE]. `answer` may be looked at."""
        answer = answer or Answer()
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": max_tokens,
            "stream": True,
        }
        done = False
        try:
            async with self._session.post(self._url, json=body) as response:
                answer.engine = response.headers.get("x-steelyard-instance")
                if response.status != 200:
                    answer.error = f"{response.status}: {(await response.text())[:300]}"
                    return answer
                async for line in response.content:
                    answer.begun = True
                    answer.chunks += line.startswith(b"data: {")
                    done = done or line.startswith(b"data: [DONE]")
                    if b'"error"' in line[:20]:
                        answer.error = line.decode()[:300]
        except (aiohttp.ClientError, TimeoutError) as error:
            answer.error = f"{type(error).__name__}: {error}"
        if answer.error is None and not done:
            answer.error = "the stream ended without [DONE]"
        return answer


async def all_begun(answers: Sequence[Answer], *, within_s: float = 30.0) -> None:
    """Waits for the first byte of each."""
    async with asyncio.timeout(within_s):
        while not all(answer.begun for answer in answers):  # noqa: ASYNC110 -- read as they come
            await asyncio.sleep(0.05)


@asynccontextmanager
async def client(url: str, model: str, *, timeout_s: float = 180.0) -> AsyncIterator[Client]:
    limits = aiohttp.ClientTimeout(total=timeout_s)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=limits, connector=connector) as session:
        yield Client(url, model, session)


async def converse(
    to: Client, *, sessions: int, turns: int, salt: str, at_once: int = 4
) -> list[Answer]:
    """All sessions take their first turn, then all their second ..., a few at a time."""
    conversations = [Conversation(f"{salt}{number}") for number in range(sessions)]
    gate = asyncio.Semaphore(at_once)
    answers: list[Answer] = []

    async def take_turn(conversation: Conversation) -> None:
        async with gate:
            answer = await to.chat(conversation.ask())
        conversation.hear("ok")
        answers.append(answer)

    for _ in range(turns):
        async with asyncio.TaskGroup() as group:
            for conversation in conversations:
                group.create_task(take_turn(conversation))
    return answers


def hit_ratio(answers: Sequence[Answer]) -> float:
    """Share of the prompt tokens that the engines had in their caches, by their own usage."""
    return sum(a.cached_tokens for a in answers) / sum(a.prompt_tokens for a in answers)
