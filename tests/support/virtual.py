"""Runs a scenario on an event loop whose time passes only when nothing else is to do."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import looptime

T = TypeVar("T")


def in_virtual_time(scenario: Coroutine[Any, Any, T]) -> T:
    """What the scenario returns; sleeping an hour costs nothing."""
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(scenario)
