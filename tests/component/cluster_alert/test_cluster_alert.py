"""Alerts of several replicas: who judges, on what, and what people read of it."""

from typing import Any

import pytest
from support.alert_world import ALERT, World, config_of

from steelyard_router.kube.error import KubeError

FIRING, RESOLVED = "SLOAlertFiring", "SLOAlertResolved"


def world(*names: str, **changes: Any) -> World:
    return World(config_of({**ALERT, **changes}), *names)


async def firing_world(*names: str, **changes: Any) -> World:
    """All replicas serve what is over the threshold, and the alert has been told once."""
    made = world(*names, **changes)
    await made.run(5)
    made.load(**dict.fromkeys(names, 5000.0))
    await made.run(30)
    assert made.counts() == {FIRING: 1}
    return made


async def test_a_firing_is_told_on_the_policy_and_on_the_service() -> None:
    made = await firing_world("a")

    (on_service,), (on_policy,) = made.events("LLMService"), made.events("SLOPolicy")
    assert on_policy["involvedObject"]["uid"] == "uid-gold"
    assert on_policy["related"]["uid"] == "uid-llama"
    assert on_service["related"]["name"] == "gold"
    assert on_policy["message"] == on_service["message"]
    assert "p95 Score 4,9" in on_policy["message"] or "p95 Score 5,0" in on_policy["message"]
    assert "> 1,000 in workload chat" in on_policy["message"]
    assert (on_policy["type"], on_policy["count"]) == ("Warning", 1)


async def test_severity_is_the_events_type_and_its_end_is_normal() -> None:
    made = await firing_world("a", severity="Normal")
    assert made.events()[0]["type"] == "Normal"
    made.load(a=100.0)
    await made.run(120)

    assert {e["reason"]: e["type"] for e in made.events("SLOPolicy")} == {
        FIRING: "Normal",
        RESOLVED: "Normal",
    }
    assert made.state() == "OK"


async def test_repetitions_raise_the_count_and_its_end_is_one_event() -> None:
    made = await firing_world("a")
    await made.run(900)
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 4}
    made.load(a=100.0)
    await made.run(120)
    assert made.counts() == {FIRING: 4, RESOLVED: 1}
    made.load(a=5000.0)
    await made.run(120)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 5, RESOLVED: 1}
    assert made.state() == "Firing"


async def test_together_replicas_breach_what_none_breaches_alone() -> None:
    """Each sees too few requests to judge."""
    made = world("a", "b", "c", min_samples=1000)
    await made.run(5)
    made.load(a=5000.0, b=5000.0, c=5000.0)
    await made.run(60)

    assert made.counts() == {FIRING: 1}
    for name in "abc":
        alone = made[name].windows.snapshot("Score", "chat", 60, made._clock(made[name]))
        assert alone.count < 1000


async def test_a_replica_alone_would_fire_where_all_together_are_well() -> None:
    made = world("a", "b", "c")
    await made.run(5)
    holder = made.holder
    assert holder is not None
    made.load(**{pod.name: 5000.0 if pod is holder else 100.0 for pod in made.living})
    holder.rate = 1  # its few requests are bad: 5 % of all would be 1 in 20
    made["a" if holder.name != "a" else "b"].rate = 30
    await made.run(300)

    alone = holder.windows.snapshot("Score", "chat", 60, made._clock(holder))
    assert (alone.quantile(0.95) or 0) > 1000
    assert alone.count >= 50
    assert made.counts() == {}
    assert made.state() == "OK"


async def test_the_mean_of_p95s_would_have_missed_it() -> None:
    """Nine tenths of the requests go to a, where one in ten is slow: 9 % of all, over 5 %."""
    made = world("a", "b", threshold=3000)
    await made.run(5)
    made.load(a=5000.0, b=100.0)
    made["a"].rate, made["b"].rate = 9, 1
    await made.run(90)

    assert made.counts() == {FIRING: 1}


