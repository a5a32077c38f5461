"""Rules that look at load alone, on situations worked out by hand from their sources."""

from collections import Counter

import pytest
from support.placing import arrival, join, load, policy, put

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.replay.policy import Polled


def poll(made: Baseline, *counts: tuple[int, int] | tuple[int, int, float]) -> None:
    """(waiting, running[, usage]) of e0, e1, ..."""
    for number, (waiting, running, *usage) in enumerate(counts):
        polled = Polled(int(running), int(waiting), float(usage[0]) if usage else 0.0, 0.0)
        made.polled(f"e{number}", polled)


def test_random_reaches_everyone() -> None:
    made = policy("random")
    chosen = Counter(made.place(arrival(number), 0.0) for number in range(300))
    assert min(chosen.values()) > 60


def test_power_of_two_takes_the_less_loaded_of_two_so_never_the_most_loaded() -> None:
    made = policy("power-of-two")
    load(made, {"e0": 9, "e1": 1})
    chosen = {made.place(arrival(number), 0.0) for number in range(6)}
    assert chosen == {"e1", "e2"}


def test_power_of_two_of_one() -> None:
    assert policy("power-of-two", instances=1).place(arrival(1), 0.0) == "e0"


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        pytest.param([(1, 2), (0, 5), (0, 7)], "e1", id="4*1+2=6, 5, 7"),
        pytest.param([(1, 0), (0, 5), (0, 6)], "e0", id="4, 5, 6"),
        pytest.param([(0, 3), (0, 3), (0, 3)], "e0", id="equal: the first"),
        pytest.param([(2, 0), (1, 3), (1, 3)], "e1", id="8, 7, 7"),
        pytest.param([(0, 7), (1, 2), (0, 8)], "e1", id="7, 6, 8"),
    ],
)
def test_vllm_takes_the_least_of_four_waiting_and_running(
    counts: list[tuple[int, int]], chosen: str
) -> None:
    made = policy("vllm")
    poll(made, *counts)
    assert made.place(arrival(1), 0.0) == chosen


def test_vllm_counts_its_own_choices_as_waiting_until_the_next_poll() -> None:
    made = policy("vllm")
    poll(made, (0, 0), (0, 3), (0, 9))
    # 0, 3, 9 -> 4, 3, 9 -> 4, 7, 9 -> 8, 7, 9
    assert [made.place(arrival(n), 0.0) for n in range(4)] == ["e0", "e1", "e0", "e1"]
    poll(made, (0, 2), (0, 1), (0, 0))
    assert made.place(arrival(9), 0.0) == "e2"


def test_vllm_front_ends_start_at_different_engines_and_count_for_all_of_them() -> None:
    made = policy("vllm", instances=4, router=1, routers=2)
    assert made.place(arrival(1), 0.0) == "e2"
    poll(made, (0, 0), (0, 7), (0, 9), (0, 9))
    assert made.place(arrival(2), 0.0) == "e0"
    assert made.place(arrival(3), 0.0) == "e1"  # e0 now has 2 waiting: 8 against 7


def test_vllm_without_metrics_still_spreads() -> None:
    made = policy("vllm")
    chosen = [made.place(arrival(number), 0.0) for number in range(6)]
    assert chosen == ["e0", "e1", "e2"] * 2


@pytest.mark.parametrize(
    ("counts", "own", "chosen"),
    [
        pytest.param([(3, 2, 0.5), (0, 4, 0.9), (0, 6, 0.0)], {}, "e1", id="5, 4, 6: no pressure"),
        pytest.param([(2, 2, 1.0), (0, 9, 1.0), (1, 9, 1.0)], {}, "e1", id="4+6, 9, 10+3"),
        pytest.param([(0, 1), (0, 2), (0, 2)], {"e0": 3}, "e1", id="own 3 > seen 1; 2, 2"),
    ],
)
def test_vllm_current_takes_the_more_of_own_and_seen_with_pressure_on_waiting(
    counts: list[tuple[int, int]], own: dict[str, int], chosen: str
) -> None:
    made = policy("vllm-current")
    load(made, own)
    poll(made, *counts)
    assert made.place(arrival(1), 0.0) == chosen


def test_vllm_current_moves_its_start_on() -> None:
    made = policy("vllm-current")
    poll(made, (0, 5), (0, 5), (0, 5))
    chosen = []
    for number in range(3):
        chosen.append(made.place(arrival(number), 0.0))
        made.finished(number, 0.0, output_tokens=1, cached_tokens=None)
        poll(made, (0, 5), (0, 5), (0, 5))
    assert chosen == ["e0", "e1", "e2"]


def test_a_session_stays_where_it_is_whatever_the_load() -> None:
    made = policy("session-affinity")
    home = made.place(arrival(1, session="s"), 0.0)
    load(made, {home: 50})
    assert made.place(arrival(2, session="s"), 1.0) == home


def test_sessions_spread_and_most_stay_when_an_instance_joins() -> None:
    made = policy("session-affinity", instances=4)
    names = [f"s{number}" for number in range(200)]
    before = {name: made.place(arrival(n, session=name), 0.0) for n, name in enumerate(names)}
    join(made, "e4")
    after = {name: made.place(arrival(n, session=name), 0.0) for n, name in enumerate(names)}
    moved = [name for name in names if before[name] != after[name]]
    assert min(Counter(before.values()).values()) > 25
    assert 0 < len(moved) < 80
    assert {after[name] for name in moved} == {"e4"}


def test_without_a_session_the_fewest_requests_of_the_last_minute() -> None:
    made = policy("session-affinity", instances=2)
    for number in range(3):
        put(made, "e0", arrival(number), now=0.0)
    put(made, "e1", arrival(3), now=50.0)
    assert made.place(arrival(4), 59.0) == "e1"  # 3 against 1
    assert made.place(arrival(5), 61.0) == "e0"  # 0 against 2
