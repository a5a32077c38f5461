"""For whom the refusal of one decides."""

from dataclasses import replace
from typing import Any

import pytest

from steelyard_router.scheduling.precedent import LOOKED_AT, Precedents
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.strategy import MarginalDelay
from steelyard_router.scheduling.waiting import Ask

BATCH = RequestView(slo=SLO(e2e_s=60.0), expected_output_tokens=600, prompt_tokens=1000)
ASK = Ask(BATCH, MarginalDelay())


def is_refused(ask: Ask) -> bool:
    made = Precedents()
    made.add(ASK)
    return made.decide(ask)


@pytest.mark.parametrize("number", range(3))
def test_one_of_so_many_is_looked_at_itself_and_another_each_time(number: int) -> None:
    made = Precedents(number)
    made.add(ASK)

    looked_at = [place for place in range(LOOKED_AT) if not made.decide(ASK)]

    assert looked_at == [LOOKED_AT - 1 - number]


@pytest.mark.parametrize(
    "longer",
    [{}, {"prompt_tokens": 2000}, {"expected_output_tokens": 601}, {"workload": "of another name"}],
)
def test_others_like_it_that_are_no_shorter_are_refused(longer: dict[str, Any]) -> None:
    assert is_refused(replace(ASK, request=replace(BATCH, **longer)))


@pytest.mark.parametrize(
    "other",
    [
        {"prompt_tokens": 999},
        {"expected_output_tokens": 599},
        {"priority": 1},
        {"sequences": 2},
        {"weights": Weights(e2e=0.2)},
        {"slo": SLO(ttft_s=1.0)},
    ],
)
def test_a_shorter_one_or_one_that_is_worth_something_else_is_not(other: dict[str, Any]) -> None:
    assert not is_refused(replace(ASK, request=replace(BATCH, **other)))


@pytest.mark.parametrize(
    "other",
    [
        {"strategy": MarginalDelay()},
        {"among": frozenset("a")},
        {"exclude": ("a",)},
        {"max_p_tokens": 1},
    ],
)
def test_nor_is_one_that_would_go_elsewhere(other: dict[str, Any]) -> None:
    assert not is_refused(replace(ASK, **other))
