"""How long children may take to start, to drain and to go.

One chain of times: an engine's preStop ends before its grace does; a router's drain lasts at least
as long as an engine's grace; a rollout that waits for slow starts is not called failed.
"""

from steelyard_operator.api.llmservice import LLMService

STARTUP_S = 1800
"""A real engine downloads or loads weights, and compiles."""
SIMULATOR_STARTUP_S = 60
DRAIN_S = 120
SETTLE_S = 5
"""Until every router has heard that a pod is going, and kube-proxy that a router is."""
LAST_WORDS_S = 10
"""Between the end of a drain and SIGKILL."""
ROLLOUT_SLACK_S = 600
"""For scheduling and for pulling an image of ten gigabytes."""


def startup_s(service: LLMService) -> int:
    engine = service.spec.engine
    default = SIMULATOR_STARTUP_S if engine.type == "Simulator" else STARTUP_S
    return engine.startup_timeout_seconds or default


def progress_deadline_s(service: LLMService) -> int:
    rollout = service.spec.rollout
    given = None if rollout is None else rollout.progress_deadline_seconds
    if given is not None:
        return max(given, startup_s(service))
    return engine_grace_s(service) + startup_s(service) + ROLLOUT_SLACK_S


def router_progress_deadline_s(service: LLMService) -> int:
    """A router is ready once an engine is, so a first one waits as long as engines may take."""
    external = service.spec.engine.type == "External"
    return ROLLOUT_SLACK_S if external else progress_deadline_s(service) + ROLLOUT_SLACK_S


def engine_grace_s(service: LLMService) -> int:
    drain = service.spec.engine.drain
    return (drain and drain.grace_period_seconds) or DRAIN_S


def engine_drain_s(service: LLMService) -> int:
    """How long preStop may wait."""
    grace_s = engine_grace_s(service)
    return grace_s - min(LAST_WORDS_S, grace_s // 4)


def router_drain_s(service: LLMService) -> int:
    """A router finishes what an engine still finishes."""
    drain = service.spec.router.drain
    least_s = 0 if service.spec.engine.type == "External" else engine_grace_s(service)
    return max((drain and drain.grace_period_seconds) or least_s or DRAIN_S, least_s)


def router_grace_s(service: LLMService) -> int:
    return SETTLE_S + router_drain_s(service) + LAST_WORDS_S
