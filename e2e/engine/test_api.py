"""The `openai` client gets from the router what it gets from the engine."""

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from rig.stack import ENGINES, MAX_MODEL_TOKENS, SERVICE, Stack

QUESTION: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "You are a dog. Say what you see."},
    {"role": "user", "content": "What is in the box?"},
]
TOKENS = 24


async def test_a_plain_chat_is_answered_as_by_the_engine_itself(
    steelyard: Stack, client: openai.AsyncOpenAI
) -> None:
    engine = steelyard.engines()[0]
    direct = client.with_options(base_url=f"{engine.url}/v1")

    ours = await client.chat.completions.create(
        model=SERVICE, messages=QUESTION, max_tokens=TOKENS, temperature=0
    )
    theirs = await direct.chat.completions.create(
        model=SERVICE, messages=QUESTION, max_tokens=TOKENS, temperature=0
    )

    assert ours.choices[0].message.content
    assert ours.choices == theirs.choices
    assert ours.usage is not None
    assert theirs.usage is not None
    assert ours.usage.completion_tokens == theirs.usage.completion_tokens == TOKENS
    assert ours.usage.prompt_tokens == theirs.usage.prompt_tokens


async def test_a_streamed_chat_tells_the_same_as_a_plain_one(client: openai.AsyncOpenAI) -> None:
    plain = await client.chat.completions.create(
        model=SERVICE, messages=QUESTION, max_tokens=TOKENS, temperature=0
    )

    text, finish, usage = "", None, None
    async for chunk in await client.chat.completions.create(
        model=SERVICE,
        messages=QUESTION,
        max_tokens=TOKENS,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish

    assert text == plain.choices[0].message.content
    assert finish == "length"
    assert usage is not None
    assert usage.completion_tokens == TOKENS


async def test_a_streamed_completion_tells_the_same_as_a_plain_one(
    client: openai.AsyncOpenAI,
) -> None:
    plain = await client.completions.create(
        model=SERVICE, prompt="the dog and the", max_tokens=TOKENS, temperature=0
    )

    text = ""
    async for chunk in await client.completions.create(
        model=SERVICE, prompt="the dog and the", max_tokens=TOKENS, temperature=0, stream=True
    ):
        text += "".join(choice.text for choice in chunk.choices)

    assert plain.choices[0].text
    assert text == plain.choices[0].text


async def test_the_models_are_listed_as_the_engine_lists_them(client: openai.AsyncOpenAI) -> None:
    models = [model async for model in client.models.list()]

    assert [model.id for model in models] == [SERVICE]
    assert models[0].model_dump()["max_model_len"] == MAX_MODEL_TOKENS


async def test_every_engine_gets_its_share_of_strangers(
    steelyard: Stack, client: openai.AsyncOpenAI
) -> None:
    seen = set()
    for number in range(2 * ENGINES):
        answer = await client.completions.with_raw_response.create(
            model=SERVICE, prompt=f"{number} is a number", max_tokens=1
        )
        seen.add(answer.headers["x-steelyard-instance"])

    assert seen == {engine.name for engine in steelyard.engines()}


async def test_an_unknown_model_is_refused_with_its_name(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="huge") as refusal:
        await client.chat.completions.create(model="huge", messages=QUESTION, max_tokens=1)

    assert isinstance(refusal.value.body, dict)
    assert refusal.value.body["code"] == "model_not_found"


@pytest.mark.parametrize("streams", [False, True])
async def test_a_prompt_that_is_too_long_gets_the_engines_own_refusal(
    steelyard: Stack, client: openai.AsyncOpenAI, *, streams: bool
) -> None:
    too_long: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "dog " * (MAX_MODEL_TOKENS + 1)}
    ]
    direct = client.with_options(base_url=f"{steelyard.engines()[0].url}/v1")

    refusals = []
    for asked in (client, direct):
        with pytest.raises(openai.BadRequestError) as refusal:
            await asked.chat.completions.create(
                model=SERVICE, messages=too_long, max_tokens=1, stream=streams
            )
        refusals.append(refusal.value.body)

    ours, theirs = refusals
    assert ours == theirs
    assert str(MAX_MODEL_TOKENS) in str(ours)
    assert steelyard.is_whole()
