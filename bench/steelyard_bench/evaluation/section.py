"""The tables of the cells that are compared policy by policy."""

from collections.abc import Iterator
from math import sqrt
from typing import Final

from steelyard_bench.evaluation import rival
from steelyard_bench.evaluation.bar import MEANS
from steelyard_bench.evaluation.grid import LEARNED, OURS, PRODUCT
from steelyard_bench.evaluation.markdown import (
    change,
    exact_change,
    figure,
    mean,
    percent,
    share,
    table,
)
from steelyard_bench.evaluation.result import Evaluation, Figure

METHOD: Final = f"""\
- A cell is a trace at a multiple of its rate on 16 instances of the profile `reference`, unless it says otherwise.
  Times of a trace are replayed as they are (open loop), each up to 50 ms later by the seed. Runs of one seed have the
  same arrivals for every policy, and comparisons are made over the seeds that both have; ± is the standard deviation
  over seeds (of a change: the standard error of its mean).
- Policies see what a router sees: first bytes, ends, growth of replies, metrics polled once a second. A baseline whose
  system sees more (its engines' cache events, a calibrated profile) gets that; each file of
  `steelyard_simulator/baselines` says what, and where its rule and constants are from.
- "Within" is the share of requests with TTFT up to 2 s and TPOT up to 50 ms; policies are not told of these targets,
  except where fleets are sized.
- Networks take no time, prompts are as long as the trace says, and no engine fails.
- `{PRODUCT}` is LMetric's rule. `{LEARNED}` starts as that and learns what steps cost; that time is in its figures."""  # noqa: E501
LABELS: Final = {
    "ttft": "TTFT mean",
    "tpot": "TPOT mean",
    "ttft_p99": "TTFT p99",
    "tpot_p99": "TPOT p99",
}


def picture(name: str) -> str:
    return f"![{name}](evaluation/{name}.svg)"


def summary(evaluation: Evaluation) -> Iterator[str]:
    """Each subject against the product, vLLM's balancing and the best of the baselines."""
    cells = evaluation.names("main")
    if not cells:
        return
    yield (
        f"How the means of {_named(evaluation)} differ from those of `{PRODUCT}` (LMetric's rule), "
        "of vLLM's balancing and of the best baseline in that figure: less is better."
    )
    against = (f"against {PRODUCT}", "vllm", "the best baseline")
    head = ("kind", "hits", "TTFT ms", *against, "TPOT ms", *against)
    for subject in evaluation.subjects:
        rows = [_summary_row(evaluation, subject, cell) for cell in cells]
        yield table((subject, *head), rows, left=2)


def _named(evaluation: Evaluation) -> str:
    """All subjects, and which is the default."""
    default, *others = (f"`{name}`" for name in evaluation.subjects)
    return " and ".join((f"{default}, the default,", *others))


def _summary_row(evaluation: Evaluation, subject: str, cell: str) -> list[str]:
    row = [cell, evaluation.cells[cell]["kind"], share(evaluation.figure(cell, subject, "hit"))]
    for metric in MEANS:
        best = _best(evaluation, subject, cell, metric)
        compared = evaluation.compare(cell, subject, best, metric) if best else None
        row += [
            mean(evaluation.figure(cell, subject, metric)),
            ""
            if subject == PRODUCT
            else exact_change(evaluation.compare(cell, subject, PRODUCT, metric)),
            change(evaluation.compare(cell, subject, "vllm", metric)),
            f"{change(compared)} ({best})" if best else "-",
        ]
    return row


def _best(evaluation: Evaluation, subject: str, cell: str, metric: str) -> str | None:
    """The baseline against which the subject does worst."""
    compared = [
        (found.ratio, name)
        for name in rival.baselines(evaluation, cell)
        if (found := evaluation.compare(cell, subject, name, metric)) is not None
    ]
    return max(compared)[1] if compared else None


def losses(evaluation: Evaluation) -> Iterator[str]:
    cells = [*evaluation.names("main"), *evaluation.names("mixed"), *evaluation.names("profile")]
    for subject in evaluation.subjects:
        dominated = list(rival.dominating(evaluation, subject, cells))
        told = "; ".join(f"{one.policy} in {one.cell}" for one in dominated)
        yield (
            f"Better than `{subject}` in both means, by more than {100 * rival.MARGIN:.0f} %: "
            f"{told or 'no baseline in any cell'}."
        )
        if found := list(rival.losses(evaluation, subject, cells)):
            yield (
                f"The best of all policies, where it is better than `{subject}` in one figure "
                f"(means by more than {100 * rival.MARGIN:.0f} %, 99th percentiles by more than "
                f"{100 * rival.TAIL_MARGIN:.0f} %), and what it pays in the others:"
            )
            rows = [
                (loss.cell, LABELS[loss.metric], loss.policy, *_others(evaluation, subject, loss))
                for loss in found
            ]
            yield table(("cell", "figure", "best", *LABELS.values()), rows, left=3)


def _others(evaluation: Evaluation, subject: str, loss: rival.Loss) -> list[str]:
    """How the better one stands against the subject in all figures."""
    return [
        change(evaluation.compare(loss.cell, loss.policy, subject, metric)) for metric in LABELS
    ]


def cells(evaluation: Evaluation, pictures: set[str]) -> Iterator[str]:
    yield (
        "Ordered by the geometric mean of the two means. The last columns say how the means of "
        "ours differ from that policy's."
    )
    for cell in evaluation.names("main"):
        yield f"### {cell}"
        yield about(evaluation, cell)
        yield cell_table(evaluation, cell)
        if f"latency-{cell}" in pictures:
            yield picture(f"latency-{cell}")


def about(evaluation: Evaluation, cell: str) -> str:
    run = next(
        run
        for policy in evaluation.policies(cell)
        for run in evaluation.runs(cell, policy).values()
    )
    made = evaluation.cells[cell]
    rate = run["requests"] / run["span_s"] if run["span_s"] else 0.0
    return (
        f"{run['requests']:,} requests, {rate:.1f}/s, on {made['instances']} instances "
        f"({made['profile']}); {made['kind']}."
    )


def cell_table(evaluation: Evaluation, cell: str) -> str:
    head = ("policy", "seeds", "TTFT ms", "p99", "TPOT ms", "p99", "E2E ms", "hits", "within")
    against = [part for name in evaluation.subjects for part in (f"{name}: TTFT", "TPOT")]
    return table(
        (*head, *against),
        [_policy_row(evaluation, cell, policy) for policy in _ordered(evaluation, cell)],
    )


def _policy_row(evaluation: Evaluation, cell: str, policy: str) -> list[str]:
    def found(metric: str) -> Figure | None:
        return evaluation.figure(cell, policy, metric)

    name = f"**{policy}**" if policy in OURS else policy
    return [
        name,
        str(len(evaluation.runs(cell, policy))),
        *(figure(found(metric)) for metric in ("ttft", "ttft_p99", "tpot", "tpot_p99", "e2e")),
        share(found("hit")),
        percent(found("attainment")),
        *(
            "" if policy == name else change(evaluation.compare(cell, name, policy, metric))
            for name in evaluation.subjects
            for metric in MEANS
        ),
    ]


def _ordered(evaluation: Evaluation, cell: str) -> list[str]:
    def middle(policy: str) -> float:
        means = [evaluation.figure(cell, policy, metric) for metric in MEANS]
        ttft, tpot = (each.mean if each else float("inf") for each in means)
        return sqrt(ttft * tpot)

    return sorted(evaluation.policies(cell), key=middle)
