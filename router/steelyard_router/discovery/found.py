"""An engine that was found rather than configured, and what its finder says about it."""

from dataclasses import dataclass

from steelyard_router.config import Endpoint


@dataclass(frozen=True, slots=True)
class Found:
    """One engine that is not on its way out (such a one is not found any more)."""

    endpoint: Endpoint
    ready: bool = True
    """Whether its own readiness check passes; if not, it is a last resort (proxy/roster)."""
    uid: str = ""
    """Of the pod: another one under the same name and address is another engine."""

    def is_another_than(self, before: "Found") -> bool:
        return self.uid != before.uid

    def came_back_since(self, before: "Found") -> bool:
        """It may have begun anew in place, with an empty cache."""
        return self.ready and not before.ready


@dataclass(frozen=True, slots=True)
class Engines:
    """All that were found, by id. `problem` tells why there is nobody where there should be."""

    found: tuple[Found, ...] = ()
    problem: str | None = None
