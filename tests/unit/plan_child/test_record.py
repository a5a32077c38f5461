"""What restarts an engine: what was asked for, and nothing that an operator's version brings."""

from copy import deepcopy
from typing import Any

import pytest
from support.children import HF, SETTINGS, VLLM, Children, children, stored

from steelyard_operator.plan import child
from steelyard_operator.plan.child import drain_script

KEY = ("Deployment", "chat-engine")
NEWER = child.Settings(image="steelyard:2", vllm_image="vllm:2", sglang_image="sglang:2")


def template(made: Children) -> Any:
    return made[KEY]["spec"]["template"]


@pytest.mark.parametrize("spec", [{}, VLLM, {"model": HF, "engine": {"type": "SGLang"}}])
def test_a_newer_operator_restarts_no_engine(spec: dict[str, Any]) -> None:
    before = children(stored(**spec))
    after = children(stored(**spec), live=before, settings=NEWER)

    assert after[KEY] == before[KEY]


def test_a_newer_compiler_restarts_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children(stored())
    monkeypatch.setattr(drain_script, "SCRIPT", "pass")

    assert template(children(stored(), live=before)) == template(before)
    assert template(children(stored())) != template(before)


def test_a_newer_operator_may_replace_routers() -> None:
    before = children(stored())
    after = children(stored(), live=before, settings=NEWER)

    assert after["Deployment", "chat-router"] != before["Deployment", "chat-router"]


@pytest.mark.parametrize(
    "change",
    [
        {"restartToken": "again"},
        {"model": {"name": "other"}},
        {"engine": {"type": "Simulator", "args": ["--speed=2"]}},
        {"engine": {"type": "Simulator", "env": [{"name": "A", "value": "1"}]}},
        {"cache": {"type": "EmptyDir"}},
    ],
)
def test_what_is_asked_for_restarts_with_all_that_is_new(change: dict[str, Any]) -> None:
    before = children(stored())
    after = children(stored(**change), live=before, settings=NEWER)

    assert after[KEY]["metadata"]["annotations"] != before[KEY]["metadata"]["annotations"]
    assert template(after)["spec"]["containers"][0]["image"] == "steelyard:2"


def test_a_restart_token_alone_replaces_the_pods_of_the_same_operator() -> None:
    """With the same images and all: only the token is new."""
    before = children(stored(restartToken="one"))
    after = children(stored(restartToken="two"), live=before)

    assert template(after) != template(before)


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 7},
        {"router": {"replicas": 2, "clientHints": "Trusted"}},
        {"networkPolicy": "Enabled"},
        {"reconciliation": "Paused"},
        {"disruption": {"maxUnavailable": 2}},
        {"rollout": {"maxSurge": 1, "progressDeadlineSeconds": 86_400}},
        {"engine": {"type": "Simulator", "args": [], "env": [], "image": None}},
    ],
)
def test_everything_else_restarts_nothing(change: dict[str, Any]) -> None:
    before = children(stored())
    after = children(stored(**change), live=before, settings=NEWER)

    assert template(after) == template(before)
    assert after[KEY]["metadata"]["annotations"] == before[KEY]["metadata"]["annotations"]


def test_a_larger_or_a_kept_cache_restarts_nothing() -> None:
    def with_cache(size: str, retention: str) -> Any:
        cache = {
            "type": "PersistentVolumeClaim",
            "template": {"size": size},
            "retention": retention,
        }
        return stored(**VLLM, cache=cache)

    before = children(with_cache("1Gi", "Retain"))
    after = children(with_cache("2Gi", "Delete"), live=before, settings=NEWER)

    assert template(after) == template(before)


def test_a_live_template_that_somebody_changed_is_not_believed() -> None:
    before = children(stored())
    live = deepcopy(before)
    template(live)["spec"]["containers"][0]["image"] = "evil:1"

    assert children(stored(), live=live)[KEY] == before[KEY]


@pytest.mark.parametrize("annotation", ["restart-hash", "engine-template"])
@pytest.mark.parametrize("text", ["", "{}", None])
def test_a_record_that_somebody_changed_is_made_anew(annotation: str, text: str | None) -> None:
    before = children(stored())
    live = deepcopy(before)
    annotations = live[KEY]["metadata"]["annotations"]
    if text is None:
        del annotations[f"steelyard.io/{annotation}"]
    else:
        annotations[f"steelyard.io/{annotation}"] = text

    assert children(stored(), live=live)[KEY] == before[KEY]
    assert template(children(stored(), live=live, settings=NEWER)) != template(before)


def test_a_deployment_without_a_record_is_compiled() -> None:
    live: dict[Any, Any] = {KEY: {"kind": "Deployment", "metadata": {"name": "chat-engine"}}}

    assert children(stored(), live=live, settings=SETTINGS) == children(stored())
