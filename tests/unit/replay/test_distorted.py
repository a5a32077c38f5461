from steelyard_router.scheduling.predictor import Coefficients, Observation, OnlinePredictor
from steelyard_simulator.replay.distorted import TERMS, Distorted


def test_a_fleet_is_distorted_only_when_a_factor_is_given() -> None:
    assert Distorted.of({}) is None
    assert Distorted.of({"p": 0.5, "base": 1.0}) is None
    assert Distorted.of({"base": 2.0}) is not None


def test_each_coefficient_is_off_by_its_own_factor_whatever_is_learned() -> None:
    usual = OnlinePredictor()
    wrong = Distorted(OnlinePredictor(), Coefficients(2, 1, 1, 0.5, 1))
    for predictor in (usual, wrong):
        predictor.join("a")
        for step in range(100):
            predictor.observe("a", Observation(0.5 + step / 1000, 20, 2000, 4e6, 160, 2e5))

    true, told = usual.coefficients("a"), wrong.coefficients("a")

    assert told == Coefficients(
        2 * true.base_s, true.prefill_s, true.attention_s, 0.5 * true.sequence_s, true.context_s
    )
    assert wrong.trusted("a") == usual.trusted("a")
    wrong.leave("a")
    assert not wrong.trusted("a")


def test_terms_are_those_of_the_coefficients() -> None:
    assert TERMS == ("base", "prefill", "attention", "sequence", "context")
