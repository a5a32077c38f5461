"""What is learned from observations: how fast, how well, about whom, and never nonsense."""

import random
from math import inf, isfinite, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_router.scheduling.predictor import (
    PRIOR,
    Coefficients,
    Observation,
    OnlinePredictor,
    Predictor,
    attended,
)

FAST = Coefficients(9e-3, 35e-6, 1.2e-9, 60e-6, 65e-9)


def slower(factor: float) -> Coefficients:
    return Coefficients(*[each * factor for each in FAST])


def seconds(truth: Coefficients, seen: Observation) -> float:
    return sum(one * two for one, two in zip(truth, seen[1:], strict=True))


def window(rng: random.Random, truth: Coefficients, noise: float = 0.05) -> Observation:
    """A second or so of a busy instance."""
    steps, sequences = rng.randint(16, 80), rng.randint(1, 60)
    tokens = rng.choice([0, 0, rng.randint(100, 30_000)])
    context = sequences * rng.randint(500, 15_000)
    seen = Observation(
        1.0, steps, tokens, attended(tokens, tokens + 2000), steps * sequences, steps * context
    )
    return seen._replace(seconds=seconds(truth, seen) * rng.gauss(1, noise))


def typical(predictor: Predictor, name: str, truth: Coefficients) -> float:
    """Mean error of predictions, relative."""
    rng, errors = random.Random(99), []
    for _ in range(200):
        seen = window(rng, truth, 0.0)
        errors.append(abs(seconds(predictor.coefficients(name), seen) / seen.seconds - 1))
    return sum(errors) / len(errors)


def made(*names: str) -> OnlinePredictor:
    predictor = OnlinePredictor()
    for name in names:
        predictor.join(name)
    return predictor


def test_before_anything_is_seen_the_prior_holds_and_is_not_trusted() -> None:
    predictor = made("a")

    assert predictor.coefficients("a") == pytest.approx(PRIOR)
    assert not predictor.trusted("a")


def test_a_single_instance_is_learned_within_a_hundred_windows() -> None:
    predictor, rng = made("a"), random.Random(1)
    assert typical(predictor, "a", FAST) > 0.15
    for _ in range(100):
        predictor.observe("a", window(rng, FAST))

    assert predictor.trusted("a")
    assert typical(predictor, "a", FAST) < 0.05


def test_prompts_that_cost_many_times_the_prior_are_learned_from_a_small_share_of_time() -> None:
    """A tiny model on a CPU: a step is as long as the prior's, a prompt's token six times."""
    cpu = Coefficients(8e-3, 200e-6, 60e-9, 300e-6, 0.3e-6)
    predictor, rng = made("a"), random.Random(14)
    shares = []
    for _ in range(150):
        tokens, sequences = rng.choice([0, rng.randint(50, 500)]), rng.randint(1, 6)
        seen = Observation(
            1.0, 32, tokens, attended(tokens, tokens), 32 * sequences, 32 * sequences * 150
        )
        took_s = seconds(cpu, seen)
        shares.append(cpu.prefill(tokens, seen.pairs) / took_s)
        predictor.observe("a", seen._replace(seconds=took_s * rng.gauss(1, 0.1)))

    assert sum(shares) / len(shares) < 0.12
    assert predictor.trusted("a")
    assert predictor.coefficients("a").prefill_s == pytest.approx(cpu.prefill_s, rel=0.4)


def test_equals_share_what_they_learn_and_stay_exactly_equal() -> None:
    names = [f"i{number}" for number in range(16)]
    predictor, rng = made(*names), random.Random(2)
    for round_ in range(160):
        predictor.observe(names[round_ % 16], window(rng, FAST))

    assert len({predictor.coefficients(name) for name in names}) == 1
    assert all(predictor.trusted(name) for name in names)
    assert typical(predictor, "i0", FAST) < 0.05


