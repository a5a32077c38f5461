"""The stack is started once; every test gets it whole, and has to leave it able to become so."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import openai
import pytest
from rig.patience import until
from rig.stack import Site, Stack, stack

RECOVERY_S = 300.0
"""A real engine takes half a minute and more to start again."""

FIGURES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if figures := config.stash[FIGURES]:
        terminalreporter.section("figures")
        for text in figures:
            terminalreporter.write_line(text)


@pytest.fixture
def note(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """What was measured; shown at the end of the run."""
    return pytestconfig.stash[FIGURES].append


@pytest.fixture(scope="session")
def site() -> Site:
    found = Site(Path(__file__).resolve().parents[2] / "build")
    if not found.is_installed():
        pytest.exit("the real engine is not installed: run `make e2e-engine`", returncode=2)
    return found


@pytest.fixture(scope="session")
def running(site: Site) -> Iterator[Stack]:
    with stack(site) as started:
        yield started


@pytest.fixture
async def steelyard(running: Stack) -> Stack:
    await until(running.is_whole, within_s=RECOVERY_S, what="all in service, nothing in flight")
    return running


@pytest.fixture
async def client(steelyard: Stack) -> AsyncIterator[openai.AsyncOpenAI]:
    """As a user has it, but for retries: a failure must be seen."""
    async with openai.AsyncOpenAI(
        base_url=f"{steelyard.url}/v1", api_key="none", max_retries=0
    ) as opened:
        yield opened
