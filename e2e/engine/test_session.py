"""A conversation stays where its cache is."""

import asyncio
from dataclasses import dataclass, field

import openai
from openai.types.chat import ChatCompletionMessageParam
from rig.stack import BLOCK_TOKENS, SERVICE, Stack

USERS = 4
TURNS = 6
REPLY_TOKENS = 24
SYSTEM = "You are a dog and see the sky, the sun and the sea. "
LETTER = "the old man and the sea, the cow and the pig, all of you can see "
QUESTION = "but why can you not see it too? "


@dataclass
class Turn:
    instance: str
    prompt_tokens: int
    cached_tokens: int


@dataclass
class Conversation:
    """One user's: a long letter, then questions about it, with the real replies between them."""

    topic: str
    turns: list[Turn] = field(default_factory=list)
    messages: list[ChatCompletionMessageParam] = field(default_factory=list)

    async def go(self, client: openai.AsyncOpenAI) -> None:
        self.messages = [{"role": "system", "content": SYSTEM}]
        for number in range(TURNS):
            content = QUESTION if number else f"{self.topic}: {LETTER * 60}"
            self.messages.append({"role": "user", "content": content})
            reply = await self._ask(client)
            self.messages.append({"role": "assistant", "content": reply})

    async def _ask(self, client: openai.AsyncOpenAI) -> str:
        answer = await client.chat.completions.with_raw_response.create(
            model=SERVICE, messages=self.messages, max_tokens=REPLY_TOKENS, temperature=0
        )
        completion = answer.parse()
        usage = completion.usage
        assert usage is not None
        assert usage.prompt_tokens_details is not None
        self.turns.append(
            Turn(
                answer.headers["x-steelyard-instance"],
                usage.prompt_tokens,
                usage.prompt_tokens_details.cached_tokens or 0,
            )
        )
        return completion.choices[0].message.content or ""


async def test_conversations_stay_with_their_cache_turn_by_turn(
    steelyard: Stack, client: openai.AsyncOpenAI
) -> None:
    talks = [Conversation(f"topic {number}") for number in range(USERS)]

    await asyncio.gather(*(talk.go(client) for talk in talks))

    for talk in talks:
        first, *later = talk.turns
        assert {turn.instance for turn in later} == {first.instance}, talk.turns
        for before, turn in zip(talk.turns, later, strict=False):
            assert turn.cached_tokens > before.cached_tokens, talk.turns
            # All of the last prompt is there, but for the block that it ends in.
            assert turn.cached_tokens > before.prompt_tokens - BLOCK_TOKENS, talk.turns
    homes = {talk.turns[0].instance for talk in talks}
    assert len(homes) > 1, "all of them sit on one engine"


async def test_the_router_reports_the_hit_ratio_that_clients_see(
    steelyard: Stack, client: openai.AsyncOpenAI
) -> None:
    before = _totals(steelyard)
    talk = Conversation("the sum")
    await talk.go(client)
    after = _totals(steelyard)

    cached = sum(turn.cached_tokens for turn in talk.turns)
    prompt = sum(turn.prompt_tokens for turn in talk.turns)
    assert after["cached_tokens"] - before["cached_tokens"] == cached
    assert after["prompt_tokens"] - before["prompt_tokens"] == prompt


def _totals(steelyard: Stack) -> dict[str, int]:
    status = steelyard.status()
    assert status is not None
    totals: dict[str, int] = status["totals"]
    return totals
