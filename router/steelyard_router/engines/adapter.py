"""What an engine's metrics are called. One small class per engine, one list of all.

An engine with data-parallel ranks exports every metric once per rank: requests and cache sizes add
up, shares are averaged.
"""

from collections.abc import Sequence
from typing import Protocol

from steelyard_router.config import EngineType
from steelyard_router.engines.exposition import Sample, samples
from steelyard_router.engines.report import Reading


class Adapter(Protocol):
    """Reads one engine's metrics page."""

    def read(self, page: bytes) -> Reading | None:
        """What the page says; None when it is another engine's."""
        ...


class VLLM:
    """vLLM, and whatever speaks its metric names (the simulated engine does)."""

    def read(self, page: bytes) -> Reading | None:
        running = [sample.value for sample in samples(page, "vllm:num_requests_running")]
        if not running:
            return None
        usage = [sample.value for sample in samples(page, "vllm:kv_cache_usage_perc")]
        # Before v1 it had another name.
        usage = usage or [sample.value for sample in samples(page, "vllm:gpu_cache_usage_perc")]
        caches = [_vllm_cache_tokens(sample) for sample in samples(page, "vllm:cache_config_info")]
        return Reading(
            running=int(sum(running)),
            waiting=_total(page, "vllm:num_requests_waiting"),
            kv_usage=sum(usage) / len(usage) if usage else None,
            cache_tokens=sum(caches) or None,
            counters=_counters(page, "vllm:prompt_tokens_total", "vllm:generation_tokens_total"),
        )


class SGLang:
    """SGLang, started with --enable-metrics.

    With metrics for all schedulers on, the tensor-parallel ranks repeat the figures of their
    data-parallel rank, and parts by priority stand next to the whole; so the largest row of each
    rank is the rank's. Its counters of tokens move at a request's end only, the realtime ones with
    every logged batch.
    """

    def read(self, page: bytes) -> Reading | None:
        running = _by_rank(page, "sglang:num_running_reqs")
        if not running:
            return None
        waiting = _by_rank(page, "sglang:num_queue_reqs")
        usage = _by_rank(page, "sglang:token_usage")
        return Reading(
            running=int(sum(running)),
            waiting=int(sum(waiting)) if waiting else None,
            kv_usage=sum(usage) / len(usage) if usage else None,
            cache_tokens=int(sum(_by_rank(page, "sglang:max_total_num_tokens"))) or None,
            counters=_counters(
                page,
                "sglang:prompt_tokens_total",
                "sglang:generation_tokens_total",
                "sglang:realtime_tokens_total",
            ),
        )


ADAPTERS: dict[EngineType, Sequence[Adapter]] = {
    EngineType.VLLM: (VLLM(),),
    EngineType.SIMULATOR: (VLLM(),),
    EngineType.SGLANG: (SGLang(),),
    EngineType.EXTERNAL: (VLLM(), SGLang()),
}


def read_page(engine: EngineType, page: bytes) -> Reading | None:
    """The page as the engine's adapter reads it; None when there is nothing known on it."""
    for adapter in ADAPTERS[engine]:
        if (reading := adapter.read(page)) is not None:
            return reading
    return None


def _total(page: bytes, name: str) -> int | None:
    values = [sample.value for sample in samples(page, name)]
    return int(sum(values)) if values else None


def _counters(page: bytes, *names: str) -> tuple[float, ...]:
    return tuple(sum(sample.value for sample in samples(page, name)) for name in names)


def _by_rank(page: bytes, name: str) -> list[float]:
    ranks: dict[str, float] = {}
    for sample in samples(page, name):
        rank = sample.labels.get("dp_rank", "")
        ranks[rank] = max(sample.value, ranks.get(rank, 0.0))
    return list(ranks.values())


def _vllm_cache_tokens(info: Sample) -> int:
    """0 where it does not say: before the engine has profiled its memory the labels are "None"."""
    size = _int_label(info, "kv_cache_size_tokens")
    return size or _int_label(info, "block_size") * _int_label(info, "num_gpu_blocks")


def _int_label(info: Sample, label: str) -> int:
    text = info.labels.get(label, "")
    return int(text) if text.isdecimal() else 0
