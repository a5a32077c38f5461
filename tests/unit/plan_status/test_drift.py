"""The condition PredictionDrift: what the routers' monitors say, all replicas together."""

from datetime import timedelta
from typing import Any

from support.manifests import service
from support.seen import NOW, Tree, report
from support.service_status import conditions, judged, message, seen

from steelyard_operator.plan import plan
from steelyard_operator.plan.status import Observed, StatusPlan, service_status
from steelyard_operator.plan.status.drift import TYPE

CALM = report("chat-router-1")


def monitor(name: str, *where: str, lasting: bool = True, **more: Any) -> Tree:
    return {"monitor": name, "state": "Drifting", "lasting": lasting, "where": [*where], **more}


def drifting(*monitors: Tree, pod: str = "chat-router-2", **more: Any) -> Any:
    return report(pod, holder=False, prediction={"drift": [*monitors]}, **more)


def told(*reports: Any) -> StatusPlan:
    return judged(seen(reports=reports))


def test_one_replica_that_drifts_is_enough() -> None:
    made = told(CALM, drifting(monitor("clock", "10.0.0.1:8000")))

    assert conditions(made)[TYPE] == ("True", "Clock")
    assert "engines take another time" in message(made, TYPE)
    assert "(10.0.0.1:8000)" in message(made, TYPE)


def test_what_replicas_see_is_told_once_and_in_a_fixed_order() -> None:
    one = drifting(monitor("input", "code", "chat"), pod="chat-router-1")
    other = drifting(monitor("error", "chat"), monitor("input", "chat"))

    made = told(one, other)

    assert conditions(made)[TYPE] == ("True", "Error,Input")
    assert "usual (chat); requests" in message(made, TYPE)
    assert "(chat, code)" in message(made, TYPE)
    assert told(other, one).status == made.status


def test_what_has_not_lasted_yet_is_not_told() -> None:
    made = told(CALM, drifting(monitor("clock", "a", lasting=False)))

    assert conditions(made)[TYPE] == ("False", "NotDrifting")


def test_it_changes_no_other_condition_and_makes_no_event() -> None:
    calm, made = told(CALM), told(drifting(monitor("clock", "a"), pod="chat-router-1"))

    assert conditions(made) == conditions(calm) | {TYPE: ("True", "Clock")}
    assert made.events == ()
    assert made.requeue_s == calm.requeue_s


def test_figures_that_move_while_it_lasts_write_nothing() -> None:
    planned, item, stored = plan([service()], []).services[0], service(), []
    for minutes, off in enumerate(("34%", "36%", "51%")):
        row = monitor("error", "chat", what=[f"chat: TTFT predictions are off by {off}"])
        now = NOW + timedelta(minutes=minutes)
        status = service_status(item, planned, seen(reports=(drifting(row),)), now=now).status
        item = item.model_copy(update={"status": status})
        stored.append(status)

    assert stored[0] == stored[1] == stored[2]


def test_it_is_unknown_while_a_ready_replica_does_not_say() -> None:
    lost = report("chat-router-2", reachable=False)
    older = report("chat-router-2", prediction={"drift": [{"monitor": "clock", "state": "OK"}]})

    for silent in (lost, older):
        made = told(CALM, silent)
        assert conditions(made)[TYPE] == ("Unknown", "NotReported")
        assert "chat-router-2" in message(made, TYPE)


def test_a_replica_that_takes_no_requests_may_be_silent() -> None:
    made = told(CALM, report("chat-router-2", reachable=False, ready=False))

    assert conditions(made)[TYPE] == ("False", "NotDrifting")


def test_what_one_replica_sees_counts_though_another_is_silent() -> None:
    made = told(report("a", reachable=False), drifting(monitor("input", "chat")))

    assert conditions(made)[TYPE] == ("True", "Input")


def test_without_a_router_there_is_no_such_condition() -> None:
    assert TYPE not in conditions(judged(Observed()))
