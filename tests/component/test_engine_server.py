"""The simulated server on the wire, as OpenAI's own client and a plain HTTP client see it."""

import asyncio
import io
import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.engine_server import (
    CHAT,
    SLOW,
    WAIT_S,
    engine,
    events,
    openai_client,
    post,
    until_idle,
    until_running,
)

from steelyard_simulator.server.settings import Settings

# What clients get.


async def test_chat_through_the_openai_client() -> None:
    async with engine() as (server, _), openai_client(server) as client:
        answer = await client.chat.completions.create(**CHAT, max_tokens=10)

    assert answer.id.startswith("chatcmpl-")
    assert answer.choices[0].finish_reason == "length"
    assert len(answer.choices[0].message.content or "") == 40
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 10
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 0


async def test_a_stream_carries_the_same_text_as_the_plain_answer() -> None:
    async with engine() as (server, _), openai_client(server) as client:
        plain = await client.chat.completions.create(**CHAT, max_completion_tokens=50)
        stream = await client.chat.completions.create(
            **CHAT, max_completion_tokens=50, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]

    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert text == plain.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[0].choices[0].delta.content == ""
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 50


async def test_without_a_limit_the_model_stops_by_itself() -> None:
    async with engine() as (_, client):
        _, answer = await post(client, "/v1/chat/completions", CHAT)

    assert answer["usage"]["completion_tokens"] == 128
    assert answer["choices"][0]["finish_reason"] == "stop"


async def test_a_stream_has_the_bytes_that_vllm_sends() -> None:
    body = {**CHAT, "max_tokens": 3, "stream": True}
    async with (
        engine() as (_, client),
        client.post("/v1/chat/completions", json=body, headers={"X-Request-Id": "abc"}) as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert "X-Request-Id" not in response.headers
        raw = await response.read()

    first, *_, last, done, rest = raw.split(b"\n\n")
    head = json.loads(first.removeprefix(b"data: "))
    head.pop("created")
    delta = {"role": "assistant", "content": ""}
    assert head == {
        "id": "chatcmpl-abc",
        "object": "chat.completion.chunk",
        "model": "tiny",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}],
    }
    assert json.loads(last.removeprefix(b"data: "))["choices"][0]["finish_reason"] == "length"
    assert (done, rest) == (b"data: [DONE]", b"")


async def test_the_client_chooses_the_id_whatever_it_contains() -> None:
    name = 'a%d "quoted" \\ id'
    body = {**CHAT, "max_tokens": 3, "stream": True}
    async with (
        engine() as (_, client),
        client.post("/v1/chat/completions", json=body, headers={"X-Request-Id": name}) as response,
    ):
        lines = (await response.read()).split(b"\n\n")

    assert json.loads(lines[0].removeprefix(b"data: "))["id"] == f"chatcmpl-{name}"


@pytest.mark.parametrize("stream", [False, True])
async def test_several_answers_to_several_prompts(*, stream: bool) -> None:
    async with engine() as (server, _), openai_client(server) as client:
        arguments: dict[str, Any] = {"prompt": ["one", "another"], "n": 2, "max_tokens": 5}
        texts = ["", "", "", ""]
        if stream:
            async for chunk in await client.completions.create(
                model="tiny", stream=True, **arguments
            ):
                for choice in chunk.choices:
                    texts[choice.index] += choice.text
        else:
            answer = await client.completions.create(model="tiny", **arguments)
            texts = [choice.text for choice in answer.choices]
            assert answer.usage is not None
            assert answer.usage.completion_tokens == 20
            assert answer.usage.prompt_tokens == 1 + 2

    assert [len(text) for text in texts] == [20, 20, 20, 20]
    assert len(set(texts)) == 4


async def test_a_prompt_of_token_ids_counts_its_elements() -> None:
    async with engine() as (_, client):
        body = {"model": "tiny", "prompt": list(range(100)), "max_tokens": 1}
        _, cold = await post(client, "/v1/completions", body)
        _, warm = await post(client, "/v1/completions", body)

    assert cold["usage"]["prompt_tokens"] == 100
    assert warm["usage"]["prompt_tokens_details"]["cached_tokens"] == 96


