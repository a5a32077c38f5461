from steelyard_bench.evaluation.version import ENGINE, SIMULATION, closure, code_version
from steelyard_simulator.baselines.preble import Preble
from steelyard_simulator.baselines.vllm import Vllm
from steelyard_simulator.replay.scheduled import SchedulerPolicy


def test_what_a_module_imports_of_ours_is_followed() -> None:
    found = closure((SchedulerPolicy.__module__,))

    assert "steelyard_router.scheduling.strategy.marginal_delay" in found
    assert "steelyard_router.scheduling.predictor.fit" in found
    assert "steelyard_router.scheduling.index" in found
    assert not [name for name in found if not name.startswith("steelyard_")]


def test_a_baseline_depends_neither_on_our_strategies_nor_on_other_baselines() -> None:
    found = closure((SIMULATION, ENGINE, Vllm.__module__))

    assert "steelyard_router.scheduling.strategy" not in found
    assert "steelyard_router.scheduling.scheduler" not in found
    assert Preble.__module__ not in found
    assert "steelyard_simulator.baselines.baseline" in found
    assert "steelyard_simulator.engine.decode" in found


def test_policies_of_one_code_share_its_version_whatever_their_constants() -> None:
    assert code_version("linear") == code_version("linear:kv=0.4")
    assert code_version("default") == code_version("multiplicative")
    assert len({code_version(name) for name in ("default", "vllm", "preble")}) == 3
