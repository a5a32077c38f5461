"""Whether a finished request met its workload's targets."""

from steelyard_router.config import Targets


def met(
    targets: Targets, *, ttft_s: float | None, tpot_s: float | None, e2e_s: float | None
) -> bool | None:
    """True when every target that can be judged was met, False when one was missed.

    None when there is nothing to judge: no target is given, or none was measured (a request that
    does not stream shows no TTFT and no TPOT).
    """
    pairs = ((targets.ttft_ms, ttft_s), (targets.tpot_ms, tpot_s), (targets.e2e_ms, e2e_s))
    judged = [
        taken_s * 1000 <= target_ms
        for target_ms, taken_s in pairs
        if target_ms is not None and taken_s is not None
    ]
    return all(judged) if judged else None
