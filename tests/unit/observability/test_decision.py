from typing import Any

import orjson
from support.observed import NOW, observer_of

from steelyard_router.observability.decision import DecisionLog
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy.multiplicative import Multiplicative

WALL = 1_700_000_000.0
BLOCKS = bytes(range(64))


def scheduler_of(*names: str) -> Scheduler:
    scheduler = Scheduler(index_bytes=1_000_000)
    for name in names:
        scheduler.join(name)
    return scheduler


def logged(log: DecisionLog, count: int = 100, now: float = NOW) -> list[dict[str, Any]]:
    document: dict[str, list[dict[str, Any]]] = orjson.loads(
        orjson.dumps(log.to_dict(count, now, WALL))
    )
    return document["decisions"]


def record(log: DecisionLog, scheduler: Scheduler, name: str, now: float = NOW) -> None:
    view = RequestView(workload="chat", blocks=BLOCKS, prompt_tokens=700)
    decision = scheduler.choose(view, Multiplicative(), now, explain=True)
    log.record(name, view, decision, now)


def test_a_decision_shows_the_terms_of_every_candidate() -> None:
    log, scheduler = DecisionLog(10), scheduler_of("a", "b")
    record(log, scheduler, "first")
    record(log, scheduler, "second")
    second, first = logged(log)

    assert first["request_id"] == "first"
    assert first["time"] == "2023-11-14T22:13:20.000+00:00"
    assert (second["workload"], second["strategy"]) == ("chat", "Multiplicative")
    assert (second["prompt_tokens"], second["score"] > 0) == (700, True)
    assert {candidate["instance"] for candidate in second["candidates"]} == {"a", "b"}
    assert all(set(c) == {"instance", "q", "p", "b", "c", "cost"} for c in second["candidates"])
    chosen = min(second["candidates"], key=lambda candidate: candidate["cost"])
    assert chosen["instance"] == second["instance"]


def test_the_newest_come_first_and_the_oldest_are_forgotten() -> None:
    log, scheduler = DecisionLog(3), scheduler_of("a")
    for number in range(5):
        record(log, scheduler, str(number))

    assert [row["request_id"] for row in logged(log)] == ["4", "3", "2"]
    assert [row["request_id"] for row in logged(log, count=1)] == ["4"]


def test_a_smaller_log_keeps_the_newest() -> None:
    log, scheduler = DecisionLog(3), scheduler_of("a")
    for number in range(3):
        record(log, scheduler, str(number))
    log.resize(2)

    assert [row["request_id"] for row in logged(log)] == ["2", "1"]


def test_the_time_of_a_decision_does_not_move_with_the_time_of_the_question() -> None:
    log = DecisionLog(1)
    record(log, scheduler_of("a"), "one", now=NOW - 60)

    assert logged(log)[0]["time"] == "2023-11-14T22:12:20.000+00:00"


def test_nothing_of_the_prompt_is_kept() -> None:
    log = DecisionLog(1)
    record(log, scheduler_of("a"), "one")

    assert "blocks" not in logged(log)[0]
    assert BLOCKS not in orjson.dumps(log.to_dict(1, NOW, WALL))


def test_a_log_of_size_zero_keeps_nothing_and_asks_for_no_terms() -> None:
    observer = observer_of("chat")
    view = RequestView(workload="chat")
    decision = scheduler_of("a").choose(view, Multiplicative(), NOW, explain=observer.explains)
    observer.decided("one", view, decision, NOW)

    assert decision.terms is None
    assert logged(observer.decisions) == []
