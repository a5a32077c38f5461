"""`steelyard bench predictor --engine`, its pure parts: the mix, a recording, and what it tells."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_bench.predictor.mix import HEADER, WORKLOADS, arrivals, only, policy
from steelyard_bench.predictor.recording import rows
from steelyard_bench.predictor.report import error_bars, steady
from steelyard_bench.predictor.teller import Teller
from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.config import Policy, RouterConfig
from steelyard_router.observability.outcome import Asked, Outcome
from steelyard_router.scheduling.request import RequestView


def outcome(
    *,
    workload: str = "chat",
    predicted: tuple[float | None, float | None] = (0.2, 0.02),
    measured: tuple[float | None, float | None] = (0.35, 0.03),
    placed_s: float = 0.1,
    e2e_s: float | None = 1.0,
) -> Outcome:
    return Outcome(
        workload=workload,
        placed_s=placed_s,
        predicted_ttft_s=predicted[0],
        predicted_tpot_s=predicted[1],
        ttft_s=measured[0],
        tpot_s=measured[1],
        e2e_s=e2e_s,
    )


def recording(*ended: tuple[float, Outcome]) -> list[str]:
    """What a reader gets of those that came in at those times, in that order of their ends."""
    reading = Teller().begin("", 0.0, 100.0)
    lines = [reading.head(0.0)]
    for at_s, one in ended:
        asked = Asked(at_s, RequestView(prompt_tokens=10))
        assert reading.offer(one, asked)
        lines.append(reading.take())
    return [line.decode() for line in (*lines, reading.end("time"))]


def test_a_router_that_tells_tells_times_from_the_placement_on() -> None:
    (row,) = rows(recording((5.0, outcome())))

    assert row.workload == "chat"
    assert row.at_s == pytest.approx(5.1)
    assert row.told["router"] == (0.2, 0.02)
    assert row.measured == pytest.approx((0.25, 0.03))
    assert row.error("router", "ttft") == pytest.approx(0.2)


def test_a_telling_recording_is_a_recording_still() -> None:
    head, line, end = map(json.loads, recording((5.0, outcome())))

    assert head["steelyard_record"] == 1
    assert {"timestamp", "input_length", "output_length", "hash_ids"} < set(line)
    assert end["steelyard_end"]["requests"] == 1


def test_who_was_not_answered_has_no_row_and_who_was_not_predicted_has_one() -> None:
    lost = outcome(measured=(None, None), e2e_s=None)
    unknown = outcome(predicted=(None, None))

    (row,) = rows(recording((0.0, lost), (1.0, unknown)))

    assert row.error("router", "ttft") is None
    assert row.measured.ttft == pytest.approx(0.25)


def test_the_constant_knows_what_had_ended_of_the_same_workload_and_nothing_else() -> None:
    found = rows(
        recording(
            (0.0, outcome(measured=(0.2, 0.01), e2e_s=1.0)),
            (0.5, outcome(workload="code", measured=(9.1, 0.9), e2e_s=0.4)),
            (2.0, outcome(measured=(0.4, 0.03), e2e_s=0.5)),
            (2.2, outcome(measured=(0.6, 0.05), e2e_s=1.0)),
            (2.6, outcome()),
        )
    )

    told = [row.told["constant"] for row in found if row.workload == "chat"]
    assert told[0] == (None, None)
    assert told[1:3] == [pytest.approx((0.1, 0.01))] * 2
    assert told[3] == pytest.approx((0.2, 0.02))


@given(st.permutations(range(6)))
def test_rows_are_in_the_order_of_placement_whatever_ends_first(order: list[int]) -> None:
    ended = [(float(number), outcome(e2e_s=20.0 + place)) for place, number in enumerate(order)]

    assert [row.at_s for row in rows(recording(*ended))] == pytest.approx(
        [number + 0.1 for number in range(6)]
    )


def test_a_router_that_has_predicted_nothing_has_missed_its_bars() -> None:
    made = rows(recording((0.0, outcome(predicted=(None, None)))))

    bars = error_bars([steady(3.0, made)], {"ttft": 0.25, "tpot": 0.25})

    assert [(bar.name, bar.value, bar.holds) for bar in bars] == [
        ("median error of TTFT at 3/s", None, False),
        ("median error of TPOT at 3/s", None, False),
    ]


def test_a_median_is_held_against_its_own_bar() -> None:
    made = rows(recording((0.0, outcome()), (1.0, outcome())))

    ttft, tpot = error_bars([steady(3.0, made)], {"ttft": 0.25, "tpot": 0.25})

    assert (ttft.holds, tpot.holds) == (True, False)
    assert [ttft.value, tpot.value] == pytest.approx([0.2, 1 / 3])


def test_the_small_mix_has_the_shares_of_the_mix_and_fits_its_engines() -> None:
    drawn = arrivals(10.0, 200.0, seed=1)

    counts = Counter(one.workload for one in drawn)
    shares = {name: count / len(drawn) for name, count in counts.items()}
    assert shares == pytest.approx({"chat": 0.5, "code": 0.25, "batch": 0.25}, abs=0.04)
    assert sum(len(only(name, drawn)) for name in WORKLOADS) == len(drawn)
    assert max(one.input_tokens + one.output_tokens for one in drawn) < 8192
    assert min(min(one.input_tokens, one.output_tokens) for one in drawn) >= 1


def test_the_router_tells_the_workloads_apart_by_their_header() -> None:
    config = RouterConfig(policy=Policy.model_validate(policy()))
    analyzer = Analyzer(config, TokenRatio(), OutputHistory())
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "act add age"}]})

    for name in WORKLOADS:
        found = analyzer.analyze("/v1/chat/completions", {HEADER: name}, body.encode())
        assert found.workload.name == name
