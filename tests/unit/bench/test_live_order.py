"""`steelyard bench live-order`, its pure parts: the load, what a cell comes to, and the verdict."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fidelity_case import measurement

from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.live_order.capacity import capacity
from steelyard_bench.live_order.cell import CELLS
from steelyard_bench.live_order.load import STRICT, arrivals, kind_of, supply
from steelyard_bench.live_order.plan import FULL, QUICK
from steelyard_bench.live_order.summary import summarise
from steelyard_bench.live_order.target import Targets
from steelyard_bench.live_order.verdict import bars
from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.config import EnginePriority, Policy, RouterConfig, SchedulerMode
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.prompt import PromptWriter
from steelyard_simulator.load.trace import TraceRequest

TARGETS = Targets(strict_ttft_s=2.0, loose_e2e_s=10.0)


def asked(*tokens: int) -> list[TraceRequest]:
    return [TraceRequest(0.0, each, 8) for each in tokens]


def answer(tokens: int, ttft_s: float, e2e_s: float | None = None) -> Measurement:
    took_s = ttft_s if e2e_s is None else e2e_s
    return measurement(0.0, ttft_s, input_tokens=tokens, e2e_s=took_s)


def refusal(tokens: int, status: int) -> Measurement:
    return Measurement(0.0, 0.0, tokens, 8, status=status, error=f"http {status}: no")


@given(st.integers(0, 1000), st.floats(1.0, 30.0))
def test_another_rate_brings_the_same_requests_nearer_together(seed: int, rate: float) -> None:
    slow, fast = arrivals(rate, 10.0, seed), arrivals(2 * rate, 10.0, seed)

    assert len(fast) >= len(slow)
    for one, other in zip(slow, fast, strict=False):
        assert other.at_s == pytest.approx(one.at_s / 2)
        assert (other.input_tokens, other.output_tokens) == (one.input_tokens, one.output_tokens)


def test_the_mix_has_both_classes_in_their_shares_and_each_is_told_by_its_prompts() -> None:
    drawn = supply(2000, seed=1)

    strict = [one for one in drawn if one.workload == STRICT.name]
    assert len(strict) / len(drawn) == pytest.approx(STRICT.share, abs=0.04)
    for one in drawn:
        kind = kind_of(one.input_tokens)
        assert kind.name == one.workload
        assert kind.prompt[0] <= one.input_tokens <= kind.prompt[1]
        assert kind.reply[0] <= one.output_tokens <= kind.reply[1]


def test_the_router_tells_the_classes_apart_from_its_first_request_on() -> None:
    policy = Policy.model_validate(CELLS["pool-classes"].policy(TARGETS, sequences=4))
    analyzer = Analyzer(RouterConfig(policy=policy), TokenRatio(), OutputHistory())
    writer = PromptWriter(seed=1, block_tokens=64)

    for number, one in enumerate(supply(50, seed=1)):
        prompt = writer.write(one, number).decode()
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]})
        found = analyzer.analyze("/v1/chat/completions", {}, body.encode())
        assert found.workload.name == one.workload


def test_repeats_have_other_requests() -> None:
    assert arrivals(10.0, 10.0, 0) != arrivals(10.0, 10.0, 1)


def test_the_capacity_is_what_ended_in_the_window() -> None:
    ends_s = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
    found = [answer(32, 0.1, end_s) for end_s in ends_s]

    can = capacity(found, slots=8, from_s=1.0, until_s=3.0)

    assert can.rate_per_s == 2.0
    assert can.service_s == 4.0


def test_engines_that_answer_nothing_have_no_capacity() -> None:
    with pytest.raises(FidelityError, match="nothing was answered in 2 s"):
        capacity([answer(32, 0.1, 0.5)], slots=8, from_s=1.0, until_s=3.0)


def test_a_class_is_held_to_its_own_target() -> None:
    found = [
        answer(32, ttft_s=2.0, e2e_s=50.0),
        answer(32, ttft_s=2.1, e2e_s=2.2),
        answer(200, ttft_s=9.0, e2e_s=10.0),
        answer(200, ttft_s=1.0, e2e_s=10.1),
    ]

    classes = summarise(asked(32, 32, 200, 200), found, TARGETS).classes

    assert {name: (one.met, one.attainment) for name, one in classes.items()} == {
        "strict": (1, 0.5),
        "loose": (1, 0.5),
        "all": (2, 0.5),
    }
    assert classes["strict"].longest_wait_s == 2.1


def test_who_was_refused_or_lost_or_never_answered_has_missed() -> None:
    lost = Measurement(0.0, 0.0, 32, 8, error="connection: ClientOSError")
    broken = Measurement(0.0, 0.0, 32, 8, status=200, error="engine: gone")
    found = [answer(32, 0.5, 1.0), refusal(32, 429), refusal(32, 503), lost, broken]

    strict = summarise(asked(*[32] * 8), found, TARGETS).classes["strict"]

    assert (strict.requests, strict.met) == (8, 1)
    assert (strict.rejected, strict.failed, strict.unanswered) == (2, 2, 3)
    assert strict.e2e_ms.mean == 1000


def test_the_pace_of_a_cell_counts_until_the_last_reply() -> None:
    found = [answer(32, 0.5, 1.0), answer(32, 0.5, 4.0), refusal(32, 503)]

    assert summarise(asked(32, 32, 32), found, TARGETS).served_per_s == 0.5


def test_a_cell_without_any_answer_has_met_nothing() -> None:
    summary = summarise(asked(32), [], TARGETS)

    assert summary.served_per_s == 0.0
    assert summary.to_dict()["classes"]["strict"]["attainment"] == 0.0
    assert summary.to_dict()["classes"]["loose"]["requests"] == 0


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_a_policy_that_the_router_takes(name: str) -> None:
    policy = Policy.model_validate(CELLS[name].policy(TARGETS, sequences=4))

    strict, loose = policy.workloads
    assert (strict.name, strict.slo.ttft_ms, strict.slo.e2e_ms) == ("strict", 2000, None)
    assert (loose.name, loose.slo.ttft_ms, loose.slo.e2e_ms) == ("loose", None, 10_000)
    assert (strict.priority > loose.priority) is name.endswith("classes")
    ranked = name in {"engine-classes", "both-classes"}
    assert (policy.scheduler.engine_priority is EnginePriority.HEADER) is ranked
    assert (policy.scheduler.mode is SchedulerMode.DISABLED) is name.startswith("engine-")
    assert CELLS[name].by_arrival is name.endswith("fcfs")


def test_every_phase_has_something_to_compare_with() -> None:
    for phase in (*FULL.phases, *QUICK.phases):
        by_arrival = {CELLS[name].by_arrival for name in phase.cells}
        assert by_arrival == {True, False}


def cell(name: str, met: int, requests: int = 100) -> dict[str, Any]:
    return {"cell": name, "classes": {"strict": {"met": met, "requests": requests}}}


def document(*cells: dict[str, Any], scheduling: str = "fcfs") -> dict[str, Any]:
    return {"phases": [{"scheduling": scheduling, "cells": list(cells)}]}


def test_ordering_is_held_against_the_better_of_those_that_do_not_order() -> None:
    cells = (cell("engine-fcfs", 10), cell("pool-fcfs", 20), cell("pool-classes", 39))

    (bar,) = bars(document(*cells))

    assert not bar.met
    assert bar.about.startswith("engine priority off, pool-classes")
    assert bar.measured == "39.0% beside 20.0% of pool-fcfs (1.9x)"


def test_repeats_count_together() -> None:
    cells = (
        cell("engine-fcfs", 30),
        cell("both-classes", 100),
        cell("both-classes", 0, requests=50),
        cell("engine-fcfs", 20, requests=50),
    )

    (bar,) = bars(document(*cells, scheduling="priority"))

    assert bar.met
    assert bar.about.startswith("engine priority on, both-classes")
    assert bar.measured == "66.7% beside 33.3% of engine-fcfs (2.0x)"


def test_twice_nothing_is_nothing() -> None:
    none, some = (document(cell("engine-fcfs", 0), cell("pool-classes", met)) for met in (0, 1))

    assert [bar.met for bar in bars(none)] == [False]
    assert [bar.met for bar in bars(some)] == [True]