async def test_those_who_do_not_hold_it_say_nothing() -> None:
    made = await firing_world("a", "b")
    others = [pod for pod in made.living if pod is not made.holder]

    assert [pod.alerts.states()[0]["state"] for pod in others] == ["NoData"]
    assert [pod.alerts.holder for pod in others] == [False]
    assert [sum(pod.alerts.posted.values()) for pod in others] == [0]


async def test_another_goes_on_within_30_s_of_a_death_and_repeats_nothing() -> None:
    made = await firing_world("a", "b")
    assert made.holder is not None
    since = made.events()[0]["metadata"]["annotations"]["steelyard.io/occurrence"]
    made.kill(made.holder.name)
    await made.run(30)

    assert made.holder is not None
    assert made.state() == "Firing"
    assert made.begun() == since.split("/")[0]
    await made.run(200)
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}
    await made.run(100)  # five minutes after the first, by whomever it was told
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 2}
    last = made.events()[0]["metadata"]["annotations"]["steelyard.io/occurrence"]
    assert last.split("/") == [since.split("/")[0], "00001"]


async def test_restarts_of_all_routers_add_no_event() -> None:
    made = await firing_world("a", "b")
    for _ in range(3):
        for name in ("a", "b"):
            await made.stop(name)
            made.start(name)
            await made.run(20)
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}
    assert made.state() == "Firing"

    made.load(a=100.0, b=100.0)
    await made.run(120)
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1, RESOLVED: 1}


async def test_a_crash_between_the_two_events_of_a_firing_is_made_good() -> None:
    made = world("a")
    await made.run(5)
    made["a"].connection.cut_after = 1
    made.load(a=5000.0)
    await made.run(60)
    assert (made.counts(), made.counts("SLOPolicy")) == ({FIRING: 1}, {})
    made.kill("a")
    made.start("a")
    await made.run(60)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}


async def test_a_crash_between_the_two_events_of_an_end_is_made_good() -> None:
    made = await firing_world("a")
    made["a"].connection.cut_after = 1
    made.load(a=100.0)
    await made.run(90)
    assert (made.counts(), made.counts("SLOPolicy")) == (
        {FIRING: 1},
        {FIRING: 1, RESOLVED: 1},
    )
    made.kill("a")
    made.start("a")
    await made.run(90)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1, RESOLVED: 1}


async def test_who_cannot_renew_the_lease_posts_nothing_though_it_could() -> None:
    made = world("a")
    await made.run(5)
    made.kube.refuse = KubeError(403, "Forbidden", "leases are forbidden")
    made.kube.refused_kind = "Lease"
    await made.run(15)
    made.load(a=5000.0)
    await made.run(60)
    assert made["a"].alerts.reporter.waiting == 2
    assert made.counts() == {}
    made.kube.refuse = None
    await made.run(10)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}


async def test_a_wall_clock_that_is_behind_hides_no_new_firing() -> None:
    made = await firing_world("a")
    made.load(a=100.0)
    await made.run(120)
    made.kill("a")
    made.start("a").wall_error_s = -3600.0
    made.load(a=5000.0)
    await made.run(60)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 2, RESOLVED: 1}
    made.load(a=100.0)
    await made.run(120)
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 2, RESOLVED: 2}


async def test_an_hour_without_the_api_server_ends_with_the_right_events() -> None:
    made = await firing_world("a", "b")
    made.kube.away = True
    await made.run(3700)
    assert made.holder is None
    assert all(pod.alerts.reporter.waiting <= 4 for pod in made.living)
    made.kube.away = False
    await made.run(40)

    assert made.state() == "Firing"
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}  # the old one has expired


async def test_what_ended_while_the_api_server_was_away_is_told_when_it_is_back() -> None:
    made = await firing_world("a", "b")
    made.kube.away = True
    await made.run(60)
    made.load(a=100.0, b=100.0)
    await made.run(300)
    assert made.counts() == {FIRING: 1}
    made.kube.away = False
    await made.run(120)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1, RESOLVED: 1}
    assert made.state() == "OK"


