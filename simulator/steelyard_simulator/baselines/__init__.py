"""Other systems' ways to place requests, faithful enough to be measured against ours.

Each is a file of its own that says where its rule and constants come from, which reading was taken
where the source leaves one open, and what it knows of its engines. The rules of least requests,
round robin and P-token times batch size are strategies of the router itself.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from steelyard_simulator.baselines.aibrix_prefix_cache import AibrixPrefixCache
from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.dynamo import Dynamo
from steelyard_simulator.baselines.least_ttft import LeastTtft
from steelyard_simulator.baselines.linear import Linear
from steelyard_simulator.baselines.llm_d_affinity import LlmDAffinity, LlmDAffinityCalibrated
from steelyard_simulator.baselines.llm_d_linear import LlmDLinear
from steelyard_simulator.baselines.lpwl import Lpwl
from steelyard_simulator.baselines.polyserve import Polyserve
from steelyard_simulator.baselines.power_of_two import PowerOfTwo
from steelyard_simulator.baselines.preble import Preble
from steelyard_simulator.baselines.session_affinity import SessionAffinity
from steelyard_simulator.baselines.sglang_cache_aware import SglangCacheAware
from steelyard_simulator.baselines.smetric import Smetric
from steelyard_simulator.baselines.uniform_random import UniformRandom
from steelyard_simulator.baselines.vllm import Vllm
from steelyard_simulator.baselines.vllm_current import VllmCurrent
from steelyard_simulator.replay.policy import Options

__all__ = ["BASELINES", "REGISTRY", "Baseline"]

BASELINES: Final[tuple[type[Baseline], ...]] = (
    AibrixPrefixCache,
    Dynamo,
    LeastTtft,
    Linear,
    LlmDAffinity,
    LlmDAffinityCalibrated,
    LlmDLinear,
    Lpwl,
    Polyserve,
    PowerOfTwo,
    Preble,
    SessionAffinity,
    SglangCacheAware,
    Smetric,
    UniformRandom,
    Vllm,
    VllmCurrent,
)
REGISTRY: Final[Mapping[str, Callable[[Options], Baseline]]] = MappingProxyType(
    {kind.name: kind for kind in BASELINES}
)
