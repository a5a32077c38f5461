"""Made loads: their rates, shares, lengths, and what the seed decides."""

from collections import Counter
from pathlib import Path

import pytest

from steelyard_simulator.load.length import TABLES, Length, lengths
from steelyard_simulator.load.mix import MIXES, Mix
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.trace import TraceRequest

TRACES = Path(__file__).parents[3] / "bench" / "traces"
FILES = {
    "azure_conversation": "azure2023_conv.csv.gz",
    "azure_code": "azure2023_code.csv.gz",
    "servegen": "servegen_r1_10min_sample.csv.gz",
}


def shape(request: TraceRequest) -> tuple[str, int, int]:
    return request.workload, request.input_tokens, request.output_tokens


@pytest.mark.parametrize("table", TABLES)
def test_the_packaged_lengths_are_those_of_the_traces(table: str) -> None:
    recorded = read_trace(TRACES / FILES[table]).requests

    assert sorted(lengths(table)) == sorted(
        Length(one.input_tokens, one.output_tokens) for one in recorded
    )


@pytest.mark.parametrize("name", MIXES)
def test_the_shares_of_a_mix_are_the_whole(name: str) -> None:
    assert sum(part.share for part in MIXES[name]) == pytest.approx(1.0)
    assert {part.lengths for part in MIXES[name]} <= {*TABLES}


def test_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() -> None:
    requests = Mix("slo", 50.0, 600.0).draw(1).requests

    a_second = Counter(int(one.at_s) for one in requests)
    counts = [a_second[second] for second in range(600)]
    mean = sum(counts) / 600
    variance = sum((count - mean) ** 2 for count in counts) / 600
    assert mean == pytest.approx(50.0, rel=0.03)
    assert variance / mean == pytest.approx(1.0, abs=0.25)
    assert 0 <= requests[0].at_s < requests[-1].at_s < 600


def test_workloads_have_their_shares_and_lengths() -> None:
    requests = Mix("slo", 50.0, 600.0).draw(1).requests

    counts = Counter(one.workload for one in requests)
    assert counts["chat"] / len(requests) == pytest.approx(0.5, abs=0.02)
    assert counts["code"] / len(requests) == pytest.approx(0.25, abs=0.02)
    batch = [one.output_tokens for one in requests if one.workload == "batch"]
    assert max(batch) == 4000
    chat = {(one.input_tokens, one.output_tokens) for one in requests if one.workload == "chat"}
    assert chat <= {*lengths("azure_conversation")}


def test_no_two_prompts_have_anything_in_common() -> None:
    assert not any(one.blocks for one in Mix("slo", 10.0, 60.0).draw(1).requests)


def test_a_seed_gives_the_same_load_again_and_another_seed_another_one() -> None:
    mix = Mix("slo", 10.0, 60.0)

    assert mix.draw(1) == mix.draw(1)
    assert mix.draw(1) != mix.draw(2)


def test_at_another_rate_the_same_requests_come_sooner() -> None:
    slow, fast = (Mix("slo", rate, 60.0).draw(1).requests for rate in (10.0, 20.0))

    assert len(fast) > 1.5 * len(slow)
    assert [shape(one) for one in fast[: len(slow)]] == [shape(one) for one in slow]
    assert [2 * one.at_s for one in fast[: len(slow)]] == pytest.approx([o.at_s for o in slow])