async def test_a_holder_that_lost_it_posts_nothing_of_what_it_had_to_say() -> None:
    made = await firing_world("a", "b")
    first = made.holder
    assert first is not None
    first.connection.cut = True
    await made.run(400)  # it would repeat by now
    second = made.holder
    assert second is not None
    assert second is not first
    first.connection.cut = False
    await made.run(60)

    assert made.holder is second
    assert first.alerts.reporter.waiting == 0
    assert made.counts() == {FIRING: 2}
    assert first.alerts.states()[0]["state"] == "NoData"


async def test_only_the_holder_has_the_services_figures_and_they_change_hands_with_the_lease() -> (
    None
):
    made = world("a", "b")
    assert all(pod.alerts.figures is None for pod in made.living)
    made.load(a=5000.0, b=100.0)
    await made.run(20)
    first = made.holder
    assert first is not None
    figures = first.alerts.figures
    assert figures is not None
    assert figures.replicas == 2
    assert (figures.score("chat", 0.0) or {})["count"] == pytest.approx(2 * 20 * 10, abs=40)
    assert [pod.name for pod in made.living if pod.alerts.figures is not None] == [first.name]

    await made.stop(first.name)
    await made.run(10)

    (second,) = made.living
    assert made.holder is second
    taken = second.alerts.figures
    assert taken is not None
    assert taken.replicas == 1


async def test_new_targets_have_no_figures_until_they_are_added_up() -> None:
    made = world("a")
    await made.run(5)
    made.change(config_of(ALERT, workloads=("chat", "batch")))
    assert made["a"].alerts.figures is None
    await made.run(2)

    figures = made["a"].alerts.figures
    assert figures is not None
    assert [workload.name for workload in figures.workloads] == ["chat", "batch"]


async def test_a_replica_out_of_reach_counts_until_its_last_word_is_older_than_the_window() -> None:
    made = world("a", "b", min_samples=700)
    await made.run(5)
    made.load(a=5000.0, b=5000.0)
    await made.run(90)
    assert made.state() == "Firing"
    other = next(pod for pod in made.living if pod is not made.holder)
    other.reachable = False

    await made.run(55)
    assert made.state() == "Firing"
    await made.run(15)
    assert made.state() == "NoData"
    (resolved,) = [e for e in made.events() if e["reason"] == RESOLVED]
    assert "no data for p95 Score" in resolved["message"]
    other.reachable = True
    await made.run(60)
    assert made.state() == "Firing"


async def test_a_replica_that_gets_no_requests_may_be_silent() -> None:
    made = await firing_world("a", "b")
    other = next(pod for pod in made.living if pod is not made.holder)
    other.ready = other.reachable = False
    other.rate = 0
    made._list()
    await made.run(400)

    assert made.state() == "Firing"
    assert RESOLVED not in made.counts()


async def test_a_replica_of_another_meaning_is_not_added_up() -> None:
    made = world("a", "b", min_samples=700)
    await made.run(5)
    other = next(pod for pod in made.living if pod is not made.holder)
    other.config = config_of({**ALERT, "min_samples": 700}, workloads=("chat", "batch"))
    made.load(a=5000.0, b=5000.0)
    await made.run(300)

    assert made.state() == "NoData"
    assert made.counts() == {}


async def test_an_edited_rule_ends_what_it_fired() -> None:
    made = await firing_world("a", "b")
    made.change(config_of({**ALERT, "threshold": 90_000}))
    await made.run(30)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1, RESOLVED: 1}
    assert "was changed or removed" in made.events("SLOPolicy")[-1]["message"]
    assert made.state() == "OK"


