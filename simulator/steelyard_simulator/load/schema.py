"""Finds out which schema a trace file has, and reads it.

Five are known: Mooncake JSONL, what `steelyard record` writes, session JSONL (one agent session a
line), and the CSV files of Azure and ServeGen; each plain or gzipped, told apart by content rather
than by name.
"""

import gzip
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from steelyard_simulator.load import mooncake, recorded, session, table
from steelyard_simulator.load.errors import TraceError
from steelyard_simulator.load.trace import BLOCK_TOKENS, Trace

GZIP_MAGIC = b"\x1f\x8b"

Parse = Callable[[Path, Sequence[str], int], Trace]


def read_trace(path: Path, *, block_tokens: int = BLOCK_TOKENS) -> Trace:
    """The trace at `path`. `block_tokens` is used where the file itself does not say.

    Raises TraceError with path, line and reason.
    """
    lines = _read_lines(path)
    if not lines:
        raise TraceError(path, "is empty")
    trace = _parser(path, lines[0])(path, lines, block_tokens)
    if not trace.requests:
        raise TraceError(path, "holds no requests")
    return trace


def _read_lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if raw.startswith(GZIP_MAGIC) else raw
        return data.decode("utf-8-sig").splitlines()
    except (gzip.BadGzipFile, zlib.error, EOFError) as exc:
        raise TraceError(path, f"is not a whole gzip file ({exc})") from exc
    except UnicodeDecodeError as exc:
        raise TraceError(
            path, "is not text in UTF-8; a trace is JSONL or CSV, maybe gzipped"
        ) from exc
    except OSError as exc:
        raise TraceError(path, f"cannot be read ({exc.strerror or exc})") from exc


def _parser(path: Path, first: str) -> Parse:
    if first.startswith(f'{{"{recorded.MARK}"'):
        return recorded.parse
    if first.lstrip().startswith("{"):
        return session.parse if '"reqs"' in first else mooncake.parse
    if (parse := table.parser_for(first)) is not None:
        return parse
    raise TraceError(
        path,
        "has none of the known schemas: JSONL with timestamp, input_length, output_length and "
        f"hash_ids; session JSONL with reqs; CSV with the columns {table.HEADERS}",
        line=1,
    )
