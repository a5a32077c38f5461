"""Why a request cannot be placed now."""


class PlacementError(Exception):
    """Base of both reasons."""


class NoCandidate(PlacementError):
    """No instance may take the request: none is there, or all are closed, full or excluded."""

    def __init__(self) -> None:
        super().__init__("no instance may take the request now")


class NoRoom(NoCandidate):
    """Instances may take it, but none has room for it (room.py)."""


class TooDear(NoCandidate):
    """Instances may take it, but others would miss targets that are worth more (price.py)."""


class AbovePTokenCap(PlacementError):
    """Instances may take it, but each would have more than the cap of tokens to prefill (Q + P).

    `lowest` is what the best of them would have.
    """

    def __init__(self, cap: int, lowest: float) -> None:
        super().__init__(
            f"every instance would have over {cap} tokens to prefill, at least {lowest:.0f}"
        )
        self.cap = cap
        self.lowest = lowest
