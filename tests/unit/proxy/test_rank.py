"""The number by which an engine is told who goes first."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.proxy.rank import NO_TARGET_MS, line, rank
from steelyard_router.scheduling.request import SLO, RequestView

NOW_MS = 1.8e12
requests = st.builds(
    RequestView,
    priority=st.integers(-(2**31), 2**31 - 1),
    slo=st.builds(
        SLO,
        ttft_s=st.none() | st.floats(0.001, 1e6),
        e2e_s=st.none() | st.floats(0.001, 1e6),
    ),
)


@given(requests, st.floats(0, 4e12))
def test_it_fits_into_64_bits(request: RequestView, now_ms: float) -> None:
    assert -(2**63) < rank(request, now_ms) < 2**63


@given(st.integers(-1000, 999), requests, requests)
def test_a_higher_class_is_before_any_lower(
    priority: int, low: RequestView, high: RequestView
) -> None:
    low.priority, high.priority = priority, priority + 1

    assert rank(high, NOW_MS) < rank(low, NOW_MS)


def test_of_one_class_who_is_due_earlier_is_first_whenever_it_came() -> None:
    early = rank(RequestView(slo=SLO(ttft_s=5.0, e2e_s=60.0)), NOW_MS)
    late = rank(RequestView(slo=SLO(ttft_s=1.0)), NOW_MS + 5000)
    assert early < late < rank(RequestView(slo=SLO(e2e_s=60.0)), NOW_MS)


def test_who_has_no_target_is_due_after_a_while() -> None:
    never, soon = RequestView(slo=SLO(tpot_s=0.1)), RequestView(slo=SLO(ttft_s=1.0))

    assert rank(never, NOW_MS) == NOW_MS + NO_TARGET_MS
    assert rank(never, NOW_MS) < rank(soon, NOW_MS + NO_TARGET_MS)


def test_it_is_sent_as_a_header() -> None:
    assert line(RequestView(slo=SLO(ttft_s=1.0)), 5.0) == b"X-Vllm-Priority: 1005\r\n"
