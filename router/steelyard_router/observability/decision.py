"""Why the last requests went where they went: a ring of decisions with every candidate's terms.

It holds sizes and costs only, neither prompt text nor its hashes, and keeps no lease alive.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from steelyard_router.scheduling.candidate import Candidate
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Decision


@dataclass(frozen=True, slots=True)
class Record:
    """One decision, `at` on the router's clock."""

    at: float
    request_id: str
    workload: str
    strategy: str
    instance: str
    score: float
    prompt_tokens: int
    hit_tokens: float
    candidates: Sequence[Candidate]


class DecisionLog:
    """The last `size` decisions; 0 keeps none."""

    def __init__(self, size: int) -> None:
        self._records: deque[Record] = deque(maxlen=size)
        self.size = size

    def resize(self, size: int) -> None:
        """Keep this many from now on, and of those there are, the newest."""
        if size != self.size:
            self._records = deque(self._records, maxlen=size)
            self.size = size

    def record(self, request_id: str, view: RequestView, decision: Decision, now: float) -> None:
        self._records.append(
            Record(
                now,
                request_id,
                view.workload,
                decision.strategy,
                decision.instance,
                decision.score,
                view.prompt_tokens,
                decision.hit_tokens,
                decision.terms or (),
            )
        )

    def to_dict(self, count: int, now: float, wall: float) -> dict[str, object]:
        """The newest `count`, newest first. `wall` is the Unix time of `now`.

        It is for orjson, which writes a Candidate as an object of its fields.
        """
        newest = islice(reversed(self._records), count)
        return {"decisions": [_row(record, wall - now) for record in newest]}


def _row(record: Record, offset_s: float) -> dict[str, object]:
    return {
        "time": datetime.fromtimestamp(record.at + offset_s, UTC).isoformat(
            timespec="milliseconds"
        ),
        "request_id": record.request_id,
        "workload": record.workload,
        "strategy": record.strategy,
        "instance": record.instance,
        "score": record.score,
        "prompt_tokens": record.prompt_tokens,
        "hit_tokens": record.hit_tokens,
        "candidates": record.candidates,
    }
