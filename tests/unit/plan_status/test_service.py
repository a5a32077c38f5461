"""What an LLMService's conditions say about what was seen of its children."""

from datetime import timedelta
from typing import Any

import pytest
from support.manifests import service
from support.seen import (
    NOW,
    ago,
    deployment,
    good_pod,
    pod,
    report,
    running,
    unschedulable,
    waiting,
)
from support.service_status import (
    SCHEDULER,
    conditions,
    crashing,
    first_rollout,
    judged,
    message,
    seen,
)

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import plan
from steelyard_operator.plan.status import (
    Observed,
    Refusal,
    StatusPlan,
    invalid_service_status,
    service_status,
)


def test_a_service_that_is_well_is_ready_and_neither_reconciling_nor_stalled() -> None:
    made = judged(seen())

    assert conditions(made) == {
        "Ready": ("True", "Available"),
        "EngineAvailable": ("True", "Available"),
        "RouterAvailable": ("True", "Available"),
        "steelyard.io/SLOPolicyAffected": ("False", "NoPolicy"),
        "PredictionDrift": ("False", "NotDrifting"),
    }
    assert made.events == ()


NOT_READY: dict[str, tuple[Observed, str, str]] = {
    "nothing is there yet": (Observed(), "NotCreated", "not there yet"),
    "no room": (seen(first_rollout(), unschedulable(SCHEDULER)), "InsufficientCapacity", SCHEDULER),
    "an image that is not there": (
        seen(first_rollout(), pod(container=waiting("ErrImagePull", "x:1 not found"))),
        "ImagePullFailed",
        "x:1 not found",
    ),
    "a Secret that is not there": (
        seen(first_rollout(), pod(container=waiting("CreateContainerConfigError", 'secret "t"'))),
        "SecretNotFound",
        'secret "t"',
    ),
    "loading": (seen(first_rollout(), pod(container=running())), "ModelLoading", "kubectl logs"),
    "crashing": (seen(first_rollout(), crashing()), "ModelLoadFailed", "--previous"),
    "quota": (
        seen(first_rollout(refused='pods "x" is forbidden: exceeded quota: gpu')),
        "InsufficientCapacity",
        "exceeded quota",
    ),
    "pod security": (
        seen(first_rollout(refused="violates PodSecurity restricted")),
        "InvalidPodTemplate",
        "violates PodSecurity",
    ),
    "between two pods": (seen(first_rollout()), "Updating", "being made"),
    "out of time": (
        seen(deployment(ready=0, progress="ProgressDeadlineExceeded", message="has timed out")),
        "ProgressDeadlineExceeded",
        "has timed out",
    ),
    "scaled to zero": (seen(deployment(desired=0)), "ScaledToZero", "raise it"),
}


@pytest.mark.parametrize("what", NOT_READY)
def test_a_service_that_is_not_ready_says_why(what: str) -> None:
    observed, reason, words = NOT_READY[what]

    made = judged(observed)

    assert conditions(made)["Ready"] == ("False", reason)
    assert conditions(made)["EngineAvailable"] == ("False", reason)
    assert words in message(made)


STALLED = {"crashing", "quota", "pod security", "out of time"}


@pytest.mark.parametrize("what", NOT_READY.keys() - {"scaled to zero"})
def test_what_is_not_ready_is_either_moving_or_stalled(what: str) -> None:
    found = conditions(judged(NOT_READY[what][0]))

    assert ("Stalled" in found) == (what in STALLED)
    assert ("Reconciling" in found) != ("Stalled" in found)


def test_a_service_scaled_to_zero_is_where_it_should_be() -> None:
    found = conditions(judged(seen(deployment(desired=0))))

    assert "Reconciling" not in found
    assert "Stalled" not in found


def test_it_is_still_on_its_way_to_zero_while_pods_are_left() -> None:
    found = conditions(judged(seen(deployment(desired=0, replicas=2, ready=0))))

    assert found["Reconciling"] == ("True", "ScaledToZero")


