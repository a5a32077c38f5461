from typing import Any

import orjson
import pytest

from steelyard_router.analysis.media import condense

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
TEXT = {"type": "text", "text": "what is this?"}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def test_a_picture_enters_as_a_short_digest_and_one_part() -> None:
    condensed, media = condense([user(TEXT, PICTURE)], "messages")

    assert media == (("image", 1),)
    assert len(orjson.dumps(condensed)) < 200


def test_the_given_messages_are_left_alone() -> None:
    messages = [user(TEXT, PICTURE), user(TEXT)]
    before = orjson.dumps(messages)
    condense(messages, "messages")

    assert orjson.dumps(messages) == before


def test_text_only_messages_come_back_as_they_are() -> None:
    messages = [user(TEXT), {"role": "assistant", "content": "a cat"}, "no object"]

    condensed, media = condense(messages, "messages")

    assert condensed is messages
    assert media == ()


def test_equal_pictures_have_equal_digests_and_others_do_not() -> None:
    other = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}

    condensed, media = condense([user(PICTURE), user(PICTURE), user(other)], "messages")

    assert condensed[0] == condensed[1] != condensed[2]
    assert media == (("image", 3),)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "input_image", "image_url": "data:"}, "image"),
        ({"type": "image", "source": {"data": "AAAA"}}, "image"),
        ({"image_url": {"url": "data:"}}, "image"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA"}}, "audio"),
        ({"type": "video_url", "video_url": {"url": "x"}}, "video"),
        ({"type": "file", "file": {"file_data": "AAAA"}}, "file"),
        ({"type": "document", "source": {"data": "AAAA"}}, "file"),
    ],
)
def test_every_known_kind_is_found(part: dict[str, Any], kind: str) -> None:
    assert condense([user(TEXT, part)], "messages")[1] == ((kind, 1),)


@pytest.mark.parametrize(
    "item",
    [
        user({"type": "tool_result", "content": [TEXT, PICTURE]}),
        {"type": "function_call_output", "output": [{"type": "input_image", "image_url": "x"}]},
        {"type": "computer_call_output", "output": {"image_url": "x"}},
        {"type": "input_image", "image_url": "x"},
    ],
)
def test_pictures_are_found_where_tools_and_responses_put_them(item: dict[str, Any]) -> None:
    assert condense([item], "input")[1] == (("image", 1),)


def test_several_kinds_are_counted_apart() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA"}}

    assert condense([user(PICTURE, sound, sound)], "messages")[1] == (("audio", 2), ("image", 1))


@pytest.mark.parametrize("named", [None, 7, ["image"], "unheard_of"])
def test_an_unknown_type_of_part_is_text(named: object) -> None:
    assert condense([user({"type": named, "text": "x"})], "messages")[1] == ()


def test_endless_nesting_of_contents_is_not_followed() -> None:
    part: dict[str, Any] = dict(PICTURE)
    for _ in range(5000):
        part = {"type": "tool_result", "content": [part]}

    assert condense([user(part)], "messages")[1] == ()
