"""Probes: a start may take long, readiness is told soon, and a kill is the last resort.

There is no initial delay: until the startup probe has succeeded once, the others do not run, so a
model that loads for half an hour is neither killed nor sent requests.
"""

from steelyard_router.kube.resource import Object


def engine_probes(port: str, *, startup_s: int, period_s: int) -> Object:
    return {
        "startupProbe": _get("/health", port, 5, period_s, -(-startup_s // period_s)),
        # /health of a loaded engine can take a second and more.
        "readinessProbe": _get("/health", port, 5, 5, 3),
        # Three minutes: the router has left such an engine alone long before.
        "livenessProbe": _get("/health", port, 10, 20, 9),
    }


def router_probes(port: str) -> Object:
    return {
        "startupProbe": _get("/healthz", port, 3, 1, 60),
        "readinessProbe": _get("/readyz", port, 3, 2, 2),
        "livenessProbe": _get("/healthz", port, 3, 10, 6),
    }


def _get(path: str, port: str, timeout_s: int, period_s: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": port},
        "timeoutSeconds": timeout_s,
        "periodSeconds": period_s,
        "failureThreshold": failures,
    }
