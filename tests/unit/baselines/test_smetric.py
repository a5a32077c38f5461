import pytest
from support.placing import arrival, load, policy, put, warm

from steelyard_simulator.baselines.baseline import Baseline

TEN = "abcdefghij"


def taught(made: Baseline, instance: str, rate: float) -> None:
    """Eight prompts of 100 tokens have shown that rate there."""
    for number in range(-58, -50):
        put(made, instance, arrival(number, prompt_tokens=100), now=0.0)
        made.first_byte(number, 100 / rate)
        made.finished(number, 100 / rate, output_tokens=1, cached_tokens=None)


def test_a_follow_up_turn_stays_where_its_history_is() -> None:
    made = policy("smetric")
    warm(made, "e2", TEN[:6])
    load(made, {"e2": 20})
    assert made.place(arrival(1, TEN), 0.0) == "e2"


def test_half_of_the_prompt_is_no_history() -> None:
    made = policy("smetric")
    warm(made, "e2", TEN[:5])
    load(made, {"e2": 20})
    assert made.place(arrival(1, TEN), 0.0) != "e2"


def test_only_a_session_seen_before_can_follow_up() -> None:
    made = policy("smetric", instances=2)
    load(made, {"e1": 20})
    assert made.place(arrival(1, "xyz", session="s"), 0.0) == "e0"
    made.finished(1, 1.0, output_tokens=1, cached_tokens=None)
    load(made, {"e0": 100})
    assert made.place(arrival(2, "xyzz", session="other"), 1.0) == "e1"
    assert made.place(arrival(3, "xyzv", session="s"), 1.0) == "e0"


@pytest.mark.parametrize(
    ("queued", "chosen"),
    [
        # Target for 1000 tokens: 1 s + 62.5 us * 1000 = 1.0625 s; 1000 tokens/s shown by both.
        pytest.param(1061, "e0", id="1061 + 1 token to compute: 1.062 s"),
        pytest.param(1063, "e1", id="1.064 s, while 1000 tokens take 1 s elsewhere"),
    ],
)
def test_it_leaves_when_the_target_would_break(queued: int, chosen: str) -> None:
    made = policy("smetric", instances=2)
    for instance in ("e0", "e1"):
        taught(made, instance, rate=1000)
    warm(made, "e0", TEN)
    put(made, "e0", arrival(1, prompt_tokens=queued))
    assert made.place(arrival(2, TEN), 0.0) == chosen


def test_it_stays_when_nobody_meets_the_target() -> None:
    made = policy("smetric", instances=2)
    for instance in ("e0", "e1"):
        taught(made, instance, rate=10)
    warm(made, "e0", TEN)
    put(made, "e0", arrival(1, prompt_tokens=5000))
    assert made.place(arrival(2, TEN), 0.0) == "e0"


def test_a_first_turn_goes_to_the_least_queued_work_times_requests() -> None:
    made = policy("smetric", instances=2)
    load(made, {"e0": 3})
    put(made, "e1", arrival(1, prompt_tokens=900))
    # e0: 100 * 3 = 300, e1: (900 + 100) * 1 = 1000
    assert made.place(arrival(2, prompt_tokens=100), 0.0) == "e0"
    # e0: (100 + 500) * 4 = 2400, e1: (900 + 500) * 1 = 1400
    assert made.place(arrival(3, prompt_tokens=500), 0.0) == "e1"


def test_idle_ones_take_turns() -> None:
    made = policy("smetric")
    chosen = []
    for number in range(3):
        chosen.append(made.place(arrival(number), 0.0))
        made.failed(number, 0.0)
    assert chosen == ["e0", "e1", "e2"]
