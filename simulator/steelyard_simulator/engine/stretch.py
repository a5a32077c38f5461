"""Steps that are already decided: one mixed step, or a run of decode steps until something changes.

While the same sequences decode, each step is longer than the last by the same amount (one context
token more for each), so the end of the j-th step has a closed form and a run of thousands costs
one.
"""

from math import sqrt


class Stretch:
    """`steps` steps from `begin_s`: the first takes `first_s`, each later one `growth_s` more."""

    __slots__ = ("begin_s", "done", "first_s", "growth_s", "steps")

    def __init__(self, begin_s: float, first_s: float, growth_s: float, steps: int) -> None:
        self.begin_s = begin_s
        self.first_s = first_s
        self.growth_s = growth_s
        self.steps = steps
        self.done = 0
        """Steps that the engine has taken over into its state."""

    def end_s(self, steps: int) -> float:
        """When step number `steps` (from 1) ends."""
        return self.begin_s + steps * self.first_s + self.growth_s * (steps * (steps - 1) // 2)

    def completed(self, now: float) -> int:
        """How many steps have ended by `now`."""
        elapsed = now - self.begin_s
        if elapsed <= 0:
            return 0
        # end_s(j) - begin_s = g/2 j^2 + (f - g/2) j; its root, in the form that allows g = 0, and
        # then corrected for rounding.
        linear = self.first_s - self.growth_s / 2
        root = 2 * elapsed / (linear + sqrt(linear * linear + 2 * self.growth_s * elapsed))
        count = min(int(root), self.steps)
        while count < self.steps and self.end_s(count + 1) <= now:
            count += 1
        while count > 0 and self.end_s(count) > now:
            count -= 1
        return count

    def cut(self) -> None:
        """Lets the step that runs be the last."""
        self.steps = self.done + 1
