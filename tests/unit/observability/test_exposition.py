from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from support.observed import NOW, MadeUp, observer_of, served

from steelyard_router.observability.exposition import SLICE_SAMPLES, Family, slices
from steelyard_router.observability.metrics import Metrics


class Given:
    """A collector of given families, for the library to render in one go."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return [family.whole() for family in self._families]


def gauge(name: str, count: int) -> Family:
    samples = [Sample(name, {"number": str(number)}, number) for number in range(count)]
    return Family(Metric(name, "A number.", "gauge"), samples)


@pytest.mark.parametrize("encode", [generate_latest, generate_openmetrics])
@given(counts=st.lists(st.integers(1, 3 * SLICE_SAMPLES), min_size=1, max_size=4))
def test_slices_join_to_what_the_library_renders_at_once(
    encode: Callable[[Collector], bytes], counts: list[int]
) -> None:
    families = [gauge(f"number_{place}", count) for place, count in enumerate(counts)]

    assert b"".join(slices(families, encode)) == encode(Given(families))


def test_no_slice_holds_more_than_its_share() -> None:
    parts = list(slices([gauge("number", 10 * SLICE_SAMPLES)], generate_latest))

    assert max(part.count(b"number=") for part in parts) == SLICE_SAMPLES


def test_requests_that_end_between_slices_leave_each_series_consistent() -> None:
    source = MadeUp(observer_of("chat"))
    for number in range(200):
        source.observer.finished(served(instance=f"i{number}"), NOW)
    text = b""
    for part in slices(Metrics(source, lambda: NOW).families(), generate_latest):
        text += part
        for number in range(300):
            source.observer.finished(served(instance=f"i{number}"), NOW)

    lines = text.decode().splitlines()
    series = [line for line in lines if line.startswith("steelyard_request_ttft_seconds")]
    infinite = [line.rsplit(" ")[-1] for line in series if 'le="+Inf"' in line]
    counts = [line.rsplit(" ")[-1] for line in series if "_count" in line]
    assert infinite == counts


def test_a_family_without_samples_is_left_out() -> None:
    assert (
        b"".join(slices([gauge("empty", 0), gauge("full", 1)], generate_latest)).count(b"HELP") == 1
    )
