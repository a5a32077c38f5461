"""Parts of the page that ask one question each: fleet sizes, errors, hardware, the literature."""

from collections.abc import Iterator

from steelyard_bench.evaluation import published as quoted
from steelyard_bench.evaluation.bar import MEANS, leads
from steelyard_bench.evaluation.grid import LEARNED, PRODUCT, ROBUST
from steelyard_bench.evaluation.markdown import amount, change, table
from steelyard_bench.evaluation.result import Evaluation
from steelyard_bench.evaluation.section import about, cell_table, picture
from steelyard_bench.evaluation.work import FLEETS, WANTED


def capacity(evaluation: Evaluation, pictures: set[str]) -> Iterator[str]:
    names = evaluation.names("capacity")
    if not names:
        return
    yield (
        f"The smallest fleet on which {100 * WANTED:.0f} % of the requests meet every target, "
        "found by halving, with one seed: differences of one instance may be chance. Here policies "
        "that read targets are told of them."
    )
    if "capacity" in pictures:
        yield picture("capacity")
    policies = dict.fromkeys(policy for name in names for policy in evaluation.policies(name))
    rows = [[policy, *(_needed(evaluation, name, policy) for name in names)] for policy in policies]
    yield table(("policy", *(_capacity_title(evaluation, name) for name in names)), rows)


def _capacity_title(evaluation: Evaluation, name: str) -> str:
    slo = evaluation.cells[name]["slo"]
    cell = name.removesuffix("-capacity")
    return f"{cell}: TTFT {slo['ttft_s']:g} s, TPOT {1000 * slo['tpot_s']:g} ms"


def _needed(evaluation: Evaluation, cell: str, policy: str) -> str:
    runs = list(evaluation.runs(cell, policy).values())
    if not runs:
        return "-"
    needed, ours = runs[0]["instances_needed"], _size(evaluation, cell, LEARNED)
    if needed is None:
        attained = 100 * runs[0]["probes"].get(str(FLEETS[1]), 0.0)
        return f"more than {FLEETS[1]} ({attained:.1f} % there)"
    if policy == LEARNED or ours is None:
        return str(needed)
    return f"{needed} ({LEARNED} {100 * (ours / needed - 1):+.0f} %)"


def _size(evaluation: Evaluation, cell: str, policy: str) -> int | None:
    runs = list(evaluation.runs(cell, policy).values())
    size = runs[0]["instances_needed"] if runs else None
    return size if isinstance(size, int) else None


def mixed(evaluation: Evaluation) -> Iterator[str]:
    names = evaluation.names("mixed")
    if names:
        yield "Half of the 16 instances are 2.5 times slower; nobody is told which."
    for name in names:
        yield f"### {name}"
        yield cell_table(evaluation, name)


def wrong(evaluation: Evaluation) -> Iterator[str]:
    rows = [
        (
            lead.situation,
            *(
                f"{100 * lead.now[metric]:.1f} % of {100 * lead.usual[metric]:.1f} %"
                for metric in lead.now
            ),
            "yes" if lead.kept else "**no**",
        )
        for lead in leads(evaluation)
    ]
    if rows:
        yield (
            f"How much of `{LEARNED}`'s lead over `{PRODUCT}` is left on {ROBUST} where a learned "
            "coefficient is off by that factor, metrics come a second late, or four routers see "
            "their own requests alone."
        )
        yield table(("", "lead in TTFT mean", "in TPOT mean", "at least half of both"), rows)


def profiles(evaluation: Evaluation) -> Iterator[str]:
    names = evaluation.names("profile")
    if names:
        yield (
            "The same trace on the two other profiles, whose constants are arithmetic on data "
            "sheets (`steelyard_simulator/engine/profile.py`). Their caches are far smaller, so "
            "fewer prefixes survive; prompts that do not fit are left out."
        )
    for name in names:
        yield f"### {name}"
        yield about(evaluation, name)
        yield cell_table(evaluation, name)


def published(evaluation: Evaluation) -> Iterator[str]:
    rows = [_published_row(evaluation, row) for row in quoted.COMPARISONS]
    if not any(evaluation.runs(row.cell, row.policy) for row in quoted.COMPARISONS):
        return
    yield (
        f"What the authors of {quoted.PAPER} report for their rule against others (16 H20 GPUs, "
        "real engines, their traces), as far as its abstract and notes that others took of it say, "
        f"and the nearest comparison here, for the same rule (`{PRODUCT}`) and for `{LEARNED}`. "
        "Signs can be compared, sizes hardly: loads, traces and hardware differ."
    )
    head = ("against", "there", "TTFT", "TPOT", "source", "here", "rule: TTFT", "TPOT")
    yield table((*head, f"{LEARNED}: TTFT", "TPOT"), rows, left=6)
    yield (
        "A summary of the paper gives the absolute values in the first three columns, without "
        "saying for which workload; no source of them was found, and no hits at all for vLLM "
        "cannot be right, since balancing alone finds some. Beside them what the same three rules "
        f"and `{LEARNED}` do here:"
    )
    yield from (
        _absolute(evaluation, workload, cell)
        for workload, cell in quoted.WORKLOADS
        if evaluation.runs(cell, LEARNED)
    )


def _published_row(evaluation: Evaluation, row: quoted.Published) -> list[str]:
    here = [
        change(evaluation.compare(row.cell, policy, row.policy, metric))
        for policy in (PRODUCT, LEARNED)
        for metric in MEANS
    ]
    there = [row.against, row.where, row.ttft, row.tpot, row.source]
    return [*there, f"{row.policy}, {row.cell}", *here]


def _absolute(evaluation: Evaluation, workload: str, cell: str) -> str:
    policies = ("vllm", "least-ttft", PRODUCT, LEARNED)
    metrics = ("ttft", "ttft_p99", "tpot", "tpot_p99", "hit")
    rows = []
    for (label, told), metric in zip(quoted.ABSOLUTE, metrics, strict=True):
        found = [evaluation.figure(cell, policy, metric) for policy in policies]
        here = [
            "-" if each is None else f"{each.mean:.2f}" if metric == "hit" else amount(each.mean)
            for each in found
        ]
        rows.append([label, *told, *here])
    head = (f"{workload}: {cell}", *(f"{name}, summary" for name in quoted.SYSTEMS), *policies)
    return table(head, rows)
