from support.placing import arrival, policy, put, warm

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.prefix import matched_share


def hits(made: Baseline, blocks: str) -> list[int]:
    return made.prefixes.hits(arrival(77, blocks), made.fleet)


def test_routing_history_knows_a_prompt_from_its_placing_on() -> None:
    made = policy("lpwl")
    put(made, "e1", arrival(1, "abc"))
    assert hits(made, "abx") == [0, 200, 0]


def test_engine_events_know_a_prompt_from_its_first_byte_on() -> None:
    made = policy("dynamo")
    put(made, "e1", arrival(1, "abc"))
    assert hits(made, "abx") == [0, 0, 0]
    made.first_byte(1, 1.0)
    assert hits(made, "abx") == [0, 200, 0]


def test_a_hit_leaves_one_token_to_compute() -> None:
    made = policy("lpwl")
    warm(made, "e0", "ab")
    assert hits(made, "ab") == [199, 0, 0]


def test_a_full_cache_loses_what_was_used_longest_ago() -> None:
    made = policy("dynamo", cache_tokens=400)
    warm(made, "e0", "ab", 1)
    warm(made, "e0", "cd", 2)
    warm(made, "e0", "ab", 3)
    warm(made, "e0", "ef", 4)
    assert hits(made, "abx")[0] == 200
    assert hits(made, "cdx")[0] == 0


def test_blocks_are_in_use_until_their_request_ends() -> None:
    made = policy("dynamo", cache_tokens=400)
    for number, blocks in enumerate(["ab", "cd"]):
        put(made, "e0", arrival(number, blocks))
        made.first_byte(number, 0.0)
    made.finished(1, 1.0, output_tokens=1, cached_tokens=None)
    made.finished(0, 2.0, output_tokens=1, cached_tokens=None)
    warm(made, "e0", "ef", 2)
    assert hits(made, "abx")[0] == 200
    assert hits(made, "cdx")[0] == 0


def test_an_instance_that_comes_back_has_an_empty_cache() -> None:
    made = policy("lpwl")
    warm(made, "e2", "ab")
    made.leave("e2")
    made.join("e2", cache_tokens=1000, block_tokens=100, speed_hint=None)
    assert hits(made, "abx") == [0, 0, 0]


def test_a_reported_shortfall_shows_evictions_that_events_missed() -> None:
    made = policy("dynamo")
    warm(made, "e0", "ab", 1)
    warm(made, "e0", "xy", 2)
    put(made, "e0", arrival(3, "xyz"))
    made.first_byte(3, 1.0)
    made.finished(3, 2.0, output_tokens=1, cached_tokens=0)
    assert hits(made, "abc")[0] == 0
    assert hits(made, "xyzz")[0] == 300


def test_the_matched_share_is_of_whole_blocks() -> None:
    assert matched_share(arrival(1, "abc", prompt_tokens=390), 200) == 2 / 3
    assert matched_share(arrival(1, "ab"), 199) == 1.0
    assert matched_share(arrival(1, "", prompt_tokens=50), 0) == 0.0