async def test_another_edit_leaves_a_firing_alone() -> None:
    made = await firing_world("a", "b")
    made.change(config_of(ALERT, {**ALERT, "name": "other", "threshold": 90_000}))
    await made.run(60)

    assert made.counts() == {FIRING: 1}


async def test_a_policy_that_goes_ends_what_it_fired() -> None:
    made = await firing_world("a", "b")
    made.change(config_of(policy=None))
    await made.run(30)

    assert made.counts("SLOPolicy", "gold") == made.counts() == {FIRING: 1, RESOLVED: 1}


async def test_another_policy_of_the_same_words_fires_by_itself() -> None:
    made = await firing_world("a", "b")
    made.change(config_of(ALERT, policy="silver"))
    await made.run(60)

    assert made.counts("SLOPolicy", "gold") == {FIRING: 1, RESOLVED: 1}
    assert made.counts("SLOPolicy", "silver") == {FIRING: 1}
    assert made.events()[0]["related"]["name"] == "silver"
    assert made.counts() == {FIRING: 2, RESOLVED: 1}


@pytest.mark.parametrize(
    "after",
    [config_of(ALERT, policy="silver"), config_of(policy=None), config_of({**ALERT, "for_s": 11})],
    ids=["policy", "none", "rule"],
)
async def test_what_fired_under_a_policy_that_changed_while_nobody_looked_is_ended(
    after: Any,
) -> None:
    made = await firing_world("a")
    made.kill("a")
    made.config = after
    made.start("a").rate = 0
    await made.run(60)

    assert made.counts("SLOPolicy", "gold") == {FIRING: 1, RESOLVED: 1}
    assert "was changed or removed" in made.events("SLOPolicy", "gold")[-1]["message"]


async def test_a_rule_on_its_usual_level_still_clears_after_a_takeover() -> None:
    rule = {"threshold": None, "baseline_percent": 300}
    made = world("a", **rule)
    made.load(a=1000.0)
    await made.run(300)
    made.load(a=50_000.0)
    await made.run(60)
    assert made.state() == "Firing"
    made.kill("a")
    made.start("a")
    await made.run(60)
    assert made.state() == "Firing"
    made.load(a=1000.0)
    await made.run(120)

    assert made.counts() == {FIRING: 1, RESOLVED: 1}


async def test_events_that_cannot_be_read_hold_the_takeover_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Judging without knowing what fires already would tell it twice."""
    made = await firing_world("a")
    made.kube.unreadable = True
    made.kill("a")
    made.start("a")
    await made.run(200)
    assert made.holder is None
    assert made["a"].alerts.election.holder
    assert sum("Events can be read" in record.getMessage() for record in caplog.records) == 1
    made.kube.unreadable = False
    await made.run(10)

    assert made.state() == "Firing"
    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 1}


async def test_events_that_cannot_be_written_wait() -> None:
    made = await firing_world("a", "b")
    made.kube.refuse = KubeError(403, "Forbidden", "events are forbidden")
    await made.run(400)
    made.kube.refuse = None
    await made.run(60)

    assert made.counts("SLOPolicy") == made.counts() == {FIRING: 2}


async def test_an_event_that_is_refused_for_good_is_dropped_and_counted() -> None:
    made = world("a")
    await made.run(5)
    made.load(a=5000.0)
    made["a"].alerts.reporter._writer._kube = made.kube.client()
    real = made["a"].alerts.reporter._writer._kube.create

    async def create(body: Any) -> Any:
        if body["kind"] == "Event" and body["involvedObject"]["kind"] == "SLOPolicy":
            raise KubeError(422, "Invalid", "no such field")
        return await real(body)

    made["a"].alerts.reporter._writer._kube.create = create  # type: ignore[method-assign]
    await made.run(60)

    assert made.counts() == {FIRING: 1}
    assert made.counts("SLOPolicy") == {}
    assert made["a"].alerts.dropped == {FIRING: 1}
    assert made["a"].alerts.reporter.waiting == 0
