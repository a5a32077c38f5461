"""What a finished try means: for the request's outcome, for the instance's health, for what is
learned.

A 4xx, and an in-stream error that is the client's fault, say nothing against an instance.
"""

from steelyard_router.observability.outcome import Outcome
from steelyard_router.proxy.attempt import Attempt, Cause, Ending

AGAINST_INSTANCE = frozenset({"upstream_error", "timeout"})
"""Results that count as failures of the instance."""


def result_of(ending: Ending, attempt: Attempt) -> str:
    """One of the results that `Outcome` names."""
    if ending.cause is Cause.TIMEOUT:
        return "timeout"
    if ending.cause is Cause.CLIENT:
        return "client_gone"
    scan = attempt.scan
    if ending.cause is not Cause.DELIVERED or attempt.status >= 500 or scan is None or scan.aborted:
        return "upstream_error"
    if attempt.status >= 400:
        return "client_error"
    if scan.error:
        return "client_error" if scan.clients_fault else "upstream_error"
    return "ok"


def fill(outcome: Outcome, attempt: Attempt, *, started_s: float, now: float) -> None:
    """Puts what the response said, and when, into the outcome of a request that came in at
    `started_s`.
    """
    scan = attempt.scan
    assert scan is not None
    outcome.output_tokens = scan.output_events
    if (usage := scan.usage) is not None:
        outcome.output_tokens = usage.output_tokens or 0
        outcome.cached_tokens = usage.cached_tokens
        if usage.prompt_tokens:
            outcome.prompt_tokens = usage.prompt_tokens
    if outcome.result != "ok":
        return
    outcome.e2e_s = now - started_s
    if outcome.streams and attempt.first_token_s is not None:
        outcome.ttft_s = attempt.first_token_s - started_s
        if outcome.output_tokens > 1:
            decode_s = attempt.last_token_s - attempt.first_token_s
            outcome.tpot_s = decode_s / (outcome.output_tokens - 1)
