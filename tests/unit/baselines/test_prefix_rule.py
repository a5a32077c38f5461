"""Rules that weigh caches against load, on situations worked out by hand from their sources."""

import pytest
from support.placing import arrival, load, policy, put, warm

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.llm_d_affinity import LlmDAffinity
from steelyard_simulator.replay.policy import Polled

TEN = "abcdefghij"


@pytest.mark.parametrize(
    ("kv", "chosen"),
    [
        # e0: hit .5, 4 of at most 4 requests: kv * .5. e1: no hit, 1 request:
        # (1 - kv) / 2 * .75 twice. Equal at kv * .5 = (1 - kv) * .75, that is at kv = .6.
        (0.61, "e0"),
        (0.59, "e1"),
    ],
)
def test_linear_weighs_hit_share_against_load(kv: float, chosen: str) -> None:
    made = policy("linear", instances=2, kv=kv)
    warm(made, "e0", TEN[:5])
    load(made, {"e0": 4, "e1": 1})
    assert made.place(arrival(1, TEN), 0.0) == chosen


def test_linear_counts_tokens_seen_so_far() -> None:
    made = policy("linear", instances=2, kv=0.0, batch=0.0, tokens=1.0)
    load(made, {"e0": 1, "e1": 1})
    made.progress(-1, 50, 1.0)  # the one on e0
    assert made.place(arrival(1), 0.0) == "e1"


def test_linear_scaled_lets_one_block_decide() -> None:
    made = policy("linear", instances=2, scaled=1)
    warm(made, "e0", TEN[:1])
    load(made, {"e0": 9})
    assert made.place(arrival(1, TEN), 0.0) == "e0"  # .7 * 1 against .15 + .15
    plain = policy("linear", instances=2)
    warm(plain, "e0", TEN[:1])
    load(plain, {"e0": 9})
    assert plain.place(arrival(1, TEN), 0.0) == "e1"  # .7 * .1 against .3


def poll(made: Baseline, instance: str, *, waiting: int, usage: float) -> None:
    made.polled(instance, Polled(0, waiting, usage, 0.0))


@pytest.mark.parametrize(
    ("waiting", "usage", "chosen"),
    [
        pytest.param((5, 0), (0.5, 0.5), "e0", id="0 + 1 + 3 against 2 + 1 + 0"),
        pytest.param((5, 0), (0.9, 0.3), "e1", id="0 + .2 + 3 against 2 + 1.4 + 0"),
        pytest.param((0, 0), (0.9, 0.0), "e0", id="2 + .2 + 3 against 2 + 2 + 0"),
    ],
)
def test_llm_d_linear_weighs_queue_2_usage_2_prefix_3(
    waiting: tuple[int, int], usage: tuple[float, float], chosen: str
) -> None:
    made = policy("llm-d-linear", instances=2)
    warm(made, "e0", TEN)
    for number in range(2):
        poll(made, f"e{number}", waiting=waiting[number], usage=usage[number])
    assert made.place(arrival(1, TEN), 0.0) == chosen


def test_llm_d_linear_without_metrics_or_hits_takes_any() -> None:
    made = policy("llm-d-linear")
    chosen = set()
    for number in range(40):
        chosen.add(made.place(arrival(number, prompt_tokens=50), 0.0))
    assert chosen == {"e0", "e1", "e2"}


def test_llm_d_affinity_stays_with_the_warm_at_four_fifths_of_the_blocks() -> None:
    made = policy("llm-d-affinity", instances=2)
    warm(made, "e0", TEN[:8])
    put(made, "e0", arrival(1, prompt_tokens=5000))
    assert made.place(arrival(2, TEN), 0.0) == "e0"


def test_llm_d_affinity_below_that_takes_the_fewest_uncached_tokens() -> None:
    made = policy("llm-d-affinity", instances=2)
    warm(made, "e0", TEN[:7])
    put(made, "e0", arrival(1, prompt_tokens=690))
    assert made.place(arrival(2, TEN), 0.0) == "e0"  # 690 + 300 against 1000
    assert made.place(arrival(3, [*TEN[:7], 1, 2, 3]), 0.0) == "e1"  # 990 + 300 against 1000


def test_llm_d_affinity_leaves_the_warm_when_their_queue_is_18_seconds_longer() -> None:
    at_once = 18 * 15_928
    for extra, chosen in ((0, "e0"), (20, "e1")):
        made = policy("llm-d-affinity", instances=2)
        warm(made, "e0", TEN)
        put(made, "e0", arrival(1, prompt_tokens=at_once + extra))
        assert made.place(arrival(2, TEN), 0.0) == chosen