async def test_responses_through_the_openai_client() -> None:
    async with engine() as (server, _), openai_client(server) as client:
        plain = await client.responses.create(model="tiny", input="hello", max_output_tokens=9)
        stream = await client.responses.create(
            model="tiny", input="hello", max_output_tokens=9, stream=True
        )
        kinds = []
        text = ""
        async for event in stream:
            kinds.append(event.type)
            if event.type == "response.output_text.delta":
                text += event.delta

    assert plain.output_text == text
    assert len(text) == 36
    assert plain.usage is not None
    assert plain.usage.output_tokens == 9
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"


async def test_embeddings_through_the_openai_client() -> None:
    async with engine() as (server, _), openai_client(server) as client:
        answer = await client.embeddings.create(model="tiny", input=["a", "b", "a"], dimensions=8)

    vectors = [one.embedding for one in answer.data]
    assert [len(vector) for vector in vectors] == [8, 8, 8]
    assert vectors[0] == vectors[2] != vectors[1]
    assert answer.usage.total_tokens == 3


async def test_rerank_score_and_tokenize() -> None:
    async with engine() as (_, client):
        documents = ["x", "y", "z"]
        _, ranked = await post(
            client, "/v1/rerank", {"query": "q", "documents": documents, "top_n": 2}
        )
        _, scored = await post(client, "/v1/score", {"text_1": "q", "text_2": documents})
        _, tokens = await post(client, "/tokenize", {"prompt": "twelve bytes"})
        _, chat = await post(client, "/tokenize", {"messages": CHAT["messages"]})
        _, answer = await post(client, "/v1/chat/completions", CHAT)

    relevance = [one["relevance_score"] for one in ranked["results"]]
    assert len(relevance) == 2
    assert relevance == sorted(relevance, reverse=True)
    assert max(one["score"] for one in scored["data"]) == relevance[0]
    assert tokens["count"] == len(tokens["tokens"]) == 3
    assert tokens["max_model_len"] == 131_072
    assert chat["count"] == answer["usage"]["prompt_tokens"]


async def test_model_version_load_and_health() -> None:
    async with engine() as (_, client):
        async with client.get("/v1/models") as response:
            models = await response.json()
        async with client.get("/version") as response:
            assert "version" in await response.json()
        async with client.get("/load") as response:
            assert await response.json() == {"server_load": 0}
        async with client.get("/health") as response:
            assert (response.status, await response.read()) == (200, b"")

    assert models["data"][0]["id"] == "tiny"
    assert models["data"][0]["max_model_len"] == 131_072


