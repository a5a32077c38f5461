import pytest
from support.fidelity_case import SMALL, measurement, request

from steelyard_bench.fidelity.calibration import Round, described, fitted, pace
from steelyard_bench.fidelity.compared import Live, Played, beside, compared
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.other import Others
from steelyard_bench.fidelity.probe import CROWDS, LONE, Reply
from steelyard_bench.fidelity.work import Costs, Observation, decoding, first_token
from steelyard_simulator.load.stream import Ending

QUICK = Costs(0.005, 0.007, 2e-4, 6e-8, 3e-4, 2e-7)
SLOW = Costs(*[1.5 * cost for cost in QUICK])


def probed(costs: Costs) -> Round:
    works = [first_token(tokens, 0, step_tokens=512) for tokens in LONE]
    works += [decoding(32, [tokens] * size) for size, tokens in CROWDS]
    return Round([Observation("it", work, costs.of(work)) for work in works], Others(0.2, 0.1))


def test_the_fit_over_all_rounds_lies_between_them() -> None:
    costs = fitted([probed(QUICK), probed(SLOW)])

    assert 1.0 < pace(costs, QUICK, Limits()) < 1.5
    assert pace(SLOW, QUICK, Limits()) == pytest.approx(1.5)


def test_what_a_fit_is_off_by_is_told_by_kind() -> None:
    found = described([probed(QUICK), probed(QUICK)])

    assert found["rounds"] == 2
    assert found["errors"]["it"]["observations"] == 2 * (len(LONE) + len(CROWDS))
    assert found["errors"]["it"]["largest"] == 0.0
    assert found["others"] == [{"usual": 0.2, "niced": 0.1}] * 2


def live(asked_s: float) -> Live:
    """Requests far from each other; lone prompts of 104 tokens, 4 of them not cached."""
    requests = [request(float(second), [second], 100) for second in range(5)]
    reply = Reply(0.0, first_s=asked_s, ending=Ending(104, 2, 100))
    measurements = [measurement(float(second), 0.05) for second in range(5)]
    played = [Played(policy, measurements, Others()) for policy in ("round-robin", "vllm")]
    return Live(requests, 2, 1.0, [reply] * 3, 4, played)


def test_what_lone_prompts_take_beyond_their_step_is_added_to_every_request() -> None:
    step_s = SMALL.step_s(prefill_tokens=4, pairs=410, sequences=0, context_tokens=0)

    found = compared(live(0.02), SMALL)

    whole_s = SMALL.step_s(prefill_tokens=104, pairs=5460, sequences=0, context_tokens=0)
    assert found["overhead_s"] == pytest.approx(0.02 - step_s)
    for one in found["policies"]:
        expected_ms = 1000 * (whole_s + 0.02 - step_s)
        assert one["simulated"]["ttft_ms"] == pytest.approx(expected_ms, abs=1e-3)


def test_each_replay_is_seen_beside_the_probes_around_it() -> None:
    around = beside(live(0.02), [probed(QUICK), probed(QUICK), probed(SLOW)], Limits())

    assert around[0]["pace"] < 1.0 < around[1]["pace"]
    assert around[0]["beside"]["ttft_ms"] < around[1]["beside"]["ttft_ms"]
