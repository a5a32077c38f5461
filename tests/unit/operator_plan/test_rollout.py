"""Which engines start and stop next."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from steelyard_operator.local.rollout import Running, Steps, steps
from steelyard_operator.plan import EngineProcess
from steelyard_router.config import EngineType


def spec(index: int, version: str = "1") -> EngineProcess:
    return EngineProcess(f"chat-{index}", EngineType.SIMULATOR, "chat", None, (version,), ())


def wanted(count: int, version: str = "1") -> dict[str, EngineProcess]:
    return {f"chat-{index}": spec(index, version) for index in range(count)}


def up(index: int, version: str = "1", *, ready: bool = True, leaving: bool = False) -> Running:
    return Running(spec(index, version), ready, leaving)


def test_what_is_missing_starts_all_at_once() -> None:
    assert steps(wanted(3), [up(1)]).start == (spec(0), spec(2))


def test_what_is_not_wanted_stops_all_at_once() -> None:
    assert steps(wanted(1), [up(0), up(1), up(2)]).stop == ("chat-1", "chat-2")


def test_nothing_happens_when_all_is_as_wanted() -> None:
    assert steps(wanted(2), [up(0), up(1)]) == Steps()


def test_an_edit_replaces_one_serving_engine_at_a_time() -> None:
    assert steps(wanted(3, "2"), [up(0), up(1), up(2)]).stop == ("chat-0",)


def test_the_next_is_replaced_only_when_the_last_serves() -> None:
    leaving = [up(0, leaving=True), up(1)]
    starting = [up(0, "2", ready=False), up(1)]
    serving = [up(0, "2"), up(1)]

    assert steps(wanted(2, "2"), leaving) == Steps()
    assert steps(wanted(2, "2"), starting) == Steps()
    assert steps(wanted(2, "2"), serving).stop == ("chat-1",)


def test_engines_that_serve_nobody_are_replaced_at_once() -> None:
    running = [up(0, ready=False), up(1, ready=False), up(2)]

    assert steps(wanted(3, "2"), running).stop == ("chat-0", "chat-1")


def test_a_name_is_not_started_while_its_process_leaves() -> None:
    assert steps(wanted(1), [up(0, leaving=True)]) == Steps()


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("12")), min_size=1, max_size=4))
def test_any_edits_end_in_what_is_wanted_with_at_most_one_serving_engine_out(
    edits: list[tuple[int, str]],
) -> None:
    running: dict[str, Running] = {}
    for count, version in edits:
        goal = wanted(count, version)
        for _ in range(4 * (len(running) + count + 1)):
            todo = steps(goal, list(running.values()))
            rolled = [name for name in todo.stop if name in goal and running[name].ready]
            assert len(rolled) <= 1
            assert not rolled or all(item.ready for item in running.values())
            running |= {item.name: Running(item, ready=False, leaving=False) for item in todo.start}
            running = {
                name: replace(item, ready=True)
                for name, item in running.items()
                if name not in todo.stop
            }
        assert {name: item.spec for name, item in running.items()} == goal
