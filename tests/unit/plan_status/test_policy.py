"""What an SLOPolicy's status says, target by target and in all."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from support.manifests import policy, service
from support.seen import NOW, Tree, ago, report

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import Plan, plan, unreadable_claim
from steelyard_operator.plan.status import EventIntent, StatusPlan, Target, policy_status

ERROR = "policy.yaml: alerts.0.metric: unknown"


def known(name: str, **more: Any) -> SLOPolicy:
    """A policy that an API server knows."""
    made = policy(name, **more)
    head = made.metadata.model_copy(update={"uid": f"uid-{name}", "generation": 2})
    return made.model_copy(update={"metadata": head})


def on_two(*revisions: str | None, expected: str = "abc", **more: Any) -> Target:
    reports = tuple(
        report(f"r{i}", revision=revision, reachable=revision is not None, holder=i == 0, **more)
        for i, revision in enumerate(revisions)
    )
    return Target(expected, reports)


def judged(
    made: Plan,
    targets: dict[str, Target],
    stored: object = None,
    *,
    name: str = "fast",
    now: datetime = NOW,
) -> StatusPlan:
    (result,) = (item for item in made.policies if item.name == name)
    return policy_status(result, stored, targets, now=now)


def conditions(made: StatusPlan) -> dict[str, tuple[str, str]]:
    return {row["type"]: (row["status"], row["reason"]) for row in made.status["conditions"]}


def message(made: StatusPlan, kind: str) -> str:
    found: str = next(row for row in made.status["conditions"] if row["type"] == kind)["message"]
    return found


def told(events: tuple[EventIntent, ...]) -> list[tuple[str, str]]:
    return [(event.name, event.reason) for event in events]


ONE = plan([service()], [known("fast")])


def test_a_policy_that_every_ready_router_runs_is_ready() -> None:
    made = judged(ONE, {"chat": on_two("abc", "abc")})

    assert conditions(made) == {
        "Accepted": ("True", "Accepted"),
        "Programmed": ("True", "Programmed"),
        "Ready": ("True", "Programmed"),
    }
    assert made.status["observedGeneration"] == 2
    (ancestor,) = made.status["ancestors"]
    assert ancestor["programmedReplicas"] == "2/2"
    assert ancestor["revision"] == "abc"
    assert ancestor["controllerName"] == "steelyard.io/operator"
    assert ancestor["ancestorRef"] == {
        "group": "steelyard.io",
        "kind": "LLMService",
        "namespace": "default",
        "name": "chat",
    }
    assert told(made.events) == [("fast", "PolicyAccepted"), ("fast", "PolicyProgrammed")]


def test_one_router_behind_means_not_programmed_and_a_quick_second_look() -> None:
    made = judged(ONE, {"chat": on_two("abc", "old")})

    assert conditions(made)["Programmed"] == ("False", "Reconciling")
    assert conditions(made)["Ready"] == ("False", "Reconciling")
    assert conditions(made)["Reconciling"] == ("True", "Reconciling")
    assert made.status["ancestors"][0]["programmedReplicas"] == "1/2"
    assert made.requeue_s == 1.0


def test_a_paused_services_routers_are_not_said_to_be_about_to_load_anything() -> None:
    target = on_two("abc", "old")
    made = judged(ONE, {"chat": Target("abc", target.reports, paused=True)})

    assert conditions(made)["Programmed"] == ("False", "Paused")
    assert "chat is paused" in message(made, "Programmed")
    assert made.requeue_s == 10.0
    ready = Target("abc", on_two("abc", "abc").reports, paused=True)
    assert conditions(judged(ONE, {"chat": ready}))["Programmed"][0] == "True"


def test_a_router_that_stays_behind_is_asked_less_often() -> None:
    targets = {"chat": on_two("abc", "old")}
    first = judged(ONE, targets)

    later = judged(ONE, targets, first.status, now=NOW + timedelta(seconds=90))
    clock_set_back = judged(ONE, targets, first.status, now=NOW - timedelta(days=1))

    assert (later.requeue_s, clock_set_back.requeue_s) == (10.0, 10.0)


@pytest.mark.parametrize("target", [Target("abc"), on_two("abc", None)])
def test_what_no_quick_second_look_can_change_gets_none(target: Target) -> None:
    """A router that is not there announces itself; one that cannot be asked costs whoever asks."""
    first = judged(ONE, {"chat": target})
    again = judged(ONE, {"chat": target}, first.status)

    assert (first.requeue_s, again.requeue_s) == (10.0, 10.0)


def test_a_router_that_cannot_be_asked_makes_it_unknown() -> None:
    made = judged(ONE, {"chat": on_two("abc", None)})

    assert conditions(made)["Programmed"] == ("Unknown", "RouterUnreachable")
    assert conditions(made)["Ready"] == ("Unknown", "RouterUnreachable")
    assert "Stalled" not in conditions(made)


def test_a_router_that_refuses_the_configuration_stalls_the_policy_in_its_words() -> None:
    target = Target("abc", (report("r0", revision="old", config_error=ERROR),))

    made = judged(ONE, {"chat": target})

    assert conditions(made)["Stalled"] == ("True", "ConfigReloadFailed")
    assert ERROR in message(made, "Programmed")
    assert told(made.events) == [("fast", "PolicyAccepted"), ("fast", "ConfigReloadFailed")]
    assert judged(ONE, {"chat": target}, made.status).events == ()


@pytest.mark.parametrize("targets", [{}, {"chat": Target("abc")}, {"chat": Target(None)}])
def test_without_a_router_it_waits(targets: dict[str, Target]) -> None:
    made = judged(ONE, targets)

    assert conditions(made)["Accepted"][0] == "True"
    assert conditions(made)["Programmed"] == ("False", "RouterNotReady")
    assert conditions(made)["Reconciling"] == ("True", "RouterNotReady")


def test_routers_that_are_not_ready_count_only_while_none_is() -> None:
    late = report("late", revision="old", ready=False)
    unready = report("r0", ready=False)

    beside = judged(ONE, {"chat": Target("abc", (report("r0"), late))})
    alone = judged(ONE, {"chat": Target("abc", (unready,))})

    assert beside.status["ancestors"][0]["programmedReplicas"] == "1/1"
    assert conditions(alone)["Programmed"][0] == "True"


TWO = plan([service()], [known("old", created="2026-01-01T00:00:00Z"), known("fast")])


def test_a_policy_that_lost_names_the_winner_and_both_are_told_once() -> None:
    made = judged(TWO, {"chat": on_two("abc", "abc")})

    assert conditions(made)["Accepted"] == ("False", "Conflicted")
    assert conditions(made)["Stalled"] == ("True", "Conflicted")
    assert "SLOPolicy old is older" in message(made, "Ready")
    assert told(made.events) == [("fast", "PolicyConflicted"), ("old", "PolicyConflicted")]
    assert [event.uid for event in made.events] == ["uid-fast", "uid-old"]
    assert "SLOPolicy fast" in made.events[1].message
    assert made.requeue_s is None
    assert judged(TWO, {}, made.status).events == ()


def test_a_policy_takes_over_when_the_winner_is_gone() -> None:
    lost = judged(TWO, {"chat": on_two("abc", "abc")}).status

    made = judged(ONE, {"chat": on_two("new", "new", expected="new")}, lost)

    assert told(made.events) == [("fast", "PolicyAccepted"), ("fast", "PolicyProgrammed")]


def test_a_target_that_is_not_there_yet_is_no_failure() -> None:
    made = judged(plan([], [known("fast")]), {})

    assert conditions(made) == {
        "Accepted": ("False", "TargetNotFound"),
        "Programmed": ("False", "TargetNotFound"),
        "Ready": ("False", "TargetNotFound"),
    }
    assert told(made.events) == [("fast", "PolicyTargetNotFound")]
    assert made.requeue_s is None


def test_a_policy_is_not_ready_before_every_target_takes_it() -> None:
    made = judged(
        plan([service()], [known("fast", targets=("chat", "gone"))]), {"chat": on_two("abc")}
    )

    assert conditions(made)["Accepted"] == ("True", "Accepted")
    assert conditions(made)["Programmed"] == ("True", "Programmed")
    assert conditions(made)["Ready"] == ("False", "TargetNotFound")
    assert "gone" in message(made, "Accepted")
    first, second = made.status["ancestors"]
    assert [row["status"] for row in first["conditions"]] == ["True", "True"]
    assert [row["status"] for row in second["conditions"]] == ["False", "False"]
    assert "programmedReplicas" not in second


LIVE: Tree = {
    "metadata": {
        "namespace": "default",
        "name": "broken",
        "uid": "uid-broken",
        "generation": 4,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    },
    "spec": {"targetRefs": [{"name": "chat"}], "hotspots": {}},
}


def test_a_policy_that_cannot_be_read_is_stalled_and_keeps_its_place() -> None:
    broken = unreadable_claim(LIVE, "spec.hotspots: unknown field")

    made = plan([service()], [known("fast")], None, [broken])

    own = judged(made, {}, name="broken")
    assert conditions(own)["Accepted"] == ("False", "Invalid")
    assert conditions(own)["Stalled"] == ("True", "Invalid")
    assert "spec.hotspots: unknown field" in message(own, "Ready")
    assert own.status["observedGeneration"] == 4
    assert conditions(judged(made, {}))["Accepted"] == ("False", "Conflicted")
    assert made.services[0].conditions[0].reason == "PolicyInvalid"


def test_routers_keep_what_they_run_while_their_policy_cannot_be_read() -> None:
    before = plan([service()], [known("fast", workloads=[{"name": "mine", "default": True}])])
    running = {item.key: item.router for item in before.services}

    made = plan([service()], [], running, [unreadable_claim(LIVE, "unknown field")])

    assert made.services[0].router == before.services[0].router


def test_an_edit_is_told_when_the_routers_run_it_and_an_equal_one_is_not() -> None:
    first = judged(ONE, {"chat": on_two("abc", "abc")})
    between = judged(ONE, {"chat": on_two("abc", "new", expected="new")}, first.status)
    after = judged(ONE, {"chat": on_two("new", "new", expected="new")}, between.status)
    again = judged(ONE, {"chat": on_two("new", "new", expected="new")}, after.status)

    assert told(between.events) == []
    assert told(after.events) == [("fast", "PolicyProgrammed")]
    assert told(again.events) == []


def test_an_edit_that_all_routers_run_at_the_first_look_is_told_too() -> None:
    first = judged(ONE, {"chat": on_two("abc", "abc")})

    after = judged(ONE, {"chat": on_two("new", "new", expected="new")}, first.status)

    assert told(after.events) == [("fast", "PolicyProgrammed")]


def test_a_router_that_answers_again_is_no_event() -> None:
    first = judged(ONE, {"chat": on_two("abc", "abc")})
    lost = judged(ONE, {"chat": on_two("abc", None)}, first.status)
    back = judged(ONE, {"chat": on_two("abc", "abc")}, lost.status)

    assert lost.events == back.events == ()


@pytest.mark.parametrize(
    ("made", "targets"),
    [
        (ONE, {"chat": on_two("abc", "abc")}),
        (ONE, {"chat": Target("abc", (report("r0", revision="old", config_error=ERROR),))}),
        (TWO, {}),
        (plan([], [known("fast")]), {}),
    ],
)
def test_an_operator_that_is_stopped_before_it_stored_the_status_repeats_the_same_occurrence(
    made: Plan, targets: dict[str, Target]
) -> None:
    first = judged(made, targets).events
    second = judged(made, targets, now=NOW + timedelta(seconds=30)).events

    assert first
    assert [event.occurrence for event in first] == [event.occurrence for event in second]


def test_a_condition_of_a_target_keeps_its_time_while_its_status_stays() -> None:
    first = judged(ONE, {"chat": on_two("abc", "abc")})

    later = judged(
        ONE,
        {"chat": on_two("abc", "old", expected="new")},
        first.status,
        now=NOW + timedelta(seconds=60),
    )

    accepted, programmed = later.status["ancestors"][0]["conditions"]
    assert accepted["lastTransitionTime"] == ago(0)
    assert programmed["lastTransitionTime"] == ago(-60)
