import pytest

from steelyard_router.analysis import hint
from steelyard_router.config import ClientHints
from steelyard_router.errors import BadRequest
from steelyard_router.scheduling.request import SLO

TARGETS = SLO(ttft_s=0.5, tpot_s=0.03)
LOWER, TRUSTED, IGNORE = ClientHints.LOWER_ONLY, ClientHints.TRUSTED, ClientHints.IGNORE


@pytest.mark.parametrize(
    ("hints", "headers", "ttft_s", "tpot_s", "priority"),
    [
        (LOWER, {}, 0.5, 0.03, 5),
        (LOWER, {"x-slo-ttft-ms": "900"}, 0.9, 0.03, 5),
        (LOWER, {"x-slo-ttft-ms": "100"}, 0.5, 0.03, 5),
        (LOWER, {"x-slo-tpot-ms": "45.5", "x-steelyard-priority": "-1"}, 0.5, 0.0455, -1),
        (LOWER, {"x-steelyard-priority": "9"}, 0.5, 0.03, 5),
        (LOWER, {"x-llm-d-slo-ttft-ms": "900", "x-llm-d-slo-tpot-ms": "10"}, 0.9, 0.03, 5),
        (LOWER, {"x-slo-ttft-ms": "800", "x-llm-d-slo-ttft-ms": "900"}, 0.8, 0.03, 5),
        (TRUSTED, {"x-slo-ttft-ms": "100", "x-steelyard-priority": "9"}, 0.1, 0.03, 9),
        (TRUSTED, {"x-slo-tpot-ms": "60"}, 0.5, 0.06, 5),
        (IGNORE, {"x-slo-ttft-ms": "900", "x-steelyard-priority": "-1"}, 0.5, 0.03, 5),
        (IGNORE, {"x-slo-ttft-ms": "soon", "x-steelyard-priority": "high"}, 0.5, 0.03, 5),
    ],
)
def test_hints_do_what_the_service_allows(
    hints: ClientHints, headers: dict[str, str], ttft_s: float, tpot_s: float, priority: int
) -> None:
    slo, granted = hint.apply(headers, TARGETS, 5, hints)

    assert (slo.ttft_s, slo.tpot_s, granted) == (ttft_s, tpot_s, priority)


def test_a_target_that_is_not_there_cannot_be_loosened_but_a_trusted_client_may_set_it() -> None:
    headers = {"x-slo-ttft-ms": "10000"}

    assert hint.apply(headers, SLO(), 0, LOWER)[0] == SLO()
    assert hint.apply(headers, SLO(), 0, TRUSTED)[0] == SLO(ttft_s=10.0)


@pytest.mark.parametrize("hints", [LOWER, TRUSTED])
@pytest.mark.parametrize("name", ["x-slo-ttft-ms", "x-llm-d-slo-tpot-ms"])
@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "0", "0.0", "nan", "inf", "1e3", "1_0", "٣", " 5"]
)
def test_a_malformed_target_is_refused(hints: ClientHints, name: str, value: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        hint.apply({name: value}, TARGETS, 0, hints)

    assert refusal.value.param == name
    assert "positive number of milliseconds" in refusal.value.message


@pytest.mark.parametrize("value", ["", "high", "1.5", "--1", "9" * 400])
def test_a_malformed_priority_is_refused(value: str) -> None:
    with pytest.raises(BadRequest, match="must be an integer"):
        hint.apply({"x-steelyard-priority": value}, TARGETS, 0, LOWER)


@pytest.mark.parametrize(("hints", "tokens"), [(LOWER, 12), (TRUSTED, 12), (IGNORE, None)])
def test_a_client_may_say_how_long_its_reply_will_be_unless_hints_are_ignored(
    hints: ClientHints, tokens: int | None
) -> None:
    assert hint.output_tokens({"x-steelyard-output-tokens": "12"}, hints) == tokens
    assert hint.output_tokens({}, hints) is None


@pytest.mark.parametrize("value", ["", "0", "-5", "1.5", "1e3", "many", " 7", "9" * 10, "٣"])
def test_a_malformed_length_is_refused(value: str) -> None:
    with pytest.raises(BadRequest, match="must be a positive integer") as refusal:
        hint.output_tokens({"x-steelyard-output-tokens": value}, LOWER)

    assert refusal.value.param == "x-steelyard-output-tokens"
