"""Which of two accounts of the configuration is in force: the ConfigMap's or the files'."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.cluster.config_map import Account, Arbiter, ConfigMapText
from steelyard_router.config import RouterConfig, Service
from steelyard_router.errors import ConfigError


def version(number: int) -> RouterConfig:
    return RouterConfig(service=Service(name=f"v{number}"))


class InForce:
    """Takes over what the arbiter says, as a router does."""

    def __init__(self, started: int = 0) -> None:
        self.arbiter = Arbiter(version(started).revision)
        self.name = f"v{started}"
        self.problem: str | None = None

    def news(self, text: str) -> str:
        """`api 2`, `files 1`, `lost`, `back`: what happens. Gives what is in force then."""
        word, _, number = text.partition(" ")
        account: Account = ConfigError(number) if number == "bad" else version(int(number or 0))
        taken = {
            "api": lambda: self.arbiter.api(account),
            "files": lambda: self.arbiter.files(account),
            "lost": self.arbiter.lost,
            "back": self.arbiter.back,
        }[word]()
        if isinstance(taken, ConfigError):
            self.problem = str(taken)
        elif taken is not None:
            self.name, self.problem = taken.service.name, None
        return self.name


@pytest.mark.parametrize(
    ("story", "name"),
    [
        (["files 1"], "v1"),  # the API was never heard
        (["api 0", "api 1", "files 1"], "v1"),
        (["api 1", "files 0", "files 1"], "v1"),  # the kubelet is late
        (["api 1", "files 2"], "v1"),  # while the API is heard, it is the truth
        (["api 1", "lost", "files 2"], "v2"),  # afterwards the files are ahead
        (["api 1", "lost", "files 0"], "v1"),  # or late
        (["api 1", "files 0", "lost"], "v1"),
        (["api 1", "files 2", "lost"], "v2"),
        (["api 1", "lost", "files 2", "back"], "v1"),
        (["api 1", "lost", "files 2", "api 2"], "v2"),
        (["api 1", "lost", "files 2", "api 3", "lost", "files 2"], "v3"),
        (["api 3", "lost", "files 2", "files 3"], "v3"),  # late after all: it comes round
        (["api 1", "api 2", "api 1", "lost", "files 1"], "v1"),  # taken back on purpose
        (["api 1", "api 2", "api 1", "lost", "files 2"], "v1"),
        (["files 1", "api 2", "lost", "files 1"], "v2"),
    ],
)
def test_the_newest_account_is_in_force(story: list[str], name: str) -> None:
    here = InForce()

    for news in story:
        here.news(news)

    assert here.name == name


def test_a_bad_account_changes_nothing_but_the_problem() -> None:
    here = InForce()

    here.news("api 1")
    assert here.news("api bad") == "v1"
    assert here.problem == "bad"
    assert here.news("api 1") == "v1"
    assert here.problem is None


def test_a_bad_file_is_no_problem_while_the_api_is_heard() -> None:
    here = InForce()

    here.news("api 1")
    here.news("files bad")
    assert here.problem is None
    here.news("lost")
    assert here.problem == "bad"
    here.news("back")
    assert here.problem is None


@given(st.lists(st.integers(0, 30), min_size=1), st.lists(st.booleans()))
def test_files_that_trail_behind_never_roll_back(versions: list[int], hiccups: list[bool]) -> None:
    """Whenever the line breaks: the kubelet shows each version of the API, later and in order."""
    here = InForce(versions[0])
    for at, number in enumerate(versions):
        here.news(f"api {number}")
        for trailing in versions[: at + 1][-3:]:
            if hiccups and hiccups.pop():
                here.news("lost")
            here.news(f"files {trailing}")
            assert here.name == f"v{number}"
            if not here.arbiter.heard:
                here.news("back")


def test_the_memory_of_what_was_replaced_is_bounded() -> None:
    here = InForce()

    for number in range(1000):
        here.news(f"api {number}")

    assert len(here.arbiter._replaced) == 64
    here.news("lost")
    assert here.news("files 998") == "v999"


def test_only_visible_yaml_files_of_the_object_are_read() -> None:
    text = ConfigMapText.of(
        {
            "metadata": {"namespace": "team", "name": "chat-router"},
            "data": {"service.yaml": "service: {name: x}", ".y.yaml": "oops", "ca.crt": "oops"},
        }
    )

    account = text.account()

    assert isinstance(account, RouterConfig)
    assert account.service.name == "x"


def test_problems_name_the_object_the_file_and_the_line() -> None:
    item = {
        "metadata": {"namespace": "team", "name": "chat-router"},
        "data": {"service.yaml": "service:\n  nam: x\n"},
    }

    account = ConfigMapText.of(item).account()

    assert str(account) == (
        "ConfigMap team/chat-router/service.yaml:2: service.nam: unknown field;"
        " did you mean `name`?"
    )
    assert isinstance(ConfigMapText.of(item | {"data": None}).account(), ConfigError)
