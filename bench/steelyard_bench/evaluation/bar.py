"""What the default has to reach, and whether it, or another of ours, does."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from steelyard_bench.evaluation import rival
from steelyard_bench.evaluation.grid import LEARNED, OURS, PRODUCT, ROBUST, SEEDS
from steelyard_bench.evaluation.markdown import exact_change
from steelyard_bench.evaluation.result import Comparison, Evaluation

MEANS: Final = {"ttft": "TTFT", "tpot": "TPOT"}
TAILS: Final = {"ttft_p99": "TTFT p99", "tpot_p99": "TPOT p99"}
MIXED: Final = {"ttft": -0.10, "tpot": -0.08}
CORES: Final = 2
BUDGET_S: Final = 25 * 60


class Bar(NamedTuple):
    """`met` is None where something that it needs was not measured."""

    about: str
    measured: str
    met: bool | None


def bars(evaluation: Evaluation, subject: str) -> list[Bar]:
    cells = evaluation.names("main")
    return [
        _never_worse(evaluation, subject, cells, MEANS, 0.02),
        _never_worse(evaluation, subject, cells, TAILS, 0.10),
        _gain(evaluation, subject, "conversation-x4", PRODUCT, {"tpot": -0.10}),
        _gain(evaluation, subject, "conversation-x5", PRODUCT, {"tpot": -0.15}),
        _not_dominated(evaluation, subject, cells),
        _gain(evaluation, subject, "conversation-x4", "vllm", {"ttft": -0.45, "tpot": -0.35}),
        _hits(evaluation, subject, "conversation-x4", "vllm", 2.0),
        _gain(evaluation, subject, "conversation-x1.8-mixed", PRODUCT, MIXED),
        _gain(evaluation, subject, "conversation-x2.5-mixed", PRODUCT, MIXED),
        *(_robust(evaluation) if subject == LEARNED else ()),
        _burst(evaluation),
        _budget(evaluation),
    ]


def _never_worse(
    evaluation: Evaluation, subject: str, cells: list[str], metrics: dict[str, str], margin: float
) -> Bar:
    figures = " and ".join(metrics.values())
    about = f"{figures}: in no cell more than {100 * margin:.0f} % worse than {PRODUCT}"
    compared = [
        (found.ratio, cell, name, found)
        for cell in cells
        for metric, name in metrics.items()
        if (found := evaluation.compare(cell, subject, PRODUCT, metric)) is not None
    ]
    if not compared:
        return Bar(about, "-", None)
    over = [each for each in compared if each[0] > 1 + margin]
    worst = max(compared, key=lambda each: each[0])
    told = over or [worst]
    measured = "; ".join(f"{cell} {name} {exact_change(found)}" for _, cell, name, found in told)
    several = len({cell for _, cell, _, _ in compared})
    return Bar(about, f"{'' if over else 'at worst '}{measured} ({several} cells)", not over)


def _gain(
    evaluation: Evaluation, subject: str, cell: str, other: str, wanted: dict[str, float]
) -> Bar:
    asked = ", ".join(
        f"{MEANS[metric]} mean {100 * most:+.0f} %" for metric, most in wanted.items()
    )
    found = {metric: evaluation.compare(cell, subject, other, metric) for metric in wanted}
    measured = ", ".join(f"{MEANS[metric]} {exact_change(each)}" for metric, each in found.items())
    return Bar(f"{cell}, against {other}: {asked} or better", measured, _reached(found, wanted))


def _reached(found: dict[str, Comparison | None], wanted: dict[str, float]) -> bool | None:
    verdicts = []
    for metric, each in found.items():
        if each is None:
            return None
        verdicts.append(each.change <= wanted[metric])
    return all(verdicts)


def _not_dominated(evaluation: Evaluation, subject: str, cells: list[str]) -> Bar:
    about = f"No baseline better in both means by more than {100 * rival.MARGIN:.0f} %, in any cell"
    if not any(rival.baselines(evaluation, cell) for cell in cells):
        return Bar(about, "-", None)
    found = list(rival.dominating(evaluation, subject, cells))
    told = "; ".join(
        f"{one.policy} in {one.cell} (TTFT {exact_change(one.ttft)}, TPOT {exact_change(one.tpot)})"
        for one in found
    )
    return Bar(about, told or "none is", not found)


def _hits(evaluation: Evaluation, subject: str, cell: str, other: str, wanted: float) -> Bar:
    found = evaluation.compare(cell, subject, other, "hit")
    about = f"{cell}, against {other}: hit ratio at least {wanted:g} times"
    if found is None:
        return Bar(about, "-", None)
    return Bar(about, f"{found.ratio:.1f} times", found.ratio >= wanted)


class Lead(NamedTuple):
    """How far the learned one is before the product when it knows less, and when it does not."""

    situation: str
    now: dict[str, float]
    usual: dict[str, float]

    @property
    def kept(self) -> bool:
        """At least half, of both means."""
        return all(self.now[metric] >= self.usual[metric] / 2 for metric in self.now)


def leads(evaluation: Evaluation) -> Iterator[Lead]:
    """Wrong coefficients against the product as it always is; all else against it in the same
    situation."""
    usual = _lead(evaluation, ROBUST, LEARNED, ROBUST)
    if usual is None:
        return
    for cell in evaluation.names("wrong"):
        for policy in evaluation.policies(cell):
            wrong = policy != LEARNED
            if policy == PRODUCT:
                continue
            now = _lead(evaluation, cell, policy, ROBUST if wrong else cell)
            if now is not None:
                situation = policy.removeprefix(f"{LEARNED}:") if wrong else cell
                yield Lead(situation, now, usual)


def _lead(
    evaluation: Evaluation, cell: str, policy: str, other_cell: str
) -> dict[str, float] | None:
    found = {
        metric: evaluation.compare(cell, policy, PRODUCT, metric, other_cell=other_cell)
        for metric in MEANS
    }
    return {m: -each.change for m, each in found.items() if each is not None} or None


def _robust(evaluation: Evaluation) -> Iterator[Bar]:
    found = list(leads(evaluation))
    for about, ours in (
        ("Any coefficient wrong by 2 times", [lead for lead in found if "=" in lead.situation]),
        ("Metrics a second late", [lead for lead in found if lead.situation.endswith("-late")]),
        ("Four routers", [lead for lead in found if lead.situation.endswith("-routers")]),
    ):
        lost = [lead for lead in ours if not lead.kept]
        told = "; ".join(map(_told, lost or ours[:1]))
        met = not lost if ours else None
        yield Bar(f"{about}: half of the lead over {PRODUCT} is left", told or "-", met)


def _told(lead: Lead) -> str:
    parts = (
        f"{MEANS[m]} {100 * lead.now[m]:.1f} % of {100 * lead.usual[m]:.1f} %" for m in lead.now
    )
    return f"{lead.situation}: {', '.join(parts)}"


def _burst(evaluation: Evaluation) -> Bar:
    about = "1,000 equal prompts at once on 8 idle instances: as many on each, give or take one"
    found = {
        policy: run["requests_by_instance"]
        for cell in evaluation.names("burst")
        for policy in evaluation.policies(cell)
        if policy in OURS
        for run in evaluation.runs(cell, policy).values()
    }
    told = ", ".join(f"{name} {each['least']} to {each['most']}" for name, each in found.items())
    met = all(each["most"] - each["least"] <= 1 for each in found.values()) if found else None
    return Bar(about, told or "-", met)


def _budget(evaluation: Evaluation) -> Bar:
    """By CPU time, so that it holds however many of the runs were kept from before."""
    about = f"All runs within {BUDGET_S // 60} minutes on {CORES} cores"
    took_s = evaluation.cpu_s() / CORES
    document = evaluation.document
    whole = not document["missing"] and document["seeds"] == SEEDS
    measured = f"{took_s / 60:.1f} minutes of CPU time each"
    return Bar(about, measured, took_s <= BUDGET_S if whole else None)
