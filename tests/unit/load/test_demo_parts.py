"""The parts of the demo that need no servers."""

from pathlib import Path
from shutil import copytree

import pytest

from steelyard_bench.chart import draw
from steelyard_bench.demo import ArmResult
from steelyard_bench.scene import DemoError, engine_speed, load_scene
from steelyard_bench.watch import AlertLog
from steelyard_operator.local.admin import AlertState
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.summary import summarise

EXAMPLES = Path(__file__).parents[3] / "examples" / "demo"


def state(name: str, value: float | None = 1.0) -> AlertState:
    return AlertState(
        alert="a", workload="w", metric="Score", state=name, value=value, threshold=2.0
    )


def test_the_shipped_scene_compares_round_robin_with_multiplicative() -> None:
    scene = load_scene(EXAMPLES)

    assert [arm.strategy for arm in scene.arms] == ["RoundRobin", "Multiplicative"]
    assert (scene.engines, scene.speed, scene.model) == (4, 10.0, "demo")
    assert len(scene.requests) == 1750
    assert 59 < scene.requests[-1].at_s < 60


def test_the_shipped_trace_asks_for_nothing_from_before_its_cut() -> None:
    known: set[int] = set()
    for request in load_scene(EXAMPLES).requests:
        ids = list(request.block_ids())
        new = [block_id for block_id in ids if block_id not in known]
        # Upstream numbers blocks in order of appearance.
        assert new == list(range(len(known), len(known) + len(new)))
        known.update(ids)


def test_a_folder_without_the_files_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"lacks service\.yaml.*--examples"):
        load_scene(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("service.yaml", "kind: LLMService", "apiVersion"),
        ("policy-multiplicative.yaml", "a: [", "policy-multiplicative.yaml"),
        ("mooncake_conversation_10min.jsonl.gz", "x", "known schemas"),
    ],
)
def test_a_broken_file_of_the_scene_is_named(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_text(text)

    with pytest.raises(DemoError, match=message):
        load_scene(tmp_path)


@pytest.mark.parametrize(
    ("args", "speed"),
    [
        ((), 1.0),
        (("--speed=4",), 4.0),
        (("--profile", "x", "--speed", "2.5"), 2.5),
    ],
)
def test_the_time_scale_is_the_speed_of_the_engines(args: tuple[str, ...], speed: float) -> None:
    assert engine_speed(args) == speed


@pytest.mark.parametrize("args", [("--speed",), ("--speed=x",), ("--speed", "0")])
def test_a_speed_that_is_none_is_refused(args: tuple[str, ...]) -> None:
    with pytest.raises(DemoError, match="--speed"):
        engine_speed(args)


def test_an_alert_that_fires_and_clears_is_noted_once_each() -> None:
    log = AlertLog()

    for at_s, name in enumerate(["NoData", "OK", "Pending", "Firing", "Firing", "OK", "OK"]):
        log.take([state(name)], float(at_s))

    assert [(change.at_s, change.firing) for change in log.changes] == [(3.0, True), (5.0, False)]
    assert not log.firing


def test_an_alert_that_runs_out_of_data_has_cleared() -> None:
    log = AlertLog()

    log.take([state("Firing")], 1.0)
    assert log.firing
    log.take([state("NoData", None)], 2.0)

    assert [change.firing for change in log.changes] == [True, False]
    assert log.changes[1].to_dict(speed=10.0)["trace_s"] == 20
    assert log.samples == [(1.0, 1.0)]


def result(strategy: str, ttft_s: list[float], log: AlertLog) -> ArmResult:
    measurements = tuple(
        Measurement(at_s=0, lag_s=0, input_tokens=1, output_tokens=1, ttft_s=seconds)
        for seconds in ttft_s
    )
    summary = summarise(measurements, time_scale=10)
    return ArmResult(strategy, summary, measurements, log)


def test_first_token_times_are_in_model_time_and_sorted() -> None:
    assert result("a", [0.3, 0.1], AlertLog()).ttft_s() == [1.0, 3.0]


@pytest.mark.parametrize("ttft_s", [[0.1, 0.4], []])
def test_the_picture_is_drawn_even_of_a_run_that_measured_nothing(
    tmp_path: Path, ttft_s: list[float]
) -> None:
    log = AlertLog()
    for at_s, name in enumerate(["OK", "Firing", "OK"]):
        log.take([state(name)], float(at_s))
    path = tmp_path / "demo.png"

    draw([result("A", ttft_s, log), result("B", [0.2], AlertLog())], 10.0, path)

    assert path.read_bytes().startswith(b"\x89PNG")
