from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.analysis import prompt
from steelyard_router.errors import BadRequest

TURNS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text()}),
    min_size=1,
    max_size=6,
)
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}


@given(TURNS, TURNS)
def test_the_next_turn_starts_with_the_bytes_of_the_last(
    turns: list[dict[str, str]], more: list[dict[str, str]]
) -> None:
    before = prompt.chat({"messages": turns, "tools": [TOOL]})
    after = prompt.chat({"messages": turns + more, "tools": [TOOL]})

    assert after.head.startswith(before.head)
    assert after.text_bytes == len(after.head) > before.text_bytes


def test_what_a_message_holds_beside_text_makes_another_prompt_and_keeps_turns_aligned() -> None:
    plain = {"role": "user", "content": "good day"}
    rich = [
        {**plain, "name": "eve"},
        {"role": "user", "content": [{"type": "text", "text": "good day"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    ]
    heads = [prompt.chat({"messages": [turn]}).head for turn in (plain, *rich)]

    assert len(set(heads)) == len(heads)
    for turn, head in zip((plain, *rich), heads, strict=True):
        assert prompt.chat({"messages": [turn, *rich, plain]}).head.startswith(head)


def test_media_are_counted_over_all_messages() -> None:
    def user(*kinds: str) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": kind} for kind in kinds]}

    turns = [user("image_url", "input_audio"), {"role": "user", "content": "x"}, user("image_url")]

    assert prompt.chat({"messages": turns}).media == (("audio", 1), ("image", 2))


def test_tools_come_before_system_text_and_that_before_messages() -> None:
    body = {
        "messages": [{"role": "user", "content": "good day"}],
        "system": "be brief",
        "tools": [TOOL],
    }

    head = prompt.anthropic(body).head

    assert head.startswith(b'[{"type":"function"')
    assert head.index(b"look_up") < head.index(b"be brief") < head.index(b"good day")


def test_a_responses_text_means_one_user_message() -> None:
    as_text = prompt.responses({"input": "hi", "instructions": "be brief"})
    message = {"role": "user", "content": "hi"}
    as_items = prompt.responses({"input": [message], "instructions": "be brief"})

    assert as_text == as_items
    assert b"be brief" in as_text.head


def test_a_completion_prompt_is_its_own_text() -> None:
    read = prompt.completion({"prompt": "péché"})

    assert read == prompt.Prompt("péché".encode(), text_bytes=7)


def test_several_prompts_are_counted_and_summed_and_the_first_is_hashed() -> None:
    read = prompt.completion({"prompt": ["one", "three", ""]})

    assert read == prompt.Prompt(b"one", text_bytes=8, count=3)


def test_token_ids_count_elements_and_hash_their_array() -> None:
    read = prompt.completion({"prompt": [1, 2, 128_000]})

    assert read == prompt.Prompt(array("I", [1, 2, 128_000]).tobytes(), token_ids=3)


def test_lists_of_token_ids_are_several_prompts() -> None:
    read = prompt.embedding({"input": [[1, 2], [3], []]})

    assert read == prompt.Prompt(array("I", [1, 2]).tobytes(), token_ids=3, count=3)


def test_embeddings_take_objects_and_messages_too() -> None:
    objects = prompt.embedding({"input": [{"text": "a", "image": "data:"}, {"text": "b"}]})
    conversation = prompt.embedding({"messages": [{"role": "user", "content": "good day"}]})

    assert (objects.count, objects.media) == (2, (("image", 1),))
    assert b"good day" in conversation.head


def test_prompt_embeddings_are_left_to_the_engine() -> None:
    assert prompt.completion({"prompt_embeds": "AAAA"}) == prompt.Prompt(b"")


def test_rerank_repeats_the_query_for_every_document() -> None:
    read = prompt.rerank({"query": "q" * 98, "documents": ["d" * 48, "e" * 48, "f" * 8]})

    assert read.count == 3
    assert read.text_bytes == 3 * 100 + 50 + 50 + 10
    assert read.head == b'"' + b"q" * 98 + b'""' + b"d" * 48 + b'"'


@pytest.mark.parametrize(
    "body",
    [
        {"text_1": "a", "text_2": ["b", "c"]},
        {"text_1": ["a", "a"], "text_2": ["b", "c"]},
        {"queries": ["a", "a"], "documents": ["b", "c"]},
        {"query": "a", "items": ["b", "c"]},
        {"data_1": {"content": "a"}, "data_2": ["b", "c"]},
    ],
)
def test_score_counts_pairs_under_every_known_name(body: dict[str, object]) -> None:
    assert prompt.score(body).count == 2


Reader = prompt.Reader


@pytest.mark.parametrize(
    ("read", "body", "param", "says"),
    [
        (prompt.chat, {}, "messages", "required"),
        (prompt.chat, {"messages": "hi"}, "messages", "a list, not a string"),
        (prompt.chat, {"messages": {"role": "user"}}, "messages", "a list, not an object"),
        (prompt.chat, {"messages": [{}, "hi"]}, "messages[1]", "an object, not a string"),
        (prompt.completion, {}, "prompt", "required"),
        (prompt.completion, {"prompt": 7}, "prompt", "not a number"),
        (prompt.completion, {"prompt": []}, "prompt", "not empty"),
        (prompt.completion, {"prompt": {}}, "prompt", "not an object"),
        (prompt.completion, {"prompt": [1.5]}, "prompt[0]", "not a number"),
        (prompt.completion, {"prompt": [None]}, "prompt[0]", "not null"),
        (prompt.completion, {"prompt": ["a", 1]}, "prompt[1]", "a string, like the first"),
        (prompt.completion, {"prompt": [1, "a"]}, "prompt", "must be integers"),
        (prompt.completion, {"prompt": [1, -1]}, "prompt", "must be integers"),
        (prompt.completion, {"prompt": [1, 2**40]}, "prompt", "must be integers"),
        (prompt.completion, {"prompt": [[1], 2]}, "prompt[1]", "a list of token ids"),
        (prompt.completion, {"prompt": [["a"]]}, "prompt[0]", "must be integers"),
        (prompt.embedding, {"input": True}, "input", "not a boolean"),
        (prompt.responses, {"input": 3.5}, "input", "a list, not a number"),
        (prompt.rerank, {"documents": ["a"]}, "query", "required"),
        (prompt.rerank, {"query": "a"}, "documents", "required"),
        (prompt.rerank, {"query": "a", "documents": []}, "documents", "not empty"),
        (prompt.score, {"text_2": "a"}, "text_1", "required"),
        (prompt.score, {"text_1": 1, "text_2": "a"}, "text_1", "not a number"),
    ],
)
def test_a_wrong_prompt_is_refused_with_its_field_and_what_to_send(
    read: Reader, body: dict[str, Any], param: str, says: str
) -> None:
    with pytest.raises(BadRequest) as refusal:
        read(body)

    assert refusal.value.param == param
    assert says in refusal.value.message


def test_values_deeper_than_the_encoder_goes_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]

    with pytest.raises(BadRequest, match="nested too deeply"):
        prompt.chat({"messages": [{"role": "user", "content": "hi"}], "tools": deep})
    with pytest.raises(BadRequest, match="nested too deeply"):
        prompt.chat({"messages": [{"role": "user", "content": deep}]})


def test_refusals_never_repeat_the_prompt() -> None:
    with pytest.raises(BadRequest) as refusal:
        prompt.completion({"prompt": ["secret words", {"secret": "words"}]})

    assert "secret" not in refusal.value.message
