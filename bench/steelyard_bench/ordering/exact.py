"""The best there is, for the few jobs for which everything can be tried.

`best_order` tries every permutation of a timeline. `best_batches` tries every way to cut the jobs
into batches one after the other. What is left to do depends only on who is left and on when the
next batch begins, and neither a later begin nor a longer sum nor fewer met targets ever help, so of
all ways to serve a set only those are followed on that are not beaten in all three. The tests hold
it against plain enumeration.
"""

from collections.abc import Iterator, Sequence
from heapq import heapreplace
from itertools import combinations
from typing import NamedTuple

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.objective import Score, meets


class State(NamedTuple):
    """After some batches: when the next begins, targets missed, seconds so far. Less is better."""

    begin_s: float
    missed: int
    total_s: float


def best_order(jobs: Sequence[Job], lane: Lane, now_s: float) -> Score:
    """Of all permutations, whatever their classes; n! of them, beginnings shared."""
    token_s = lane.full_token_s(len(jobs))
    waited_s = sum(now_s - job.arrived_s for job in jobs)
    decode_s = [job.steps * token_s for job in jobs]
    best = Score(0, float("inf"))

    def place(left: list[int], slots: list[float], line_s: float, met: int, total_s: float) -> None:
        nonlocal best
        if not left:
            best = max(best, Score(met, total_s), key=lambda score: score.rank)
        for number in left:
            job = jobs[number]
            first_s = max(slots[0], line_s) + job.prefill_s
            end_s = first_s + decode_s[number]
            after = slots.copy()
            heapreplace(after, end_s)
            on_time = meets(job, now_s, first_s, end_s, token_s)
            rest = [other for other in left if other != number]
            place(rest, after, first_s, met + on_time, total_s + end_s)

    place(list(range(len(jobs))), list(lane.free_s), lane.queued_s, 0, waited_s)
    return best


def best_batches(jobs: Sequence[Job], lane: Lane, now_s: float) -> Score:
    """Of all ordered partitions into batches of at most as many as the lane has slots."""
    everyone = (1 << len(jobs)) - 1
    waited_s = sum(now_s - job.arrived_s for job in jobs)
    fronts: dict[int, list[State]] = {0: [State(max(lane.free_s[-1], lane.queued_s), 0, waited_s)]}
    for served in range(everyone):
        front = _front(fronts.pop(served))
        for mask, batch in _batches(jobs, everyone & ~served, lane.width):
            ends = [_after(state, batch, lane, now_s) for state in front]
            fronts.setdefault(served | mask, []).extend(ends)
    scores = [Score(len(jobs) - state.missed, state.total_s) for state in fronts[everyone]]
    return max(scores, key=lambda score: score.rank)


def _batches(jobs: Sequence[Job], left: int, width: int) -> Iterator[tuple[int, list[Job]]]:
    members = [number for number in range(len(jobs)) if left >> number & 1]
    for size in range(1, min(width, len(members)) + 1):
        for chosen in combinations(members, size):
            yield sum(1 << number for number in chosen), [jobs[number] for number in chosen]


def _after(state: State, batch: list[Job], lane: Lane, now_s: float) -> State:
    token_s = lane.token_s(len(batch))
    first_s = state.begin_s + sum(job.prefill_s for job in batch)
    begin_s, missed, total_s = first_s, state.missed, state.total_s
    for job in batch:
        end_s = first_s + job.steps * token_s
        begin_s = max(begin_s, end_s)
        missed += not meets(job, now_s, first_s, end_s, token_s)
        total_s += end_s
    return State(begin_s, missed, total_s)


def _front(states: list[State]) -> list[State]:
    """Those that no other beats in all three."""
    kept: list[State] = []
    for state in sorted(set(states)):
        if not any(one.missed <= state.missed and one.total_s <= state.total_s for one in kept):
            kept.append(state)
    return kept
