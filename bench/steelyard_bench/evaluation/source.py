"""Which traces there are, and what each of them is: never quote a figure without its kind."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from steelyard_bench.evaluation import agent
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.trace import Trace


class SourceError(Exception):
    """A trace cannot be had; the message says what to do."""


class Kind(StrEnum):
    """How much of a trace happened."""

    REAL = "real"
    ARRIVALS = "real requests, made arrivals"
    HYBRID = "half real, half made"
    SAMPLED = "sampled from published distributions"
    MADE = "made"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the folder of traces, or a function that makes one."""

    name: str
    kind: Kind
    about: str
    file: str | None = None
    make: Callable[[], Trace] | None = None

    def read(self, folder: Path) -> Trace:
        """Raises SourceError."""
        if self.make is not None:
            return self.make()
        assert self.file is not None
        path = folder / self.file
        if not path.is_file():
            raise SourceError(
                f"{path} is missing. Run this in a copy of the source tree, or name its folder "
                "bench/traces with --traces"
            )
        try:
            return read_trace(path)
        except LoadError as exc:
            raise SourceError(str(exc)) from exc

    def digest(self, folder: Path) -> str:
        """Of the file, or of the code that makes it."""
        path = Path(agent.__file__) if self.file is None else folder / self.file
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else "missing"


def _burst() -> Trace:
    return agent.burst(1000, 32_768, 64)


SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {
        source.name: source
        for source in (
            Source(
                "conversation",
                Kind.REAL,
                "An hour of a chat service (Mooncake, FAST'25). Times were recorded in steps of "
                "3 s and are laid evenly over each step here.",
                "mooncake_conversation.jsonl.gz",
            ),
            Source(
                "toolagent",
                Kind.HYBRID,
                "All of `conversation` and about as many made tool calls with two shared system "
                "prompts, to the published figures of Mooncake's toolagent trace, which was not "
                "to be had.",
                "toolagent_hybrid_synthetic.jsonl.gz",
            ),
            Source(
                "claude-code",
                Kind.ARRIVALS,
                "Recorded sessions of a coding agent (kv-cache-tester, WEKA). When sessions start "
                "was drawn at random, and that equal tool prompts share their blocks is assumed.",
                "claude_code_open_1h.jsonl.gz",
            ),
            Source(
                "azure-conversation",
                Kind.REAL,
                "An hour of Azure's chat service (2023). Times and lengths alone: no two prompts "
                "share anything, so this compares how load is balanced.",
                "azure2023_conv.csv.gz",
            ),
            Source(
                "azure-code",
                Kind.REAL,
                "An hour of Azure's code completion (2023): bursts, long prompts, short replies. "
                "Times and lengths alone.",
                "azure2023_code.csv.gz",
            ),
            Source(
                "servegen",
                Kind.SAMPLED,
                "Ten minutes of reasoning at Alibaba, drawn from the distributions that ServeGen "
                "publishes by client. Times and lengths alone.",
                "servegen_r1_10min_sample.csv.gz",
            ),
            Source(
                "small-agents",
                Kind.MADE,
                "Bursts of short prompts behind eight long system prompts, some of them hot.",
                make=agent.small_agents,
            ),
            Source(
                "burst",
                Kind.MADE,
                "A thousand equal prompts of 32,768 tokens at once.",
                make=_burst,
            ),
        )
    }
)
