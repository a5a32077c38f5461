"""The pure parts of running a plan on this machine."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.manifests import Tree, policy, service

from steelyard_operator.errors import LocalError
from steelyard_operator.local.admin import AlertState, Status
from steelyard_operator.local.backoff import Backoff
from steelyard_operator.local.command import check, engine_command, find_vllm
from steelyard_operator.local.process import tail
from steelyard_operator.local.rundir import to_yaml
from steelyard_operator.local.settings import Settings
from steelyard_operator.local.view import ServiceView, news
from steelyard_operator.plan import EngineProcess, plan
from steelyard_router.config import Policy, RouterConfig, Workload

SETTINGS = Settings(run_dir=Path("run"), steelyard=("steelyard",), vllm="/opt/vllm")
VIEW = ServiceView("chat", "http://h:1", "http://h:2", status=Status())

HUB = {"uri": "hf://org/model"}
SECRET = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}


def engine(kind: str, model: Tree, **parts: object) -> EngineProcess:
    made = plan([service(model=model, engine={"type": kind, **parts})], [])
    return made.services[0].engines[0]


def test_the_delay_doubles_up_to_its_cap_and_never_reaches_zero() -> None:
    backoff = Backoff(random.Random(1), base_s=1, cap_s=8, stable_s=60)

    delays = [backoff.delay(0) for _ in range(100)]

    for delay, ceiling in zip(delays, [1, 2, 4, *[8] * 97], strict=True):
        assert ceiling / 2 <= delay <= ceiling
    assert len(set(delays[4:])) > 1


def test_a_long_life_makes_the_next_death_a_first_one() -> None:
    backoff = Backoff(random.Random(1), base_s=1, cap_s=8, stable_s=60)
    for _ in range(5):
        backoff.delay(59)

    assert backoff.delay(60) <= 1


def test_a_simulated_engine_is_this_product_with_the_users_arguments_last() -> None:
    spec = engine("Simulator", {"name": "m"}, args=["--speed", "10"])

    argv = engine_command(spec, 7, SETTINGS)

    assert argv == [
        *("steelyard", "engine", "--host", "127.0.0.1", "--port", "7", "--model", "m"),
        *("--speed", "10"),
    ]


@pytest.mark.parametrize(
    ("uri", "model"), [("hf://org/model", "org/model"), ("file:///models/m", "/models/m")]
)
def test_vllm_serves_the_model_under_its_served_name(uri: str, model: str) -> None:
    argv = engine_command(engine("VLLM", {"uri": uri}), 7, SETTINGS)

    assert argv[:3] == ["/opt/vllm", "serve", model]
    assert argv[-2:] == ["--served-model-name", "chat"]


@pytest.mark.parametrize(
    ("spec", "settings", "part"),
    [
        ({"engine": {"type": "VLLM"}, "model": HUB}, replace(SETTINGS, vllm=None), "--vllm-bin"),
        ({"engine": {"type": "SGLang"}, "model": HUB}, SETTINGS, "not run on one machine"),
        ({"engine": {"type": "VLLM"}, "model": {"uri": "pvc://a/b"}}, SETTINGS, "needs a cluster"),
        ({"engine": {"type": "Simulator", "env": [SECRET]}}, SETTINGS, "valueFrom needs a cluster"),
        ({"router": {"apiKeySecretRef": {"name": "a", "key": "b"}}}, SETTINGS, "apiKeySecretRef"),
        (
            {"engine": {"type": "External", "serviceRef": {"name": "a", "port": 1}}},
            SETTINGS,
            "engine.urls",
        ),
    ],
)
def test_what_this_machine_cannot_run_is_refused_once_with_what_to_do(
    spec: Tree, settings: Settings, part: str
) -> None:
    replicas = None if "serviceRef" in str(spec) else 3

    (refusal,) = check(plan([service(replicas=replicas, **spec)], []), settings)

    assert part in refusal
    assert "chat" in refusal


def test_a_revision_of_the_model_is_what_vllm_loads() -> None:
    argv = engine_command(engine("VLLM", {**HUB, "revision": "v2"}, args=["-x"]), 7, SETTINGS)

    assert argv[-3:] == ["--revision", "v2", "-x"]


def test_the_given_vllm_goes_before_the_one_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert find_vllm("/opt/vllm") == "/opt/vllm"
    assert find_vllm(None) is None


def test_a_command_that_cannot_be_made_raises() -> None:
    with pytest.raises(LocalError):
        engine_command(engine("SGLang", {"uri": "hf://a/b"}), 1, SETTINGS)


def test_the_file_that_the_router_reads_has_the_revision_that_was_written() -> None:
    alerts = [{"name": "a", "metric": "Score", "threshold": 9}]
    weights = [{"name": "all", "default": True, "weights": {}}]
    config = plan([service()], [policy(alerts=alerts, workloads=weights)]).services[0].router

    read = RouterConfig.model_validate(yaml.safe_load(to_yaml(config)))

    assert read.revision == config.revision


@pytest.mark.parametrize(
    ("host", "reached"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]")],
)
def test_a_wildcard_host_is_reached_by_loopback(host: str, reached: str) -> None:
    assert replace(SETTINGS, host=host).reach_host == reached


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(b"line %d\n" % i for i in range(100)) + b"\xff\n")

    assert tail(log, 3) == "line 98\nline 99\n\ufffd"
    assert tail(tmp_path / "none") == ""


def view(status: Status) -> ServiceView:
    return replace(VIEW, status=status, current=True)


def alert(state: str, value: float | None = 12.0) -> Status:
    return Status(
        alerts=(
            AlertState(
                alert="slow", workload="chat", metric="Score", state=state, value=value, threshold=9
            ),
        )
    )


def test_readiness_is_news_once() -> None:
    waiting, ready = view(Status()), view(Status(ready=True))

    assert "http://h:1/v1" in next(news(waiting, ready))
    assert list(news(ready, ready)) == []


def test_a_service_is_not_ready_while_an_engine_is_still_on_its_way() -> None:
    partly = replace(view(Status(ready=True)), engines={"chat-0": "ready", "chat-1": "starting"})
    wholly = replace(partly, engines={"chat-0": "ready", "chat-1": "ready"})
    behind = replace(wholly, current=False)
    broken = replace(partly, engines={"chat-0": "ready", "chat-1": "restarting"})

    assert list(news(None, partly)) == []
    assert list(news(partly, behind)) == []
    assert "chat is ready" in next(news(partly, wholly))
    assert "chat is ready" in next(news(partly, broken))


def test_an_alert_is_news_when_it_fires_and_when_it_clears() -> None:
    quiet, pending, firing = (view(alert(state)) for state in ("OK", "Pending", "Firing"))

    assert list(news(None, quiet)) == []
    assert list(news(quiet, pending)) == []
    (fired,) = news(pending, firing)
    assert fired == "ALERT FIRING chat/slow (workload chat): Score is 12, threshold 9"
    assert list(news(firing, firing)) == []
    (cleared,) = news(firing, quiet)
    assert cleared.startswith("ALERT RESOLVED chat/slow")


def test_an_alert_without_data_resolves_and_says_so() -> None:
    (text,) = news(view(alert("Firing")), view(alert("NoData", None)))

    assert text == "ALERT RESOLVED chat/slow (workload chat): Score has no data"


def test_a_router_that_does_not_answer_is_no_news() -> None:
    assert list(news(view(alert("Firing")), replace(VIEW, status=None))) == []


def test_an_edited_policy_is_news_when_the_router_runs_it() -> None:
    first = replace(VIEW, policy=Policy())
    other = Policy(workloads=(Workload(name="other", default=True),))

    assert list(news(VIEW, first)) == []
    (text,) = news(first, replace(first, policy=other))
    assert "in force" in text


def test_a_configuration_that_the_router_refuses_is_news_once() -> None:
    refused = view(Status(config_error="router.yaml:3: no"))

    assert "router.yaml:3: no" in next(news(VIEW, refused))
    assert list(news(refused, refused)) == []
