"""Whatever happens to routers and API server: each occurrence once, and in the end the truth."""

import asyncio
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.alert_world import ALERT, World, config_of

Step = tuple[str, str, int]

STEPS = st.tuples(
    st.sampled_from(
        [
            "worse", "better", "quiet", "kill", "start", "stop", "cut", "heal", "hide", "show",
            "away", "back", "lose", "split", "edit", "undo",
        ]
    ),
    st.sampled_from("abc"),
    st.integers(1, 90),
)  # fmt: skip
CONFIG = config_of({**ALERT, "repeat_s": 60})
EDITED = config_of({**ALERT, "repeat_s": 60, "threshold": 1001})


@given(script=st.lists(STEPS, max_size=20), worse=st.booleans(), seed=st.integers(0, 99))
@example(script=[("worse", "a", 30), ("kill", "a", 40), ("better", "a", 90)], worse=True, seed=0)
@settings(max_examples=40)
def test_no_occurrence_is_posted_twice_and_the_last_word_is_right(
    script: list[Step], worse: bool, seed: int
) -> None:
    asyncio.run(play(script, worse=worse, seed=seed))


async def play(script: list[Step], *, worse: bool, seed: int) -> None:
    world = World(CONFIG, "a", "b", "c", seed=seed)
    for what, name, seconds in script:
        await happen(world, what, name)
        await world.run(seconds)
    for name in "abc":
        for what in ("start", "heal", "show", "back"):
            await happen(world, what, name)
    world.load(**dict.fromkeys("abc", 5000.0 if worse else 100.0))
    await world.run(180)

    assert len(set(world.kube.occurrences)) == len(world.kube.occurrences)
    assert world.state() == ("Firing" if worse else "OK")
    for kind in ("LLMService", "SLOPolicy"):
        assert fires(world, kind) == worse
    assert newest(world, "LLMService") == newest(world, "SLOPolicy")
    written = Counter(name for name, _ in world.kube.occurrences)
    assert {e["metadata"]["name"]: e["count"] for e in world.events(None)} == written
    assert [pod.alerts.reporter.waiting for pod in world.living] == [0, 0, 0]


def newest(world: World, kind: str) -> dict[str, str]:
    """Reason -> occurrence. A repetition that waited may have given way to the next on one object
    and not on the other, so counts may differ; the last word may not.
    """
    return {
        event["reason"]: event["metadata"]["annotations"]["steelyard.io/occurrence"]
        for event in world.events(kind)
    }


def fires(world: World, kind: str) -> bool:
    """What somebody reads who sorts an object's Events by time."""
    last = max(((since[:24], reason) for reason, since in newest(world, kind).items()), default="")
    return "SLOAlertFiring" in last


async def happen(world: World, what: str, name: str) -> None:
    pod = world[name]
    match what:
        case "worse" | "better" | "quiet":
            scores = {"worse": 5000.0, "better": 100.0}
            world.load(**dict.fromkeys("abc" if what in scores else "", scores.get(what, 0.0)))
        case "edit" | "undo":
            world.change(EDITED if what == "edit" else CONFIG)
        case "kill":
            world.kill(name)
        case "stop":
            await world.stop(name)
        case "start":
            if not pod.alive:
                world.start(name)
        case _:
            _interfere(world, what, name)


def _interfere(world: World, what: str, name: str) -> None:
    """With connections."""
    pod = world[name]
    match what:
        case "cut" | "heal":
            pod.connection.cut, pod.connection.cut_after = what == "cut", None
        case "split":
            pod.connection.cut_after = 1
        case "hide" | "show":
            pod.reachable = what == "show"
        case "away" | "back":
            world.kube.away = what == "away"
        case _:
            assert what == "lose"
            world.kube.lose_answers = 2
