"""What `steelyard record` writes: Mooncake's fields for each request, and those a router knows.

The first line names the form and the last one, if the recording was not cut off, says what it
lacks; both are no requests. Requests stand in the order in which they ended and are put in that of
their arrival here. Those that no engine answered (`result` other than ok or client_gone) are left
out: a client that was refused comes again, and then stands in the file once more.

One number of tokens stands for every block of a trace, while a router learns how many its blocks of
256 bytes have. The middle one of what it knew, over all blocks, is taken.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from steelyard_simulator.load.record import Record
from steelyard_simulator.load.trace import WORKLOAD, Trace, TraceRequest, to_ranges

MARK: Final = "steelyard_record"
END: Final = "steelyard_end"
VERSION: Final = 1
RAN: Final = frozenset({"ok", "client_gone"})


def parse(path: Path, lines: Sequence[str], block_tokens: int) -> Trace:
    """Raises TraceError. `block_tokens` counts only where no line tells."""
    records = [
        Record.parse(path, number, text)
        for number, text in enumerate(lines, start=1)
        if text.strip()
    ]
    if records[0].count(MARK) != VERSION:
        raise records[0].error(
            f"the recording has version {records[0].count(MARK)}, this program reads {VERSION}; "
            "use the `steelyard` that is as new as the router"
        )
    rows = [row for row in records[1:] if not row.has(END)]
    rows = [row for row in rows if (row.text("result") or "ok") in RAN]
    rows.sort(key=lambda row: row.number("timestamp"))
    size = _block_tokens(rows, block_tokens)
    requests: list[TraceRequest] = []
    last_of: dict[str, tuple[int, float]] = {}
    """Of each session: its last request, and when that was answered."""
    for row in rows:
        request = _request(row, size, last_of)
        if request.session is not None:
            taken_s = row.number("e2e_ms") / 1000 if row.has("e2e_ms") else 0.0
            last_of[request.session] = (len(requests), request.at_s + taken_s)
        requests.append(request)
    return Trace(path=path, schema="recorded", requests=tuple(requests), block_tokens=size)


def _block_tokens(rows: Sequence[Record], default: int) -> int:
    """The median over all blocks."""
    known = sorted(
        (row.number("block_tokens"), len(row.ids("hash_ids")))
        for row in rows
        if row.has("block_tokens") and row.ids("hash_ids")
    )
    half = sum(blocks for _, blocks in known) / 2
    for tokens, blocks in known:
        half -= blocks
        if half <= 0:
            return max(1, round(tokens))
    return default


def _request(row: Record, block_tokens: int, last_of: dict[str, tuple[int, float]]) -> TraceRequest:
    at_s, input_tokens = row.number("timestamp") / 1000, row.count("input_length")
    session = row.text("session_id")
    follows, answered_s = last_of.get(session or "", (None, at_s))
    ids = row.ids("hash_ids")[: -(-input_tokens // block_tokens)]
    return TraceRequest(
        at_s=at_s,
        input_tokens=input_tokens,
        output_tokens=row.count("output_length"),
        blocks=to_ranges(ids),
        session=session,
        follows=follows,
        think_s=max(0.0, at_s - answered_s),
        workload=row.text("workload") or WORKLOAD,
    )
