"""The Mooncake schema: one request a line, with the ids of its prompt's blocks.

`timestamp` in ms, `input_length` and `output_length` in tokens, `hash_ids` one int per block (512
tokens, the last one partial). An id stands for the whole prompt up to its block, so equal ids are
reusable beginnings. `session_id`, where present, orders requests of one client;
`workload` names its class.
"""

from collections.abc import Sequence
from pathlib import Path

from steelyard_simulator.load.record import Record
from steelyard_simulator.load.trace import WORKLOAD, Trace, TraceRequest, to_ranges

BUCKET_S = 3.0
BUCKET_TOLERANCE_S = 0.005
"""Upstream's rounded times are off by up to 3 ms."""


def parse(path: Path, lines: Sequence[str], block_tokens: int) -> Trace:
    """Raises TraceError."""
    requests: list[TraceRequest] = []
    last_of: dict[str, int] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        request = _request(Record.parse(path, number, text), block_tokens, requests, last_of)
        if request.session is not None:
            last_of[request.session] = len(requests)
        requests.append(request)
    return Trace(
        path=path,
        schema="Mooncake",
        requests=tuple(requests),
        block_tokens=block_tokens,
        bucket_s=BUCKET_S if _is_bucketed(requests) else None,
    )


def _request(
    record: Record, block_tokens: int, before: Sequence[TraceRequest], last_of: dict[str, int]
) -> TraceRequest:
    ids = record.ids("hash_ids")
    input_tokens = record.count("input_length")
    if len(ids) > -(-input_tokens // block_tokens):
        raise record.error(
            f"`hash_ids` has {len(ids)} ids, more than {input_tokens} tokens have blocks of "
            f"{block_tokens}; is the block size another?"
        )
    at_s = record.number("timestamp") / 1000
    session = record.text("session_id")
    follows = last_of.get(session) if session is not None else None
    return TraceRequest(
        at_s=at_s,
        input_tokens=input_tokens,
        output_tokens=record.count("output_length"),
        blocks=to_ranges(ids),
        session=session,
        follows=follows,
        # The schema knows no service times: the whole gap between two starts counts as thinking.
        think_s=max(0.0, at_s - before[follows].at_s) if follows is not None else 0.0,
        workload=record.text("workload") or WORKLOAD,
    )


def _is_bucketed(requests: Sequence[TraceRequest]) -> bool:
    return len(requests) > 1 and all(
        abs(request.at_s - BUCKET_S * round(request.at_s / BUCKET_S)) <= BUCKET_TOLERANCE_S
        for request in requests
    )
