"""Jobs that wait, and lanes that they wait for."""

from hypothesis import strategies as st

from steelyard_router.scheduling.order import Job, Lane
from steelyard_router.scheduling.order.objective import Score, predict, score

NOW_S = 100.0


def job(
    key: str,
    *,
    waited_s: float = 0.0,
    prefill_s: float = 0.1,
    output_tokens: float = 11.0,
    ttft_s: float | None = None,
    tpot_s: float | None = None,
    e2e_s: float | None = None,
    priority: int = 0,
    most_output_tokens: float = 0.0,
) -> Job:
    targets = (ttft_s, tpot_s, e2e_s)
    rest = (priority, 0.0, most_output_tokens)
    return Job(key, NOW_S - waited_s, prefill_s, output_tokens, *targets, *rest)


def lane(
    *free_s: float, token_s: float = 0.01, queued_s: float = 0.0, since_s: float = 0.0
) -> Lane:
    return Lane("i0", list(free_s), token_s, 0.0, queued_s, since_s)


def keys(order: list[Job]) -> list[str]:
    return [each.key for each in order]


def worth(order: list[Job], on: Lane) -> Score:
    return score(order, predict(order, on, NOW_S), NOW_S)


def _seconds(most: float) -> st.SearchStrategy[float]:
    return st.floats(0.0, most).map(lambda value: round(value, 3))


@st.composite
def queues(draw: st.DrawFn, *, at_most: int = 12, classes: int = 2) -> list[Job]:
    count = draw(st.integers(0, at_most))
    target = st.none() | _seconds(3.0)
    return [
        job(
            f"r{number}",
            waited_s=draw(_seconds(20.0)),
            prefill_s=draw(_seconds(1.0)),
            output_tokens=draw(st.integers(1, 200)),
            ttft_s=draw(target),
            tpot_s=draw(st.none() | st.sampled_from((0.001, 0.1))),
            e2e_s=draw(target),
            priority=draw(st.integers(0, classes - 1)),
            most_output_tokens=draw(st.sampled_from((0.0, 250.0))),
        )
        for number in range(count)
    ]


@st.composite
def lanes(draw: st.DrawFn, *, width: int = 4) -> Lane:
    free_s = sorted(draw(st.lists(_seconds(3.0), min_size=1, max_size=width)))
    return Lane(
        draw(st.sampled_from(("i0", "i1"))),
        free_s,
        base_s=draw(st.sampled_from((0.0, 0.01))),
        sequence_s=draw(st.sampled_from((0.0, 0.001))),
        queued_s=draw(_seconds(0.5)),
        since_overdue_s=draw(_seconds(8.0)),
    )
