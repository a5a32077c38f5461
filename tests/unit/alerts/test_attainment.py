import pytest

from steelyard_router.alerts.attainment import met
from steelyard_router.config import Targets

ALL = Targets(ttft_ms=500, tpot_ms=30, e2e_ms=10_000)


@pytest.mark.parametrize(
    ("targets", "ttft_s", "tpot_s", "e2e_s", "expected"),
    [
        (ALL, 0.5, 0.03, 10.0, True),
        (ALL, 0.6, 0.03, 9.0, False),
        (ALL, 0.5, 0.04, 9.0, False),
        (ALL, 0.5, 0.03, 11.0, False),
        (ALL, None, None, 9.0, True),
        (ALL, None, None, None, None),
        (Targets(ttft_ms=500), 0.4, 9.0, 99.0, True),
        (Targets(ttft_ms=500), None, None, 99.0, None),
        (Targets(), 0.1, 0.1, 0.1, None),
    ],
)
def test_a_request_meets_its_slo_when_every_target_that_can_be_judged_is_met(
    targets: Targets,
    ttft_s: float | None,
    tpot_s: float | None,
    e2e_s: float | None,
    expected: bool | None,
) -> None:
    assert met(targets, ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s) is expected
