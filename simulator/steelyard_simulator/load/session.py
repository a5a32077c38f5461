"""Agent sessions: one session a line, its requests in depth-first order of its threads.

A request `{"t", "th", "in", "out", "k", "h", ...}` keeps the first k block ids of the request
before it in the same thread and appends the runs [start, count, ...] of `h`. Thread 0 is the main
one. A request waits for the one before it in its thread; the first request of another thread (a
sub-agent) waits for the request of thread 0 that stands before it. `think` is the client's pause;
where it is missing, the gap between the recorded reply and the next request is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard_simulator.load.record import Record
from steelyard_simulator.load.trace import Trace, TraceRequest, append_range, take

MAIN_THREAD = 0


@dataclass(frozen=True, slots=True)
class _Last:
    """The latest request of a thread."""

    index: int
    blocks: tuple[range, ...]
    replied_s: float


def parse(path: Path, lines: Sequence[str], block_tokens: int) -> Trace:
    """Raises TraceError. All sessions of a file must have one block size."""
    requests: list[TraceRequest] = []
    size = None
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        record = Record.parse(path, number, text)
        block = record.count("block") if record.has("block") else block_tokens
        if block < 1 or size not in (None, block):
            raise record.error(
                f"`block` is {block}; it must be one positive number in a whole file"
            )
        size = block
        _append_session(record, str(number), block, requests)
    return Trace(
        path=path,
        schema="sessions",
        requests=tuple(requests),
        block_tokens=size or block_tokens,
        closed_loop=True,
    )


def _append_session(
    record: Record, number: str, block_tokens: int, requests: list[TraceRequest]
) -> None:
    session = record.text("sid") or number
    threads: dict[int, _Last] = {}
    for step in record.records("reqs"):
        thread = step.count("th") if step.has("th") else MAIN_THREAD
        last = threads.get(thread)
        before = last or threads.get(MAIN_THREAD)
        blocks = _blocks(step, last.blocks if last is not None else ())
        input_tokens = step.count("in")
        if sum(map(len, blocks)) > -(-input_tokens // block_tokens):
            raise step.error(
                f"a request of {session} has more blocks than its {input_tokens} tokens"
            )
        at_s = step.number("t")
        threads[thread] = _Last(
            len(requests), blocks, at_s + (step.number("api") if step.has("api") else 0.0)
        )
        requests.append(
            TraceRequest(
                at_s=at_s,
                input_tokens=input_tokens,
                output_tokens=step.count("out"),
                blocks=blocks,
                scope=session,
                session=session,
                follows=before.index if before is not None else None,
                think_s=_think_s(step, at_s, last, before),
            )
        )


def _blocks(step: Record, before: tuple[range, ...]) -> tuple[range, ...]:
    runs = step.ids("h")
    if len(runs) % 2:
        raise step.error("`h` must hold pairs of start and count")
    blocks = take(before, step.count("k"))
    for start, count in zip(runs[::2], runs[1::2], strict=True):
        blocks = append_range(blocks, range(start, start + count))
    return blocks


def _think_s(step: Record, at_s: float, last: _Last | None, before: _Last | None) -> float:
    if last is not None and step.has("think"):
        return max(0.0, step.number("think"))
    return max(0.0, at_s - before.replied_s) if before is not None else 0.0
