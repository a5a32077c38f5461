"""Whether the routers of one target run what a policy was compiled to.

True only when every ready replica has reported the compiled revision itself. A replica that cannot
be asked makes it Unknown, not False: it may well run it.
"""

from dataclasses import dataclass

from steelyard_operator.plan.attachment import Ancestor
from steelyard_operator.plan.condition import Condition

from .observed import RouterReport, counted

ROUTERS_MISSING = "RouterNotReady"
RELOADING = "Reconciling"
RELOAD_FAILED = "ConfigReloadFailed"
UNREACHABLE = "RouterUnreachable"
PAUSED = "Paused"


@dataclass(frozen=True, slots=True)
class Target:
    """One service as its policies see it: the compiled revision, and what its routers report."""

    revision: str | None
    reports: tuple[RouterReport, ...] = ()
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Programming:
    """`replicas` reads "2/3"; `revision` is the compiled one, None where nothing is compiled."""

    condition: Condition
    replicas: str | None = None
    revision: str | None = None


def programming(ancestor: Ancestor, target: Target | None) -> Programming:
    verdict = ancestor.condition
    if verdict.status != "True":
        return Programming(Condition("Programmed", "False", verdict.reason, verdict.message))
    if target is None or target.revision is None:
        words = f"no router of LLMService {ancestor.target} is configured yet"
        return Programming(Condition("Programmed", "False", ROUTERS_MISSING, words), "0/0")
    reports = counted(target.reports)
    behind = [item for item in reports if item.reachable and item.revision != target.revision]
    lost = [item for item in reports if not item.reachable]
    done = len(reports) - len(behind) - len(lost)
    replicas = f"{done}/{len(reports)}"
    if behind and target.paused:
        words = f"LLMService {ancestor.target} is paused: its routers keep what they have"
        condition = Condition("Programmed", "False", PAUSED, words)
        return Programming(condition, replicas, target.revision)
    figures = f"{done} of {len(reports)} router replicas run revision {target.revision}"
    return Programming(_condition(ancestor.target, figures, behind, lost, done), replicas,
                       target.revision)  # fmt: skip


def _condition(
    service: str,
    figures: str,
    behind: list[RouterReport],
    lost: list[RouterReport],
    done: int,
) -> Condition:
    if not (behind or lost or done):
        words = f"LLMService {service} has no router pod yet"
        return Condition("Programmed", "False", ROUTERS_MISSING, words)
    refused = next((item for item in behind if item.config_error is not None), None)
    if refused is not None:
        words = f"router pod {refused.pod} keeps its last good one: {refused.config_error}"
        return Condition("Programmed", "False", RELOAD_FAILED, f"{figures}; {words}")
    if behind:
        return Condition("Programmed", "False", RELOADING, f"{figures}; the others are about to")
    if lost:
        words = f"router pod {lost[0].pod} does not answer the operator"
        return Condition("Programmed", "Unknown", UNREACHABLE, f"{figures}; {words}")
    return Condition("Programmed", "True", "Programmed", figures)
