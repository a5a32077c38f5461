"""The ways of ordering that are compared, each as a section of the router's configuration. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from steelyard_bench.live_order.load import KINDS, LONGEST_STRICT_TOKENS, STRICT, Kind
from steelyard_bench.live_order.target import Targets


@dataclass(frozen=True, slots=True)
class Cell:
    """`order`: of what waits in front of the engines; None: there nobody waits. `classes`: the
    strict class has a higher priority. `rank`: engines are told each request's.
    """

    about: str
    order: str | None = None
    classes: bool = False
    rank: bool = False

    @property
    def by_arrival(self) -> bool:
        """Nothing is ordered anywhere."""
        return self.order in {None, "FCFS"} and not self.rank

    def policy(self, targets: Targets | None, *, sequences: int) -> dict[str, Any]:
        """The section; an engine runs so many sequences."""
        scheduler = {
            "mode": "Disabled" if self.order is None else "Enforce",
            "order": self.order or "FCFS",
            "engine_priority": "Header" if self.rank else "None",
        }
        return {
            "workloads": [self._workload(kind, targets) for kind in KINDS],
            "batch": {"max_sequences": sequences},
            "scheduler": scheduler,
        }

    def _workload(self, kind: Kind, targets: Targets | None) -> dict[str, Any]:
        strict = kind is STRICT
        found: dict[str, Any] = {"name": kind.name, "priority": int(strict and self.classes)}
        if strict:
            found["match"] = {"prompt_tokens_max": LONGEST_STRICT_TOKENS}
        else:
            found["default"] = True
        if targets is not None:
            found["slo"] = targets.section(kind)
        return found


CELLS: Final[Mapping[str, Cell]] = MappingProxyType(
    {
        "engine-fcfs": Cell("in order of arrival, waiting in the engines"),
        "pool-fcfs": Cell("in order of arrival, waiting in front", "FCFS"),
        "pool-deadlines": Cell("ordered in front, by targets alone", "Auto"),
        "pool-classes": Cell("ordered in front, by class and target", "Auto", classes=True),
        "engine-classes": Cell("ordered in the engines alike", classes=True, rank=True),
        "both-classes": Cell("ordered alike in both places", "Auto", classes=True, rank=True),
    }
)
