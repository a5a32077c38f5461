"""Reading single metrics out of a page."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from steelyard_router.engines.exposition import samples

PAGE = b"""\
# HELP vllm:num_requests_waiting Requests that wait.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="a b}{\\"c"} 3.0
vllm:num_requests_waiting{engine="1"} 4 1700000000
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99
other_vllm:num_requests_waiting 98
vllm:num_requests_waiting nonsense
vllm:num_requests_waiting NaN
vllm:num_requests_waiting
bare 1e3"""


def test_only_samples_of_exactly_that_name_are_read() -> None:
    assert [sample.value for sample in samples(PAGE, "vllm:num_requests_waiting")] == [3, 4]


def test_labels_may_hold_braces_spaces_and_quotes() -> None:
    first = next(samples(PAGE, "vllm:num_requests_waiting"))

    assert first.labels["engine"] == "0"
    assert first.labels["model_name"].startswith("a b}{")


def test_a_sample_may_have_no_labels_and_no_newline_behind_it() -> None:
    assert [sample.value for sample in samples(PAGE, "bare")] == [1000]


def test_a_name_that_is_not_there_gives_nothing() -> None:
    assert not list(samples(PAGE, "vllm:num_requests"))
    assert not list(samples(b"", "bare"))


@given(st.binary(max_size=500))
def test_no_bytes_whatever_make_reading_fail(page: bytes) -> None:
    assert all(math.isfinite(s.value) for s in samples(page + b"\nx{" + page, "x"))


@pytest.fixture
def big_page() -> bytes:
    """As long as a busy engine's page."""
    registry = CollectorRegistry()
    for number in range(10):
        histogram = Histogram(
            f"vllm:histogram_{number}", "A histogram.", ["engine", "model"], registry=registry
        )
        for engine in range(8):
            histogram.labels(str(engine), "meta-llama/Llama-3.1-8B-Instruct").observe(1)
    running = Gauge("vllm:num_requests_running", "Running.", ["engine"], registry=registry)
    for engine in range(8):
        running.labels(str(engine)).set(engine)
    return generate_latest(registry)


def test_reads_what_the_full_parser_reads_in_a_small_part_of_its_time(big_page: bytes) -> None:
    begun = time.perf_counter()
    families = list(text_string_to_metric_families(big_page.decode()))
    parsing_s = time.perf_counter() - begun
    expected = [
        (s.labels, s.value)
        for family in families
        for s in family.samples
        if s.name == "vllm:num_requests_running"
    ]

    begun = time.perf_counter()
    found = list(samples(big_page, "vllm:num_requests_running"))
    scanning_s = time.perf_counter() - begun

    assert [(dict(s.labels), s.value) for s in found] == expected
    assert scanning_s < parsing_s / 5