def test_a_mixed_fleet_is_told_apart() -> None:
    predictor, rng = made("a", "b", "c", "d"), random.Random(3)
    truth = {"a": FAST, "b": FAST, "c": slower(2.5), "d": slower(2.5)}
    for _ in range(80):
        for name, each in truth.items():
            predictor.observe(name, window(rng, each))

    assert all(predictor.trusted(name) for name in truth)
    for name, each in truth.items():
        assert typical(predictor, name, each) < 0.08
    assert predictor.coefficients("a") == predictor.coefficients("b")
    assert predictor.coefficients("c") == predictor.coefficients("d")


def test_an_instance_that_becomes_slower_is_followed_and_forgiven() -> None:
    predictor, rng = made("a", "b", "c"), random.Random(4)
    for factor in (1.0, 3.0, 1.0):
        for _ in range(700):
            predictor.observe("a", window(rng, FAST))
            predictor.observe("b", window(rng, FAST))
            predictor.observe("c", window(rng, slower(factor)))
        assert typical(predictor, "c", slower(factor)) < 0.1
        assert typical(predictor, "a", FAST) < 0.1

    assert predictor.coefficients("c") == predictor.coefficients("a")


def test_one_that_is_slower_only_at_prompts_is_told_apart_too() -> None:
    predictor, rng = made("a", "b"), random.Random(5)
    odd = FAST._replace(prefill_s=FAST.prefill_s * 2, attention_s=FAST.attention_s * 2)
    for _ in range(300):
        predictor.observe("a", window(rng, FAST))
        predictor.observe("b", window(rng, odd))

    assert typical(predictor, "a", FAST) < 0.08
    assert typical(predictor, "b", odd) < 0.08


def test_one_of_which_only_decoding_is_seen_is_told_apart_by_that() -> None:
    predictor, rng = made("a", "b", "c"), random.Random(13)
    for _ in range(200):
        for name, truth in (("a", FAST), ("b", slower(2)), ("c", slower(2))):
            seen = window(rng, truth)._replace(prefill_tokens=0, pairs=0)
            predictor.observe(name, seen._replace(seconds=seconds(truth, seen)))

    assert predictor.coefficients("b") == predictor.coefficients("c")
    decode = predictor.coefficients("b").decode(20, 100_000)
    assert decode == pytest.approx(slower(2).decode(20, 100_000), rel=0.05)


def test_a_newcomer_among_equals_is_trusted_as_one_of_them_but_not_in_a_mixed_fleet() -> None:
    predictor, rng = made("a"), random.Random(6)
    for _ in range(100):
        predictor.observe("a", window(rng, FAST))
    predictor.join("b")
    assert predictor.trusted("b")
    assert predictor.coefficients("b") == predictor.coefficients("a")

    for _ in range(100):
        predictor.observe("b", window(rng, slower(2.5)))
    predictor.join("c")
    assert not predictor.trusted("c")


def test_stalls_teach_little() -> None:
    predictor, rng = made("a"), random.Random(7)
    for turn in range(400):
        seen = window(rng, FAST)
        if turn % 10 == 9:
            seen = seen._replace(seconds=seen.seconds * rng.choice([0.01, 5, 100]))
        predictor.observe("a", seen)

    assert typical(predictor, "a", FAST) < 0.1


def test_figures_that_make_no_sense_are_not_trusted() -> None:
    predictor, rng = made("a"), random.Random(8)
    for _ in range(400):
        seen = window(rng, FAST)
        predictor.observe("a", seen._replace(seconds=seen.seconds * 10 ** rng.uniform(-2, 2)))

    assert not predictor.trusted("a")


def test_one_that_never_computed_a_prompt_is_not_trusted() -> None:
    predictor, rng = made("a"), random.Random(9)
    for _ in range(200):
        seen = window(rng, FAST)._replace(prefill_tokens=0, pairs=0)
        predictor.observe("a", seen._replace(seconds=seconds(FAST, seen)))

    assert not predictor.trusted("a")