async def test_metrics_have_the_names_and_labels_of_vllm() -> None:
    async with engine() as (_, client):
        for _ in range(2):
            await post(client, "/v1/chat/completions", {**CHAT, "max_tokens": 7})
        async with client.get("/metrics") as response:
            text = await response.text()

    samples = {
        sample.name: sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["vllm:num_requests_running"].labels == {"model_name": "tiny", "engine": "0"}
    assert samples["vllm:num_requests_waiting"].value == 0
    assert samples["vllm:kv_cache_usage_perc"].value == 0
    assert samples["vllm:generation_tokens_total"].value == 14
    assert samples["vllm:request_success_total"].value == 2
    assert samples["vllm:num_preemptions_total"].value == 0
    assert samples["vllm:time_to_first_token_seconds_count"].value == 2
    queries = samples["vllm:prefix_cache_queries_total"].value
    assert queries == samples["vllm:prompt_tokens_total"].value > 0
    assert 0 < samples["vllm:prefix_cache_hits_total"].value < queries
    config = samples["vllm:cache_config_info"].labels
    assert config["kv_cache_size_tokens"] == "400000"
    assert (config["block_size"], config["num_gpu_blocks"]) == ("16", "25000")


# What the prefix cache does to them.


async def test_a_repeated_prompt_is_cached_in_whole_blocks_and_a_salt_separates() -> None:
    async with engine() as (_, client):
        cached, tokens = [], set()
        for extra in ({}, {}, {"cache_salt": "tenant"}, {"cache_salt": "tenant"}):
            body = {**CHAT, **extra, "max_tokens": 1}
            _, answer = await post(client, "/v1/chat/completions", body)
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
            tokens.add(answer["usage"]["prompt_tokens"])

    whole = (tokens.pop() - 1) // 16 * 16
    assert not tokens
    assert cached == [0, whole, 0, whole]


async def test_the_next_turn_of_a_conversation_hits_the_answer_too() -> None:
    async with engine() as (_, client):
        _, first = await post(client, "/v1/chat/completions", {**CHAT, "max_tokens": 64})
        said = first["choices"][0]["message"]["content"]
        turn = [
            *CHAT["messages"],
            {"role": "assistant", "content": said},
            {"role": "user", "content": "and then?"},
        ]
        _, second = await post(client, "/v1/chat/completions", {**CHAT, "messages": turn})

    computed = first["usage"]["prompt_tokens"] + 64 - 1
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == computed // 16 * 16


async def test_speed_scales_what_the_clock_on_the_wall_shows() -> None:
    took = []
    for speed in (20.0, 100.0):
        async with engine(Settings(model="tiny", speed=speed)) as (_, client):
            loop = asyncio.get_running_loop()
            begun = loop.time()
            await post(client, "/v1/chat/completions", {**CHAT, "max_tokens": 1000})
            took.append(loop.time() - begun)

    # A thousand steps of 7 ms and more, at 20 and 100 times the speed.
    assert took[0] > 0.35
    assert took[1] < took[0]


# What goes wrong, and how it is said.


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "says"),
    [
        ("chat/completions", b"{not json", 400, "BadRequestError", "Invalid JSON"),
        ("chat/completions", b'{"model": "tiny"}', 400, "BadRequestError", "messages"),
        ("chat/completions", b"[]", 400, "BadRequestError", "body"),
        ("chat/completions", b"[" * 100_000, 400, "BadRequestError", "recursion"),
        ("chat/completions", {**CHAT, "model": "other"}, 404, "NotFoundError", "`other`"),
        ("chat/completions", {**CHAT, "max_tokens": 0}, 400, "BadRequestError", "max_tokens"),
        ("chat/completions", {**CHAT, "n": 1000}, 400, "BadRequestError", "n:"),
        ("chat/completions", {**CHAT, "max_tokens": 10**6}, 400, "BadRequestError", "maximum"),
        ("chat/completions", {**CHAT, "stream_options": {}}, 400, "BadRequestError", "Stream"),
        (
            "chat/completions",
            {"messages": [{"role": 1, "content": "x"}]},
            400,
            "BadRequestError",
            "messages[0].role",
        ),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": 5}]},
            400,
            "BadRequestError",
            "messages[0].content",
        ),
        (
            "chat/completions",
            {**CHAT, "tools": [10**30]},
            400,
            "BadRequestError",
            "64-bit",
        ),
        ("completions", {"prompt": []}, 400, "BadRequestError", "prompt"),
        ("completions", {"prompt": "x" * 600_000}, 400, "BadRequestError", "maximum"),
        ("embeddings", {"input": {}}, 400, "BadRequestError", "input"),
        ("score", {"text_1": ["a", "b"], "text_2": "c"}, 400, "BadRequestError", "text_1"),
        ("responses", {"input": "x", "previous_response_id": "r"}, 400, "BadRequestError", "stor"),
        ("nowhere", {}, 404, "Not Found", "nowhere"),
    ],
)
async def test_errors_are_shaped_as_openai_clients_expect(
    path: str, body: object, status: int, kind: str, says: str
) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with engine() as (_, client), client.post(f"/v1/{path}", data=raw) as response:
        answer = await response.json()

    assert response.status == status
    assert answer["error"]["type"] == kind
    assert answer["error"]["code"] == status
    assert says in answer["error"]["message"]


async def test_a_body_over_the_cap_is_a_413() -> None:
    async with (
        engine() as (_, client),
        client.post("/v1/completions", data=io.BytesIO(bytes(64 * 1024 * 1024 + 1))) as response,
    ):
        assert response.status == 413
        assert (await response.json())["error"]["code"] == 413


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_takes_its_work_with_it(*, stream: bool) -> None:
    async with engine(SLOW) as (server, client):
        body = {**CHAT, "max_tokens": 100_000, "n": 3, "stream": stream}
        waiting = asyncio.create_task(events(client, "/v1/chat/completions", body))
        await until_running(server, 3)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=WAIT_S)
        await until_idle(server)

        assert server.engine.kv_usage == 0
        assert 'finished_reason="abort"' not in server.backend.metrics.render().decode()


async def test_an_http2_preface_does_not_upset_the_server() -> None:
    async with engine() as (server, client):
        port = int(server.url.rsplit(":", 1)[1])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        async with asyncio.timeout(WAIT_S):
            assert (await reader.read()).startswith(b"HTTP/1.")
        writer.close()
        await writer.wait_closed()
        async with client.get("/health") as response:
            assert response.status == 200
