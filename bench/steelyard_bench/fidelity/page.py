"""docs/fidelity.md, written from the JSON alone: no figure on it comes from anywhere else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from steelyard_bench.evaluation.markdown import table, yes_no
from steelyard_bench.fidelity.verdict import bars, off

FILE: Final = "fidelity.md"
DISTURBED: Final = 0.1
"""Cores: a run beside which others used more at the usual priority is not quiet."""
FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "ttft_ms": ("TTFT mean, ms", ".0f"),
    "ttft_p50_ms": ("TTFT p50, ms", ".0f"),
    "ttft_p99_ms": ("TTFT p99, ms", ".0f"),
    "tpot_ms": ("TPOT mean, ms", ".1f"),
    "e2e_ms": ("E2E mean, ms", ".0f"),
    "hit_ratio": ("hit ratio", ".3f"),
    "busiest": ("share of the busiest engine", ".3f"),
}
COSTS: Final[Mapping[str, tuple[str, float]]] = {
    "base_s": ("a step, ms", 1e3),
    "per_prefill_token_s": ("a prefill token, us", 1e6),
    "attention_s": ("a pair of tokens in attention, ns", 1e9),
    "per_sequence_s": ("a decoding sequence in a step, us", 1e6),
    "per_context_token_s": ("a token of its context, ns", 1e9),
    "overhead_s": ("a request, outside of steps, ms", 1e3),
}
OPENING: Final = """\
How far `steelyard simulate` can be believed. The live router has played one replay before real
engines (vLLM on a CPU), and before processes of the simulated engine, once per policy; the
simulation has played the same. `make fidelity` makes the figures (`build/fidelity.json`) and this
page; nothing on it was typed in. How it is done, and why so, is said in
`bench/steelyard_bench/fidelity/__init__.py`."""
BESIDE: Final = """\
A machine that others use too is not equally fast all the time. Before, between and behind the
replays the engines were probed; "pace" is how much longer a typical request takes by the probes
around a replay than by all of them, and the last columns are the simulation of engines just as
fast as that, which the first column above does not know:"""
REAL: Final = """\
Two servers, each held to one core, with a tiny model of random weights. They share memory
bandwidth and the last cache, and the router and the client take their time from the same two
cores: real engines on machines of their own disturb each other less."""
CHANCE: Final = """\
"chance" is the standard deviation of one run in the simulation when arrivals come up to 50 ms
later: what a single live run may be off without anything being wrong."""
PLACED: Final = """\
Where the simulation decides otherwise once, all that follows differs. So the model of the engine is
also fed with what each engine was really sent, and compared request by request:"""
SIMULATED: Final = """\
Here the engine is the same model on both sides; what differs is HTTP, the event loop, the clock,
and that a live router learns a moment later. Times are model time: the engines run {speed:g} times
as fast, and so does the replay."""
LIMITS: Final = """\
- A CPU is no GPU. What is shown is that steps, batching, the cache and the router's view are
  modelled as they are in vLLM; the constants of a GPU are another matter, and are fitted in the
  same way there.
- The real engines decide on a step when the last one has ended (`--no-async-scheduling`). Deciding
  one step ahead, vLLM's default, is not in the model: there a request waits for one step more.
- The conversations are real, their lengths are not: prompts are divided by {prompt}, replies by
  {reply}.
