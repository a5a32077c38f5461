"""Where things are in the checkout: all that is made lies in `build/cluster`."""

from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Place:
    """One checkout's folders. A cluster beside the usual one has a name of its own."""

    checkout: Path = CHECKOUT
    cluster: str = "run"

    @property
    def folder(self) -> Path:
        return self.checkout / "build" / "cluster"

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    @property
    def images(self) -> Path:
        """Images in the making, and those made, as archives."""
        return self.folder / "images"

    @property
    def state(self) -> Path:
        """Of the level-2 cluster."""
        return self.folder / self.cluster