def test_a_rolling_update_with_enough_replicas_stays_ready_and_says_updating() -> None:
    rolling = deployment(ready=1, updated=1, progress="ReplicaSetUpdated")

    made = judged(seen(rolling, pod(container=running())))

    assert conditions(made)["Ready"][0] == "True"
    assert conditions(made)["Reconciling"] == ("True", "Updating")
    assert "1 of 2 pods are of the new template" in message(made, "Reconciling")


def test_an_update_whose_new_pod_crashes_is_not_ready_though_an_old_one_serves() -> None:
    rolling = deployment(ready=1, updated=1, progress="ReplicaSetUpdated")

    found = conditions(judged(seen(rolling, crashing())))

    assert found["Ready"] == ("False", "ModelLoadFailed")
    assert found["Stalled"] == ("True", "ModelLoadFailed")
    assert found["EngineAvailable"][0] == "True"


def test_it_is_never_ready_when_a_rollout_ran_out_of_time() -> None:
    late = deployment(ready=1, updated=1, progress="ProgressDeadlineExceeded")

    found = conditions(judged(seen(late, unschedulable(SCHEDULER))))

    assert found["Ready"] == ("False", "InsufficientCapacity")
    assert found["Stalled"] == ("True", "InsufficientCapacity")


def test_scaling_up_keeps_it_ready_and_says_what_the_new_pods_wait_for() -> None:
    scaled = deployment(desired=9, replicas=9, ready=2)

    found = conditions(judged(seen(scaled, unschedulable(SCHEDULER))))

    assert found["Ready"] == ("True", "Available")
    assert found["Reconciling"] == ("True", "InsufficientCapacity")


def test_the_first_rollout_is_ready_with_as_many_as_an_update_would_keep() -> None:
    def ready(count: int) -> str:
        engine = deployment(desired=3, ready=count, progress="ReplicaSetUpdated")
        return conditions(judged(seen(engine, pod(container=running()))))["Ready"][0]

    assert [ready(count) for count in (0, 1, 2, 3)] == ["False", "False", "True", "True"]


def test_a_change_that_the_deployment_controller_has_not_seen_is_no_rollout_yet() -> None:
    found = conditions(judged(seen(deployment(generation=4, observed=3))))

    assert found["Ready"][0] == "True"
    assert found["Reconciling"] == ("True", "Scaling")


CONFLICT = {"kind": "Service", "metadata": {"name": "chat-router"}}
TEMPLATE = ("Deployment", "chat-engine")
BLOCKED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a name that is taken": (
        {"conflicts": (CONFLICT,)},
        "NameConflict",
        "Service chat-router exists and is not controlled",
    ),
    "a pod template that is refused": (
        {"apply_errors": {TEMPLATE: Refusal(422, "Invalid", "spec.template.x: Required value")}},
        "InvalidPodTemplate",
        "spec.template.x: Required value",
    ),
    "a pod template of another shape": (
        {"apply_errors": {TEMPLATE: Refusal(400, "BadRequest", "unknown field")}},
        "InvalidPodTemplate",
        "unknown field",
    ),
    "another child that is refused": (
        {"apply_errors": {("PersistentVolumeClaim", "chat-cache"): Refusal(422, "", "immutable")}},
        "ApplyRefused",
        "PersistentVolumeClaim chat-cache: immutable",
    ),
    "a quota": (
        {"apply_errors": {TEMPLATE: Refusal(403, "Forbidden", "exceeded quota: small, used: 9")}},
        "InsufficientCapacity",
        "a quota keeps Deployment chat-engine from being applied: exceeded quota: small",
    ),
    "a right that is missing": (
        {"apply_errors": {TEMPLATE: Refusal(403, "Forbidden", "cannot patch")}},
        "ApplyForbidden",
        "cannot patch",
    ),
}