- Two engines of equal speed. Failures, joins and leaves, several routers: not compared here.
- One run per policy. Differences below the chance above mean nothing.
- The engines need their cores. On a machine that others keep busy, fit and replay see different
  engines, and what comes out says nothing: see what others used. `--ahead` (as root) helps."""


def write_page(document: Mapping[str, Any], docs: Path) -> Path:
    """Its path."""
    docs.mkdir(parents=True, exist_ok=True)
    path = docs / FILE
    path.write_text("\n\n".join(_parts(document)) + "\n", encoding="utf-8")
    return path


def _parts(document: Mapping[str, Any]) -> Iterator[str]:
    load = document["load"]
    yield "# Fidelity"
    yield OPENING + _measured(document)
    rows = [(bar.about, bar.measured, yes_no(bar.met)) for bar in bars(document)]
    yield table(("what it has to reach", "measured", ""), rows, left=3)
    yield "## Real engines"
    yield REAL
    yield from _compared(document["real"])
    yield from _beside(document["real"])
    yield "## Simulated engines"
    yield SIMULATED.format(speed=document["modelled"]["speed"])
    yield from _compared(document["modelled"])
    yield "## What was replayed"
    yield _load(document)
    yield "## The fit"
    yield from _fit(document["fit"])
    yield "## What this does not show"
    yield LIMITS.format(**load)


def _measured(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    ahead = ", run before all others' (`--ahead`)" if document["ahead"] else ""
    return (
        f"\nMeasured in {document['wall_s'] / 60:.1f} minutes on {machine['cpu']}, "
        f"{machine['cores']} cores, Python {machine['python']}, vLLM "
        f"{document['engine']['version']}{ahead}."
    )


def _compared(part: Mapping[str, Any]) -> Iterator[str]:
    policies = part["policies"]
    yield table(
        ("", "policy", "live", "simulated", "difference", "chance"),
        [
            (label if number == 0 else "", one["policy"], *_row(one, figure, form))
            for figure, (label, form) in FIGURES.items()
            for number, one in enumerate(policies)
        ],
        left=2,
    )
    overhead_ms = 1000 * part["overhead_s"]
    yield f"{CHANCE}\n{overhead_ms:.1f} ms, measured with lone prompts, are added to each request."
    yield PLACED
    yield table(
        ("policy", "requests", "cached tokens equal", "TTFT mean", "off for half of them, ms"),
        [
            (
                one["policy"],
                str(one["placed"]["requests"]),
                f"{100 * one['placed']['same_cached']:.1f} %",
                f"{100 * one['placed']['ttft']:+.1f} %",
                f"{one['placed']['off_ms']:.1f}",
            )
            for one in policies
        ],
    )
    yield _others(part)


def _row(one: Mapping[str, Any], figure: str, form: str) -> tuple[str, ...]:
    live, simulated = one["live"][figure], one["simulated"][figure]
    return (
        f"{live:{form}}",
        f"{simulated:{form}}",
        f"{100 * off(one, figure):+.1f} %",
        f"{100 * one['chance'][figure] / simulated:.1f} %" if simulated else "-",
    )


def _others(part: Mapping[str, Any]) -> str:
    usual = max(one["others"]["usual"] for one in part["policies"])
    niced = max(one["others"]["niced"] for one in part["policies"])
    told = (
        f"Other processes of the machine used at most {usual:.2f} cores meanwhile at the usual "
        f"priority, and {niced:.2f} below it."
    )
    return told if usual <= DISTURBED else f"{told} **It was not quiet.**"


def _load(document: Mapping[str, Any]) -> str:
    load, engine = document["load"], document["engine"]
    return (
        f"{load['requests']} requests in {load['span_s']:g} s from `{load['trace']}`: all "
        f"conversations of at least {load['turns']} turns that a share of {load['share']:g} of "
        f"them fell on, {load['speed']:g} times as fast; prompts divided by {load['prompt']} "
        f"({load['input_tokens']:,} tokens in the mean, {load['longest_tokens']:,} at most, longer "
        f"ones than {load['longest']:,} left out), replies by {load['reply']} "
        f"({load['output_tokens']:g} in the mean). One cache without an end would hold "
        f"{100 * load['reuse']:.0f} % of the prompt tokens. Engines: {engine['blocks']} blocks of "
        f"{engine['block_tokens']} tokens, {engine['step_tokens']} tokens a step, "
        f"{engine['sequences']} sequences."
    )


def _fit(fit: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "The seconds for one of each, by non-negative least squares of relative errors over "
        f"{fit['rounds']} rounds of probes, with both engines at work:"
    )
    yield table(
        ("", "cost"),
        [(label, f"{scale * fit['costs'][name]:.2f}") for name, (label, scale) in COSTS.items()],
    )
    yield "How far these costs are from what they were fitted to:"
    yield table(
        ("", "observations", "median error", "median of its size", "largest"),
        [
            (
                kind,
                str(found["observations"]),
                f"{100 * found['median']:+.1f} %",
                f"{100 * found['typical']:.1f} %",
                f"{100 * found['largest']:.1f} %",
            )
            for kind, found in fit["errors"].items()
        ],
    )
    yield (
        "The profile is in `build/fidelity/profile.json`; `steelyard simulate` and `steelyard "
        "engine` take it by `--profile`."
    )


def _beside(part: Mapping[str, Any]) -> Iterator[str]:
    yield BESIDE
    yield table(
        ("policy", "pace", "TTFT mean, ms", "difference", "TPOT mean, ms", "difference"),
        [
            (
                one["policy"],
                f"{one['pace']:.2f}",
                *(
                    told
                    for figure, form in (("ttft_ms", ".0f"), ("tpot_ms", ".1f"))
                    for told in (
                        f"{one['beside'][figure]:{form}}",
                        f"{100 * (one['beside'][figure] / one['live'][figure] - 1):+.1f} %",
                    )
                ),
            )
            for one in part["policies"]
        ],
    )
