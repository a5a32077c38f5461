"""True of every baseline, whatever its rule."""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.placing import arrival, join, policy, put

from steelyard_simulator.baselines import BASELINES, REGISTRY
from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.replay.policy import Polled

EVERY = sorted(REGISTRY)
ACTIONS = ["place", "first_byte", "progress", "finish", "fail", "join", "leave", "poll"]
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 30), st.floats(0, 1)), max_size=60
)


class Play:
    """Plays steps against a policy as a fleet would, and knows what is open where."""

    def __init__(self, made: Baseline) -> None:
        self.made = made
        self.members = {"e0", "e1"}
        self.open: dict[int, str] = {}
        self.chosen: list[str] = []
        self.now = 0.0
        self._started = 0

    def step(self, action: str, number: int, passed_s: float) -> None:
        self.now += passed_s
        some = sorted(self.open)[number % len(self.open)] if self.open else None
        if action == "place":
            self._place(number)
        elif action == "join" and len(self.members) < 5:
            name = next(f"e{at}" for at in range(6) if f"e{at}" not in self.members)
            self.members.add(name)
            join(self.made, name, cache_tokens=1500)
        elif action == "leave" and len(self.members) > 1:
            name = sorted(self.members)[number % len(self.members)]
            self.members.remove(name)
            self.made.leave(name)
        elif action == "poll":
            polled = Polled(number, number // 2, number / 30, self.now)
            self.made.polled(f"e{number % 6}", polled)
        elif some is not None:
            self._go_on(action, some, number)

    def _place(self, number: int) -> None:
        self._started += 1
        blocks = [0, *range(number % 4), *(["x"] * (number % 7))]
        session = f"s{number % 3}" if number % 2 else None
        made = arrival(self._started, blocks, session=session, prompt_tokens=50 + 130 * number)
        chosen = self.made.place(made, self.now)
        assert chosen in self.members
        self.chosen.append(chosen)
        self.open[made.id] = chosen

    def _go_on(self, action: str, some: int, number: int) -> None:
        if action == "first_byte":
            self.made.first_byte(some, self.now)
        elif action == "progress":
            self.made.progress(some, number, self.now)
        elif action == "finish":
            self.made.finished(some, self.now, output_tokens=9, cached_tokens=100 * (number % 3))
            del self.open[some]
        elif action == "fail":
            self.made.failed(some, self.now)
            del self.open[some]

    def close(self) -> None:
        for number in list(self.open):
            self._go_on("fail" if number % 2 else "finish", number, number)


@pytest.mark.parametrize("name", EVERY)
@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_it_always_chooses_a_member_and_its_counts_return_to_zero(
    name: str, steps: list[tuple[str, int, float]]
) -> None:
    play = Play(policy(name, instances=2, cache_tokens=1500))
    for step in steps:
        play.step(*step)
    play.close()
    for instance in play.made.fleet:
        counts = (instance.requests, instance.queued_tokens, instance.all_tokens)
        assert (*counts, len(instance.unanswered)) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", EVERY)
@given(steps=STEPS)
@settings(max_examples=10, deadline=None)
def test_equal_seeds_choose_equally(name: str, steps: list[tuple[str, int, float]]) -> None:
    plays = [Play(policy(name, instances=2, seed=5)) for _ in range(2)]
    for play in plays:
        for step in steps:
            play.step(*step)
    assert plays[0].chosen == plays[1].chosen


@pytest.mark.parametrize("name", EVERY)
def test_what_a_left_instance_still_runs_does_not_count_on_its_successor(name: str) -> None:
    made = policy(name, instances=1)
    put(made, "e0", arrival(1, ["a"]))
    made.leave("e0")
    join(made, "e0")
    made.first_byte(1, 1.0)
    made.progress(1, 5, 1.0)
    made.finished(1, 2.0, output_tokens=5, cached_tokens=0)
    (fresh,) = made.fleet
    assert (fresh.requests, fresh.queued_tokens, fresh.all_tokens) == (0, 0, 0)
    assert made.place(arrival(2, ["a"]), 3.0) == "e0"


def test_a_request_counts_as_queued_until_its_first_byte_and_as_context_until_its_end() -> None:
    made = policy("lpwl", instances=1)
    (instance,) = made.fleet
    made.place(arrival(1, ["a", "b"]), 0.0)
    assert (instance.queued_tokens, instance.all_tokens, instance.decoding) == (200, 200, 0)
    made.first_byte(1, 1.0)
    made.progress(1, 7, 1.5)
    assert (instance.queued_tokens, instance.all_tokens, instance.decoding) == (0, 207, 1)


def test_news_of_unknown_requests_and_instances_change_nothing() -> None:
    made = policy("dynamo")
    made.first_byte(99, 0.0)
    made.progress(99, 1, 0.0)
    made.finished(99, 0.0, output_tokens=1, cached_tokens=None)
    made.failed(99, 0.0)
    made.polled("nobody", Polled(1, 1, 0.5, 0.0))
    made.leave("nobody")
    assert [instance.requests for instance in made.fleet] == [0, 0, 0]


def test_every_baseline_says_where_it_comes_from_and_what_it_knows() -> None:
    for kind in BASELINES:
        text = import_module(kind.__module__).__doc__ or ""
        assert "Knows" in text
        assert "Source:" in text or kind.__module__.endswith("uniform_random")
