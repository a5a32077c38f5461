"""What others have published about the same comparison. Quotations, none of them measured here."""

from typing import Final, NamedTuple


class Published(NamedTuple):
    """LMetric against another policy, and what is nearest to that here."""

    against: str
    where: str
    ttft: str
    tpot: str
    source: str
    cell: str
    policy: str


PAPER: Final = "LMetric, arXiv 2603.15202"
COMPARISONS: Final[tuple[Published, ...]] = (
    Published(
        "vLLM's balancing", "ChatBot, 30B, mean", "-92 %", "-24 %", "abstract, version 3",
        "conversation-x4", "vllm",
    ),
    Published(
        "production scheduler (linear)", "canary of one day, mean", "-39 %", "-51 %",
        "abstract, version 3", "conversation-x4", "linear",
    ),
    Published(
        "llm-d (least TTFT by simulation)", "ChatBot", "about equal", "p99 -13 %",
        "notes on section 6.1", "conversation-x4", "least-ttft",
    ),
    Published(
        "llm-d (least TTFT by simulation)", "ToolAgent, some rates, mean", "+10 %", "-30 %",
        "notes on section 6.1", "toolagent-x2.5", "least-ttft",
    ),
    Published(
        "Preble, tuned", "ChatBot, 30B, mean", "-56 %", "-8 %", "notes on section 6.2",
        "conversation-x4", "preble",
    ),
    Published(
        "PolyServe", "every rate", "lower", "lower", "notes on section 6.2",
        "conversation-x4", "polyserve",
    ),
)  # fmt: skip

SYSTEMS: Final = ("vLLM", "llm-d", "LMetric")
ABSOLUTE: Final[tuple[tuple[str, tuple[str, str, str]], ...]] = (
    ("TTFT mean, ms", ("352", "89", "48")),
    ("TTFT p99, ms", ("1,250", "320", "285")),
    ("TPOT mean, ms", ("42", "28", "27")),
    ("TPOT p99, ms", ("215", "165", "142")),
    ("hit ratio", ("0", ".68", ".72")),
)
"""From a summary of the paper; neither the paper nor its artifact has them, as far as we found."""
WORKLOADS: Final[tuple[tuple[str, str], ...]] = (
    ("ChatBot", "conversation-x4"),
    ("AgentTool", "toolagent-x2.5"),
    ("Coder", "claude-code-x1"),
    ("API", "small-agents-x1"),
)
"""Of the paper, and the nearest cell here: other traces, engines and hardware."""
