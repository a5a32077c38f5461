"""When to stop repairing at once what somebody else keeps changing.

A second operator of another version, or a tool that holds a child to another wish, undoes each
repair as soon as it hears of it. Two that never give in would write, and roll pods, as fast as the
API server lets them. So each child has a few repairs at once and then one in half a minute.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

BURST = 10
REFILL_S = 30.0

ChildKey = tuple[str, str]


@dataclass(slots=True)
class Feuds:
    """The repairs of one owner's children. `clock` is steady."""

    clock: Callable[[], float]
    _spent: dict[ChildKey, tuple[float, float]] = field(default_factory=dict)
    """Repairs that count still, and when that was so."""

    def hopeless(self, key: ChildKey) -> bool:
        """Whether one more repair would be undone like those before it."""
        return self._now_spent(key) > BURST - 1

    def repaired(self, key: ChildKey) -> None:
        self._spent[key] = self._now_spent(key) + 1, self.clock()

    def _now_spent(self, key: ChildKey) -> float:
        spent, at = self._spent.get(key, (0.0, 0.0))
        return max(0.0, spent - (self.clock() - at) / REFILL_S)
