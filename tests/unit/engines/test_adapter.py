"""What is read from each engine's metrics, and what two readings say together."""

import pytest

from steelyard_router.config import EngineType
from steelyard_router.engines.adapter import read_page
from steelyard_router.engines.report import EngineReport, Progress, Reading

VLLM = b"""\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 5.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000.0
vllm:generation_tokens_total{engine="0",model_name="m"} 50.0
vllm:cache_config_info{block_size="16",engine="0",kv_cache_size_tokens="160000",\
num_gpu_blocks="10000"} 1.0
"""

SGLANG = b"""\
sglang:num_running_reqs{model_name="m",tp_rank="0"} 7.0
sglang:num_queue_reqs{model_name="m",priority="",tp_rank="0"} 3.0
sglang:num_queue_reqs{model_name="m",priority="5",tp_rank="0"} 2.0
sglang:token_usage{model_name="m",tp_rank="0"} 0.5
sglang:max_total_num_tokens{model_name="m",tp_rank="0"} 471258.0
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 600.0
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 400.0
sglang:generation_tokens_total{model_name="m"} 70.0
sglang:realtime_tokens_total{mode="decode",model_name="m"} 80.0
"""


@pytest.mark.parametrize("engine", [EngineType.VLLM, EngineType.SIMULATOR, EngineType.EXTERNAL])
def test_vllms_names_are_read(engine: EngineType) -> None:
    assert read_page(engine, VLLM) == Reading(
        running=5, waiting=2, kv_usage=0.25, cache_tokens=160_000, counters=(1000, 50)
    )


@pytest.mark.parametrize("engine", [EngineType.SGLANG, EngineType.EXTERNAL])
def test_sglangs_names_are_read(engine: EngineType) -> None:
    assert read_page(engine, SGLANG) == Reading(
        running=7, waiting=3, kv_usage=0.5, cache_tokens=471_258, counters=(1000, 70, 80)
    )


@pytest.mark.parametrize(
    ("engine", "page"),
    [
        (EngineType.VLLM, SGLANG),
        (EngineType.SGLANG, VLLM),
        (EngineType.EXTERNAL, b"<html>no metrics here</html>"),
        (EngineType.EXTERNAL, b""),
    ],
)
def test_another_engines_page_is_no_reading(engine: EngineType, page: bytes) -> None:
    assert read_page(engine, page) is None


def test_data_parallel_ranks_of_vllm_add_up() -> None:
    second = VLLM.replace(b'engine="0"', b'engine="1"').replace(b"0.25", b"0.75")

    assert read_page(EngineType.VLLM, VLLM + second) == Reading(
        running=10, waiting=4, kv_usage=0.5, cache_tokens=320_000, counters=(2000, 100)
    )


def test_tensor_parallel_ranks_of_sglang_do_not_add_up_but_data_parallel_ones_do() -> None:
    page = b"".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {4 + dp}\n'.encode()
        for dp in range(2)
        for tp in range(4)
    )
    reading = read_page(EngineType.SGLANG, page)

    assert reading is not None
    assert reading.running == 9
    assert reading.waiting is None
    assert reading.cache_tokens is None


def test_the_cache_size_is_worked_out_from_blocks_where_it_is_not_given() -> None:
    page = VLLM.replace(b'kv_cache_size_tokens="160000",', b"")
    reading = read_page(EngineType.VLLM, page)

    assert reading is not None
    assert reading.cache_tokens == 160_000


def test_a_cache_size_that_is_not_known_yet_is_none() -> None:
    page = VLLM.replace(b'"160000"', b'"None"').replace(b'"10000"', b'"None"')
    reading = read_page(EngineType.VLLM, page)

    assert reading is not None
    assert reading.cache_tokens is None


def test_the_older_name_of_the_cache_usage_is_known() -> None:
    reading = read_page(EngineType.VLLM, VLLM.replace(b"kv_cache_usage", b"gpu_cache_usage"))

    assert reading is not None
    assert reading.kv_usage == 0.25


def reports(*readings: Reading) -> list[EngineReport]:
    progress = Progress()
    return [progress.report(reading) for reading in readings]


def test_the_first_reading_compares_with_nothing() -> None:
    (report,) = reports(Reading(running=1, waiting=0, kv_usage=0.1, counters=(5, 5)))

    assert (report.running, report.waiting, report.kv_usage) == (1, 0, 0.1)
    assert not report.restarted
    assert not report.progressed


@pytest.mark.parametrize("counters", [(0, 50), (1000, 49), (0, 0)])
def test_a_counter_that_goes_backwards_means_a_restart(counters: tuple[float, ...]) -> None:
    _, report = reports(Reading(counters=(1000, 50)), Reading(counters=counters))

    assert report.restarted
    assert report.progressed


def test_counters_that_grow_mean_progress() -> None:
    _, report = reports(Reading(counters=(1000, 50)), Reading(counters=(1000, 51)))

    assert report.progressed
    assert not report.restarted


def test_a_cache_that_fills_means_progress_during_a_long_prefill() -> None:
    _, report = reports(
        Reading(kv_usage=0.1, counters=(10, 1)), Reading(kv_usage=0.2, counters=(10, 1))
    )

    assert report.progressed


def test_an_engine_that_stands_still_made_no_progress() -> None:
    still = Reading(running=3, waiting=9, kv_usage=0.5, counters=(10, 1))
    _, report = reports(still, still)

    assert not report.progressed
    assert not report.restarted


def test_readings_of_different_engines_are_not_compared() -> None:
    _, report = reports(Reading(counters=(9, 9, 9)), Reading(counters=(1, 1)))

    assert not report.restarted
