"""What an order is worth: G, the requests that meet their SLO per second that all of them take.

Latencies count from the arrival, so what a request has waited so far is in. G alone can be gamed
(who cannot make it any more may wait for ever), so read it beside attainment by class and the
longest wait; overdue.py is what holds that down.
"""

from collections.abc import Sequence
from heapq import heapreplace
from math import inf
from typing import NamedTuple

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane


class Score(NamedTuple):
    """What is predicted of an order."""

    met: int
    """Requests that meet all their targets."""
    total_s: float
    """Sum of all latencies, each from its arrival to its last token."""

    @property
    def g(self) -> float:
        return self.met / self.total_s if self.total_s > 0 else 0.0

    @property
    def rank(self) -> tuple[float, float]:
        """Higher is better: G, and between orders in which nobody makes it, less time."""
        return self.g, -self.total_s


class Outcome(NamedTuple):
    """What is predicted of one request; seconds from now."""

    start_s: float
    """It is let in;"""
    first_s: float
    """its first token comes,"""
    end_s: float
    """and its last."""
    met: bool


def predict(order: Sequence[Job], lane: Lane, now_s: float) -> list[Outcome]:
    """Under continuous batching: a request starts when a slot frees, its prompt is computed after
    those before it, and then its tokens come at the pace of a lane on which all of these wait.
    """
    slots, line_s = list(lane.free_s), lane.queued_s
    token_s = lane.full_token_s(len(order))
    outcomes = []
    for job in order:
        start_s = slots[0]
        first_s = line_s = max(start_s, line_s) + job.prefill_s
        end_s = first_s + job.steps * token_s
        heapreplace(slots, end_s)
        met = meets(job, now_s, first_s, end_s, token_s)
        outcomes.append(Outcome(start_s, first_s, end_s, met))
    return outcomes


def predict_batches(batches: Sequence[Sequence[Job]], lane: Lane, now_s: float) -> list[Outcome]:
    """Batch by batch: one starts when the one before it has ended altogether, its prompts are
    computed at once, and tokens come at the pace of a lane on which only it runs.

    This is the form in which annealing was published (docs/ordering.md); an instance that runs
    requests to their ends in batches, without letting others in, is like that.
    """
    begin_s = max(lane.free_s[-1], lane.queued_s)
    outcomes = []
    for batch in batches:
        token_s = lane.token_s(len(batch))
        first_s = begin_s + sum(job.prefill_s for job in batch)
        ends = [first_s + job.steps * token_s for job in batch]
        outcomes += [
            Outcome(begin_s, first_s, end_s, meets(job, now_s, first_s, end_s, token_s))
            for job, end_s in zip(batch, ends, strict=True)
        ]
        begin_s = max(ends)
    return outcomes


def score(jobs: Sequence[Job], outcomes: Sequence[Outcome], now_s: float) -> Score:
    """Of the jobs in the order in which outcomes were predicted."""
    waited_s = sum(now_s - job.arrived_s for job in jobs)
    met = sum(outcome.met for outcome in outcomes)
    return Score(met, waited_s + sum(outcome.end_s for outcome in outcomes))


def meets(job: Job, now_s: float, first_s: float, end_s: float, token_s: float) -> bool:
    """Whether a request whose first and last token come so many seconds from now is on time."""
    ttft_s = inf if job.ttft_s is None else job.ttft_s
    tpot_s = inf if job.tpot_s is None or job.output_tokens <= 1 else job.tpot_s
    e2e_s = inf if job.e2e_s is None else job.e2e_s
    latency_s = now_s - job.arrived_s
    return latency_s + first_s <= ttft_s and latency_s + end_s <= e2e_s and token_s <= tpot_s