def test_llm_d_affinity_calibrated_measures_one_full_chunk_on_an_idle_engine() -> None:
    made = policy("llm-d-affinity-calibrated")
    assert isinstance(made, LlmDAffinity)
    assert made.peak_tokens_per_s == pytest.approx(1000 / 1.01)  # 10 ms + 1000 * 1 ms


def test_dynamo_adds_uncached_prefill_blocks_and_active_blocks() -> None:
    made = policy("dynamo", instances=2)
    warm(made, "e0", TEN[:4])
    # On e0 6 + 10 blocks, on e1 10 + 10.
    assert made.place(arrival(1, TEN), 0.0) == "e0"
    # On e0 6 queued + 9 own - 4 cached, 10 active and 5 new ones make 26; on e1 9 + 9.
    assert made.place(arrival(2, [*TEN[:4], 1, 2, 3, 4, 5]), 0.0) == "e1"


def test_dynamo_credits_cached_blocks_in_full() -> None:
    made = policy("dynamo", instances=2)
    warm(made, "e0", TEN[:4])
    put(made, "e0", arrival(1, "xyz"))
    made.first_byte(1, 0.0)
    # On e0 10 - 4 + 10 + 3 active, on e1 10 + 10.
    assert made.place(arrival(2, TEN), 0.0) == "e0"


def test_dynamo_counts_a_shared_active_block_once_and_frees_it_with_its_last_user() -> None:
    made = policy("dynamo", instances=2)
    put(made, "e0", arrival(1, TEN))
    put(made, "e0", arrival(2, TEN))
    for number in (1, 2):
        made.first_byte(number, 0.0)
    # e0: 0 queued, all ten cached: max(0, 10 - 10) + 10 active = 10. e1: 20.
    assert made.place(arrival(3, TEN), 0.0) == "e0"
    made.failed(3, 0.0)
    made.finished(1, 1.0, output_tokens=1, cached_tokens=None)
    # One user left, so ten blocks are active: 12 + 10 + 12 for a cold prompt, e1: 12 + 12.
    assert made.place(arrival(4, range(12)), 1.0) == "e1"
    made.failed(4, 1.0)
    made.finished(2, 1.0, output_tokens=1, cached_tokens=None)
    chosen = set()
    for number in range(5, 30):
        chosen.add(made.place(arrival(number, range(12)), 1.0))
        made.failed(number, 1.0)
    assert chosen == {"e0", "e1"}  # equal again: any


@pytest.mark.parametrize(
    ("matching", "chosen"), [pytest.param(4, "e0", id=".4"), pytest.param(3, "e1", id=".3")]
)
def test_sglang_follows_a_match_of_more_than_three_tenths(matching: int, chosen: str) -> None:
    made = policy("sglang-cache-aware", instances=2)
    warm(made, "e0", TEN[:matching])
    load(made, {"e0": 1})
    assert made.place(arrival(1, TEN), 0.0) == chosen


@pytest.mark.parametrize(
    ("loads", "chosen"),
    [
        pytest.param((65, 0), "e1", id="65 > 64 and 65 > 0"),
        pytest.param((64, 0), "e0", id="not more than 64 apart"),
        pytest.param((195, 130), "e0", id="65 apart, but not more than 1.5 times"),
        pytest.param((196, 130), "e1", id="66 apart and more than 1.5 times"),
    ],
)
def test_sglang_gives_up_affinity_when_loads_are_imbalanced(
    loads: tuple[int, int], chosen: str
) -> None:
    made = policy("sglang-cache-aware", instances=2)
    warm(made, "e0", TEN)
    load(made, {"e0": loads[0], "e1": loads[1]})
    assert made.place(arrival(1, TEN), 0.0) == chosen


def test_sglang_names_the_instance_whose_prompt_made_the_node() -> None:
    made = policy("sglang-cache-aware")
    warm(made, "e2", TEN)
    warm(made, "e0", TEN)
    assert made.place(arrival(1, TEN), 0.0) == "e2"
    made.leave("e2")
    assert made.place(arrival(2, TEN), 0.0) == "e0"


