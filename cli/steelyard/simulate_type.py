"""What the options of `steelyard simulate` are made of: lists, counts with factors, changes."""

from collections.abc import Callable, Sequence

import click

from steelyard_simulator.replay import registry, scheduler
from steelyard_simulator.replay.change import Change


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas; `parse` raises ValueError for one that is not known."""

    name = "a,b"

    def __init__(self, parse: Callable[[str], object], known: Callable[[], Sequence[str]]) -> None:
        self._parse = parse
        self._known = known

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        given = tuple(text.strip() for text in str(value).split(",") if text.strip())
        try:
            for name in given:
                self._parse(name)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)
        if not given:
            self.fail(f"name at least one of {', '.join(self._known())}", param, ctx)
        return given


POLICIES = Names(registry.parse, registry.names)
SCHEDULERS = Names(scheduler.parse, scheduler.names)


class Seeds(click.ParamType[tuple[int, ...]]):
    """Whole numbers, separated by commas."""

    name = "1,2"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            return tuple(int(text) for text in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 1,2,3", param, ctx)


class Slow(click.ParamType[tuple[int, float]]):
    """COUNTxFACTOR."""

    name = "NxF"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float]:
        count, _, factor = str(value).partition("x")
        try:
            slow = int(count), float(factor)
        except ValueError:
            slow = 0, 0.0
        if slow[0] < 1 or slow[1] <= 0:
            self.fail(f"{value!r} is not COUNTxFACTOR such as 8x2.5", param, ctx)
        return slow


class Changes(click.ParamType[Change]):
    """KIND@SECONDS:INSTANCE."""

    name = "kind@s:i"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Change:
        try:
            return Change.parse(str(value))
        except ValueError as exc:
            self.fail(str(exc), param, ctx)