@pytest.mark.parametrize("what", BLOCKED)
def test_what_stands_in_the_way_of_the_spec_stalls_and_touches_nothing_that_runs(what: str) -> None:
    more, reason, words = BLOCKED[what]

    made = judged(seen(**more))

    found = conditions(made)
    assert found["Ready"] == ("False", reason)
    assert found["Stalled"] == ("True", reason)
    assert found["EngineAvailable"][0] == "True"
    assert words in message(made)


@pytest.mark.parametrize("status", [0, 409, 429, 500])
def test_an_apply_that_is_tried_again_makes_nothing_unready(status: int) -> None:
    found = conditions(judged(seen(apply_errors={TEMPLATE: Refusal(status, "Oops", "busy")})))

    assert found["Ready"][0] == "True"
    assert found["Reconciling"] == ("True", "ApplyFailed")


def left_behind(owner: str) -> dict[str, Any]:
    reference = {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "LLMService",
        "name": owner,
        "controller": True,
    }
    return {**CONFLICT, "metadata": {"name": "chat-router", "ownerReferences": [reference]}}


def test_what_an_earlier_service_of_this_name_left_behind_goes_by_itself() -> None:
    """Deleted and made again, as `kubectl replace --force` does: no failure, and not Ready yet."""
    made = judged(seen(conflicts=(left_behind("chat"),)))

    assert conditions(made)["Ready"] == ("False", "NameConflict")
    assert conditions(made)["Reconciling"] == ("True", "NameConflict")
    assert "Stalled" not in conditions(made)
    assert made.requeue_s == 10.0


@pytest.mark.parametrize("other", [CONFLICT, left_behind("other")])
def test_what_does_not_go_by_itself_stalls(other: dict[str, Any]) -> None:
    assert "Stalled" in conditions(judged(seen(conflicts=(left_behind("chat"), other))))


def test_what_somebody_must_act_on_is_told_before_what_may_pass() -> None:
    errors = {
        ("ConfigMap", "chat-router"): Refusal(500, "", "busy"),
        TEMPLATE: Refusal(422, "", "wrong"),
    }

    assert conditions(judged(seen(apply_errors=errors)))["Ready"][1] == "InvalidPodTemplate"


def test_a_paused_service_says_so_and_still_tells_what_serves() -> None:
    found = conditions(judged(seen(), reconciliation="Paused"))

    assert found["Ready"] == ("False", "Paused")
    assert found["EngineAvailable"][0] == "True"
    assert "Reconciling" not in found


def test_routers_of_a_paused_service_are_not_asked_again_and_again_for_what_they_get_later() -> (
    None
):
    assert judged(seen(revision="new"), reconciliation="Paused").requeue_s == 60.0


def waiting_routers(**status: Any) -> dict[str, Any]:
    """Routers that run and may not take requests, past their Deployment's deadline."""
    late = deployment("router", ready=0, progress="ProgressDeadlineExceeded")
    pods = (pod("chat-router-1", component="router", container=running(started=True)),)
    return {
        "router": late,
        "pods": {"router": pods},
        "reports": (report("chat-router-1", ready=False, **status),),
    }


def test_routers_that_wait_for_engines_are_not_stalled_however_long_it_takes() -> None:
    words = "none of the 2 endpoints is usable; /status says why"

    made = judged(
        seen(first_rollout(), pod(container=running()), **waiting_routers(unserved_reason=words))
    )

    found = conditions(made)
    assert found["Ready"] == ("False", "ModelLoading")
    assert found["RouterAvailable"] == ("False", "RouterNotReady")
    assert words in message(made, "RouterAvailable")
    assert "Stalled" not in found


def test_routers_without_engines_are_at_rest_when_there_should_be_none() -> None:
    more = waiting_routers(unserved_reason="the configuration names no endpoint")

    found = conditions(judged(seen(deployment(desired=0), **more)))

    assert found["Ready"] == ("False", "ScaledToZero")
    assert not {"Reconciling", "Stalled"} & found.keys()