def test_who_is_not_there_is_not_known() -> None:
    predictor, rng = made("a"), random.Random(10)
    predictor.join("a")
    predictor.observe("stranger", window(rng, FAST))
    predictor.leave("stranger")
    predictor.leave("a")
    predictor.observe("a", window(rng, FAST))

    assert predictor.coefficients("a") == PRIOR
    assert not predictor.trusted("a")


def test_what_was_learned_outlives_the_last_instance() -> None:
    predictor, rng = made("a"), random.Random(11)
    for _ in range(100):
        predictor.observe("a", window(rng, FAST))
    predictor.leave("a")
    predictor.join("b")

    assert typical(predictor, "b", FAST) < 0.05


def test_a_class_is_forgotten_with_its_last_member() -> None:
    predictor, rng = made("a", "b"), random.Random(12)
    for _ in range(100):
        predictor.observe("a", window(rng, FAST))
        predictor.observe("b", window(rng, slower(3)))
    predictor.leave("b")
    predictor.join("c")

    assert predictor.coefficients("c") == predictor.coefficients("a")
    assert predictor.trusted("c")


def test_another_prior_may_be_given() -> None:
    predictor = OnlinePredictor(FAST)
    predictor.join("a")

    assert predictor.coefficients("a") == pytest.approx(FAST)


@pytest.mark.parametrize(
    "seen",
    [
        Observation(0, 1, 1, 1, 1, 1),
        Observation(-1, 1, 1, 1, 1, 1),
        Observation(1, 0, 0, 0, 0, 0),
        Observation(1, -1, 1, 1, 1, 1),
        Observation(nan, 1, 1, 1, 1, 1),
        Observation(inf, 1, 1, 1, 1, 1),
        Observation(1, inf, 1, 1, 1, 1),
        Observation(1, 1, nan, 1, 1, 1),
    ],
)
def test_what_cannot_be_is_not_learned(seen: Observation) -> None:
    predictor = made("a")
    predictor.observe("a", seen)

    assert predictor.coefficients("a") == pytest.approx(PRIOR)


amounts = st.one_of(st.just(0.0), st.floats(1e-300, 1e15))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.tuples(*[amounts] * 6)), max_size=60))
def test_coefficients_are_always_finite_and_never_negative(
    stream: list[tuple[str, tuple[float, ...]]],
) -> None:
    predictor = made("a", "b", "c")
    for name, numbers in stream:
        predictor.observe(name, Observation(*numbers))
        for each in "abc":
            assert all(isfinite(one) and one > 0 for one in predictor.coefficients(each))


def test_a_step_shows_in_the_pace_of_that_instance_alone_and_until_it_is_over() -> None:
    predictor, rng = made("a", "b"), random.Random(14)
    for _ in range(300):
        for name in ("a", "b"):
            predictor.observe(name, window(rng, FAST))
    assert (predictor.pace("a"), predictor.pace("b"), predictor.pace("stranger")) == (1, 1, 1)

    for _ in range(40):
        predictor.observe("a", window(rng, FAST))
        predictor.observe("b", window(rng, slower(2)))
    assert predictor.pace("a") == 1
    assert predictor.pace("b") == pytest.approx(2, rel=0.1)

    for _ in range(60):
        predictor.observe("b", window(rng, FAST))
    assert predictor.pace("b") == 1


def test_a_fleet_that_slows_down_together_is_seen_to() -> None:
    predictor, rng = made("a", "b", "c"), random.Random(15)
    for factor in (1.0, 1.6):
        for _ in range(200):
            for name in ("a", "b", "c"):
                predictor.observe(name, window(rng, slower(factor)))

    for name in ("a", "b", "c"):
        assert predictor.pace(name) == pytest.approx(1.6, rel=0.1)


def test_what_is_learned_at_the_start_is_no_step() -> None:
    predictor, rng = made("a"), random.Random(16)
    for _ in range(400):
        predictor.observe("a", window(rng, slower(9)))
        assert predictor.pace("a") == 1