def test_sglang_as_forked_takes_the_least_loaded_holder() -> None:
    made = policy("sglang-cache-aware", spread=1)
    for instance in ("e0", "e1", "e2"):
        warm(made, instance, TEN)
    load(made, {"e0": 2, "e1": 1, "e2": 1})
    assert made.place(arrival(1, TEN), 0.0) == "e1"


def test_sglang_takes_the_first_of_the_idle() -> None:
    made = policy("sglang-cache-aware")
    assert made.place(arrival(1, TEN), 0.0) == "e0"
    assert made.place(arrival(2, "xyz"), 0.0) == "e1"


@pytest.mark.parametrize(
    ("loads", "chosen"),
    [
        pytest.param({"e0": 2, "e1": 2, "e2": 1}, "e0", id="best match"),
        # mean 3, deviation 2.16: 6 is above 5.16, so the second-best match
        pytest.param({"e0": 6, "e1": 2, "e2": 1}, "e1", id="best match too busy"),
        # 9 apart: only e2, which matches nothing, may match; so the fewest requests
        pytest.param({"e0": 9, "e1": 2, "e2": 0}, "e2", id="imbalanced"),
    ],
)
def test_aibrix_takes_the_best_match_that_is_not_busier_than_usual(
    loads: dict[str, int], chosen: str
) -> None:
    made = policy("aibrix-prefix-cache")
    warm(made, "e0", TEN)
    warm(made, "e1", TEN[:5])
    load(made, loads)
    assert made.place(arrival(1, TEN), 0.0) == chosen


def test_aibrix_without_a_match_takes_the_fewest_requests_any_of_equals() -> None:
    made = policy("aibrix-prefix-cache")
    load(made, {"e0": 1})
    chosen = set()
    for number in range(30):
        chosen.add(made.place(arrival(number, [number]), 0.0))
        made.failed(number, 0.0)
    assert chosen <= {"e1", "e2"}
    assert len(chosen) == 2


def test_preble_follows_a_match_of_more_than_half() -> None:
    made = policy("preble", instances=2)
    warm(made, "e0", TEN[:6])
    assert made.place(arrival(1, TEN), 1.0) == "e0"


def test_preble_of_equal_matches_takes_the_fewest_requests_of_the_window() -> None:
    made = policy("preble", instances=2)
    warm(made, "e0", TEN)
    warm(made, "e0", "xyz", 2)
    warm(made, "e1", TEN, 3)
    assert made.place(arrival(4, TEN), 1.0) == "e1"


def test_preble_below_that_takes_the_least_work_of_the_window() -> None:
    made = policy("preble", instances=2)
    put(made, "e0", arrival(1, prompt_tokens=3000), now=0.0)  # 3.03 s + 45 * .012 s
    put(made, "e1", arrival(2, prompt_tokens=500), now=10.0)  # .51 s + .54 s
    assert made.place(arrival(3, "abc"), 180.0) == "e1"
    assert made.place(arrival(4, "xyz"), 181.0) == "e0"  # its first has left the window


def test_preble_counts_what_the_request_itself_would_compute() -> None:
    def chosen(own: float) -> str:
        made = policy("preble", instances=2, own=own)
        warm(made, "e1", TEN[:4])  # .4 + .01 + .54 s in its window, and .4 s less to compute
        put(made, "e0", arrival(1, prompt_tokens=100))  # .11 + .54 s
        return made.place(arrival(2, TEN), 1.0)

    assert chosen(own=1) == "e1"
    assert chosen(own=0) == "e0"


@pytest.mark.parametrize(
    ("queued", "chosen"),
    [
        pytest.param((299, 0), "e0", id="299 + 700 against 1000"),
        pytest.param((301, 0), "e1", id="301 + 700 against 1000"),
    ],
)
def test_lpwl_takes_the_fewest_tokens_to_prefill(queued: tuple[int, int], chosen: str) -> None:
    made = policy("lpwl", instances=2)
    warm(made, "e0", TEN[:3])
    for number, tokens in enumerate(queued):
        if tokens:
            put(made, f"e{number}", arrival(number + 1, prompt_tokens=tokens))
    assert made.place(arrival(9, TEN), 0.0) == chosen


def test_lpwl_of_equal_ones_takes_the_fewest_requests_then_the_next_in_turn() -> None:
    made = policy("lpwl")
    load(made, {"e0": 1})
    chosen = []
    for number in range(3):
        chosen.append(made.place(arrival(number), 0.0))
        made.failed(number, 0.0)
    assert chosen == ["e1", "e2", "e1"]