def test_a_routers_own_trouble_is_the_services_reason_while_engines_load() -> None:
    broken = pod("chat-router-1", component="router", container=waiting("InvalidImageName", "?!"))
    router = deployment("router", ready=0, progress="ReplicaSetUpdated")

    made = judged(
        seen(
            first_rollout(),
            pod(container=running()),
            router=router,
            pods={"router": (broken,)},
            reports=(),
        )
    )

    assert conditions(made)["Ready"] == ("False", "ImagePullFailed")


def test_a_configuration_that_routers_refuse_stalls_and_leaves_it_ready() -> None:
    refused = report("chat-router-1", revision="old", config_error="policy.yaml: bad")

    made = judged(seen(reports=(refused,)))

    assert conditions(made)["Ready"][0] == "True"
    assert conditions(made)["Stalled"] == ("True", "ConfigReloadFailed")
    assert "policy.yaml: bad" in message(made, "Stalled")


def test_an_object_that_cannot_be_read_is_stalled_and_keeps_what_was_known() -> None:
    stored = judged(seen()).status
    live = {"metadata": {"generation": 8}, "status": stored}

    made = invalid_service_status(live, "spec.engine.type: unknown", now=NOW)

    found = conditions(made)
    assert found["Ready"] == ("False", "InvalidSpec")
    assert found["Stalled"] == ("True", "InvalidSpec")
    assert found["EngineAvailable"] == ("True", "Available")
    assert made.status["observedGeneration"] == 8
    assert made.status["url"] == stored["url"]
    assert "spec.engine.type: unknown" in message(made)


def stored(made: StatusPlan, **metadata: object) -> LLMService:
    """The service with this status stored."""
    before = service(replicas=2)
    head = before.metadata.model_copy(update=metadata)
    return before.model_copy(update={"status": made.status, "metadata": head})


def times(made: StatusPlan) -> dict[str, str]:
    return {row["type"]: row["lastTransitionTime"] for row in made.status["conditions"]}


def test_the_time_of_a_condition_moves_with_its_status_only() -> None:
    loading = judged(seen(first_rollout(), pod(container=running())))
    later = NOW + timedelta(minutes=5)

    def then(observed: Observed) -> dict[str, str]:
        made = stored(loading)
        return times(service_status(made, plan([made], []).services[0], observed, now=later))

    crashed, well = then(seen(first_rollout(), crashing(1))), then(seen())
    assert crashed["Ready"] == ago(0)
    assert crashed["EngineAvailable"] == ago(0)
    assert well["Ready"] == ago(-300)
    assert well["RouterAvailable"] == ago(0)


def test_the_observed_generation_is_that_of_the_object() -> None:
    made = stored(judged(seen()), generation=7)

    status = judged(seen(), made).status

    assert status["observedGeneration"] == 7
    assert {row["observedGeneration"] for row in status["conditions"]} == {7}


def test_a_good_pod_is_not_asked_for_its_trouble() -> None:
    engine = deployment(ready=1)

    made = judged(seen(engine, good_pod("a"), unschedulable(SCHEDULER, "b")))

    assert "pod b" in message(made)


def test_a_refusal_that_no_wanted_pod_suffers_from_is_no_failure() -> None:
    found = conditions(judged(seen(deployment(refused="exceeded quota: gpu"))))

    assert found["Ready"][0] == "True"
    assert "Stalled" not in found


CLAIM = {"type": "PersistentVolumeClaim", "claimName": "weights"}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"engine": {"type": "VLLM"}, "model": {"uri": "hf://org/model"}}, "ModelDownloading"),
        ({"engine": {"type": "VLLM"}, "model": {"uri": "pvc://weights/m"}}, "ModelLoading"),
        (
            {"engine": {"type": "VLLM"}, "model": {"uri": "hf://org/model"}, "cache": CLAIM},
            "ModelLoading",
        ),
        ({"model": {"uri": "hf://org/model"}}, "ModelLoading"),
    ],
)
def test_only_an_engine_that_finds_no_weights_is_said_to_download(spec: Any, reason: str) -> None:
    made = judged(seen(first_rollout(), pod(container=running())), **spec)

    assert conditions(made)["Ready"] == ("False", reason)
