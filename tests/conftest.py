"""All tests run on the event loop that the product runs on, and none is judged by the clock."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Mapping

import pytest
import uvloop
from hypothesis import HealthCheck, settings

# Machines are shared: how long an example takes says nothing about the code.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("steady")


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="module", autouse=True)
def left_open_is_found_where_it_was_left() -> Iterator[None]:
    """What a test leaves open warns when it is collected, by chance in a later test of another
    module: collected here, it fails where it belongs."""
    yield
    gc.collect()
