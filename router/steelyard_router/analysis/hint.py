"""What a client's headers may change of its workload's targets and priority, and what they tell of
its reply.

Under LowerOnly a hint can only make the router's task easier: a looser target, a lower priority (a
smaller number). A target that the workload does not have cannot be loosened, so there the hint says
nothing. Trusted takes hints as they are, Ignore does not look at them.

How long its reply will be a client may say unless hints are ignored. That makes a request neither
stricter nor more urgent; who says too little gains a place among the short ones, at most.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from steelyard_router.config import ClientHints
from steelyard_router.errors import BadRequest
from steelyard_router.scheduling.request import SLO

TTFT_HEADERS = ("x-slo-ttft-ms", "x-llm-d-slo-ttft-ms")
TPOT_HEADERS = ("x-slo-tpot-ms", "x-llm-d-slo-tpot-ms")
PRIORITY_HEADER = "x-steelyard-priority"
OUTPUT_HEADER = "x-steelyard-output-tokens"

_HEADERS = frozenset({*TTFT_HEADERS, *TPOT_HEADERS, PRIORITY_HEADER})
_MILLISECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_PRIORITY = re.compile(r"-?[0-9]{1,9}")
_TOKENS = re.compile(r"[0-9]{1,9}")


def apply(
    headers: Mapping[str, str], slo: SLO, priority: int, hints: ClientHints
) -> tuple[SLO, int]:
    """The targets and the priority that hold for a request. BadRequest for a malformed hint."""
    if _HEADERS.isdisjoint(headers) or hints is ClientHints.IGNORE:
        return slo, priority
    trusted = hints is ClientHints.TRUSTED
    ttft_s, tpot_s = _seconds(headers, TTFT_HEADERS), _seconds(headers, TPOT_HEADERS)
    if ttft_s is not None and (trusted or _looser(ttft_s, slo.ttft_s)):
        slo = replace(slo, ttft_s=ttft_s)
    if tpot_s is not None and (trusted or _looser(tpot_s, slo.tpot_s)):
        slo = replace(slo, tpot_s=tpot_s)
    asked = _priority(headers)
    if asked is not None and (trusted or asked < priority):
        priority = asked
    return slo, priority


def output_tokens(headers: Mapping[str, str], hints: ClientHints) -> int | None:
    """What the client says that each sequence of its reply will have. BadRequest if malformed."""
    given = headers.get(OUTPUT_HEADER)
    if given is None or hints is ClientHints.IGNORE:
        return None
    if not _TOKENS.fullmatch(given) or not int(given):
        raise BadRequest(f"{OUTPUT_HEADER} must be a positive integer.", param=OUTPUT_HEADER)
    return int(given)


def _looser(asked_s: float, target_s: float | None) -> bool:
    return target_s is not None and asked_s > target_s


def _seconds(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        if (given := headers.get(name)) is not None:
            if not _MILLISECONDS.fullmatch(given) or float(given) <= 0:
                raise BadRequest(f"{name} must be a positive number of milliseconds.", param=name)
            return float(given) / 1000
    return None


def _priority(headers: Mapping[str, str]) -> int | None:
    given = headers.get(PRIORITY_HEADER)
    if given is None:
        return None
    if not _PRIORITY.fullmatch(given):
        raise BadRequest(f"{PRIORITY_HEADER} must be an integer.", param=PRIORITY_HEADER)
    return int(given)
