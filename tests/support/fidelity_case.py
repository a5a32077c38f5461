"""Studies as their JSON has them, requests and what became of them, with figures of a test."""

from collections.abc import Sequence
from typing import Any

from steelyard_bench.fidelity.study import FORMAT
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest, to_ranges

SMALL = Profile(
    name="small",
    base_s=7e-3,
    per_prefill_token_s=2e-4,
    per_sequence_s=3e-4,
    per_context_token_s=2e-7,
    attention_s=6e-8,
    kv_tokens=64 * 700,
    block_tokens=64,
    max_num_batched_tokens=512,
    max_num_seqs=32,
    max_model_len=16_384,
)
ORDER = ("round-robin", "least-request", "multiplicative")


def request(at_s: float, ids: Sequence[int], tokens: int, output: int = 10) -> TraceRequest:
    return TraceRequest(at_s, tokens, output, blocks=to_ranges(list(ids)))


def measurement(at_s: float, ttft_s: float, cached: int = 0, **more: Any) -> Measurement:
    usual: dict[str, Any] = {
        "lag_s": 0.0,
        "input_tokens": 100,
        "output_tokens": 11,
        "status": 200,
        "instance": "engine-0",
        "prompt_tokens": 100,
        "completion_tokens": 11,
        "tpot_s": 0.01,
        "e2e_s": ttft_s + 0.1,
    }
    return Measurement(at_s=at_s, ttft_s=ttft_s, cached_tokens=cached, **{**usual, **more})


def figures(ttft_ms: float, **more: float) -> dict[str, float]:
    usual = {
        "requests": 300,
        "errors": 0,
        "ttft_p50_ms": ttft_ms / 2,
        "ttft_p99_ms": ttft_ms * 5,
        "tpot_ms": 10.0,
        "e2e_ms": 10 * ttft_ms,
        "hit_ratio": 0.4,
        "busiest": 0.5,
    }
    return {"ttft_ms": ttft_ms, **usual, **more}


def policies(live: Sequence[float], simulated: Sequence[float], usual: float = 0.0) -> list[Any]:
    """TTFT means in the order of ORDER."""
    return [
        {
            "policy": policy,
            "live": figures(measured),
            "simulated": figures(said),
            "chance": figures(7.0),
            "placed": {"requests": 300, "same_cached": 0.995, "ttft": -0.031, "off_ms": 4.25},
            "others": {"usual": usual, "niced": 0.0},
            "pace": 1.05,
            "beside": figures(1.1 * measured),
        }
        for policy, measured, said in zip(ORDER, live, simulated, strict=True)
    ]


def document(real: Sequence[Any], modelled: Sequence[Any] | None = None) -> dict[str, Any]:
    costs = {
        "overhead_s": 0.004,
        "base_s": 0.007,
        "per_prefill_token_s": 2e-4,
        "attention_s": 6e-8,
        "per_sequence_s": 3e-4,
        "per_context_token_s": 2e-7,
    }
    error = {"observations": 26, "median": 0.012, "typical": 0.034, "largest": 0.2}
    usual = policies((300, 250, 200), (300, 250, 200))
    return {
        "format": FORMAT,
        "machine": {"cpu": "none", "cores": 2, "python": "3.11"},
        "engine": {
            "version": "0.32.0",
            "block_tokens": 64,
            "blocks": 768,
            "step_tokens": 512,
            "sequences": 32,
        },
        "load": {
            "trace": "conversation.jsonl.gz",
            "share": 0.05,
            "turns": 2,
            "prompt": 16,
            "reply": 8,
            "longest": 4096,
            "speed": 47.0,
            "requests": 300,
            "span_s": 74.8,
            "input_tokens": 807,
            "output_tokens": 48.8,
            "longest_tokens": 4043,
            "reuse": 0.5166,
        },
        "fit": {"rounds": 4, "costs": costs, "errors": {"prompt alone": error}},
        "real": {"speed": 1.0, "overhead_s": 0.011, "policies": real},
        "modelled": {"speed": 3.0, "overhead_s": 0.008, "policies": modelled or usual},
        "ahead": False,
        "wall_s": 450.0,
    }
