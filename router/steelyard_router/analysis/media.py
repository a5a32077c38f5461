"""Images, audio, video and files in a prompt: known by a digest, counted in parts, never in bytes.

A base64 picture of 5 MB is a thousand tokens to the engine. So each media part is replaced by a
short stand-in that names its digest before the prompt is hashed and measured; how many tokens a
part of each kind is worth is learned (ratio.py).
"""

from collections import Counter
from typing import Any

from xxhash import xxh3_64_hexdigest

from steelyard_router.analysis.field import canonical

KINDS = {
    **dict.fromkeys(
        ("image", "image_url", "input_image", "image_pil", "image_embeds", "computer_call_output"),
        "image",
    ),
    **dict.fromkeys(("audio", "audio_url", "input_audio", "audio_embeds"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document"), "file"),
}
"""Part types (and, for parts without a type, their keys) of the APIs that engines speak."""

Media = tuple[tuple[str, int], ...]
"""(kind, parts) for each kind in a prompt."""


def condense(items: list[Any], param: str) -> tuple[list[Any], Media]:
    """`items` (messages, documents or parts) with each media part replaced by its stand-in.

    The given list is never changed; without media it is returned as it is, which keeps the common
    text-only prompt cheap.
    """
    found: Counter[str] = Counter()
    condensed = _condense(items, param, found, levels=3)
    return condensed, tuple(sorted(found.items()))


def counted(media: Media, more: Media) -> Media:
    """The parts of both."""
    return tuple(sorted((Counter(dict(media)) + Counter(dict(more))).items()))


def _condense(items: list[Any], param: str, found: Counter[str], *, levels: int) -> list[Any]:
    """`levels`: message > its parts > the parts of a tool's result; nothing known nests deeper."""
    result = items
    for position, item in enumerate(items):
        if type(item) is not dict:
            continue
        replaced = item
        holder = "content" if "content" in item else "output"
        content = item.get(holder)
        if kind := _kind(item):
            found[kind] += 1
            replaced = {"type": kind, "digest": xxh3_64_hexdigest(canonical(item, param))}
        elif type(content) is list and levels > 1:
            inner = _condense(content, param, found, levels=levels - 1)
            if inner is not content:
                replaced = {**item, holder: inner}
        if replaced is not item:
            if result is items:
                result = items.copy()
            result[position] = replaced
    return result


def _kind(part: dict[str, Any]) -> str | None:
    named = part.get("type")
    if type(named) is str:
        return KINDS.get(named)
    if "role" in part:
        return None
    return next((KINDS[key] for key in part if key in KINDS), None)
