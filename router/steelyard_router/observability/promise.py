"""What a finished request says about a workload's promise, and to the windows that alerts judge.

The workload need not be the one that the request was placed under: a policy on trial asks the same.
"""

from steelyard_router.alerts.attainment import met
from steelyard_router.alerts.window import Windows
from steelyard_router.config import Targets
from steelyard_router.observability.outcome import Outcome


def attainment(outcome: Outcome, targets: Targets) -> bool | None:
    """Whether a request got what its workload promises; None when it says nothing about that.

    A failure misses the promise. The client's own errors are left out. So is a client that left,
    unless what it had seen by then was already too late: a person who stops an answer is no miss.
    """
    if targets.ttft_ms is None and targets.tpot_ms is None and targets.e2e_ms is None:
        return None
    if outcome.result == "client_error":
        return None
    held = met(targets, ttft_s=outcome.ttft_s, tpot_s=outcome.tpot_s, e2e_s=outcome.e2e_s)
    if outcome.result == "client_gone":
        return False if held is False else None
    return held if outcome.result == "ok" else False


def feed(
    windows: Windows, workload: str, outcome: Outcome, *, held: bool | None, now: float
) -> None:
    """Give the windows what this request measured; `held` is its attainment."""
    record = windows.record
    if outcome.score is not None:
        record(workload, "Score", outcome.score, now)
    if outcome.ttft_s is not None:
        record(workload, "TTFT", outcome.ttft_s, now)
    if outcome.tpot_s is not None:
        record(workload, "TPOT", outcome.tpot_s, now)
    if outcome.e2e_s is not None:
        record(workload, "E2E", outcome.e2e_s, now)
    if (error := outcome.ttft_error) is not None:
        record(workload, "PredictionError", error, now)
    if held is not None:
        windows.met(workload, ok=held, now=now)
