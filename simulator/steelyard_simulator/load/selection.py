"""Which requests of a trace are sent, and when: window, limits, spreading, rate. Pure.

Requests that wait for one that is left out are left out too: a conversation is cut, never holed. A
request whose predecessor lies before the window starts a conversation of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from steelyard_simulator.load.trace import Trace, TraceRequest


@dataclass(frozen=True, slots=True)
class Window:
    """What to take. Times in seconds of the trace; `max_input` and `output_cap` in tokens; None:
    all.
    """

    start_s: float = 0.0
    duration_s: float | None = None
    limit: int | None = None
    max_input: int | None = None
    output_cap: int | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """`requests` in the order of the trace, at least one output token each; `too_long` were left
    out.
    """

    requests: tuple[TraceRequest, ...]
    too_long: int = 0


def plan(trace: Trace, window: Window, *, speed: float = 1.0, even: bool = True) -> Selection:
    """What to send and when. `even` spreads times that the trace's recorder had rounded."""
    requests = trace.requests
    if even and trace.bucket_s is not None:
        requests = spread(requests, trace.bucket_s)
    selection = select(requests, window)
    return replace(selection, requests=at_rate(selection.requests, speed))


def select(requests: Sequence[TraceRequest], window: Window) -> Selection:
    """The requests inside the window, times counted from its start."""
    stop_s = window.start_s + window.duration_s if window.duration_s is not None else float("inf")
    inside = _keep(requests, lambda r: window.start_s <= r.at_s < stop_s, orphans=True)
    fitting = inside
    if (longest := window.max_input) is not None:
        fitting = _keep(inside, lambda r: r.input_tokens <= longest, orphans=False)
    return Selection(
        requests=tuple(
            replace(
                request,
                at_s=request.at_s - window.start_s,
                output_tokens=max(1, min(request.output_tokens, window.output_cap or 10**9)),
            )
            for request in fitting[: window.limit]
        ),
        too_long=len(inside) - len(fitting),
    )


def spread(requests: Sequence[TraceRequest], bucket_s: float) -> tuple[TraceRequest, ...]:
    """Times rounded to multiples of `bucket_s`, laid evenly over each bucket, order kept."""
    buckets = [round(request.at_s / bucket_s) for request in requests]
    sizes = Counter(buckets)
    seen: Counter[int] = Counter()
    moved: list[TraceRequest] = []
    for request, bucket in zip(requests, buckets, strict=True):
        at_s = (bucket + seen[bucket] / sizes[bucket]) * bucket_s
        seen[bucket] += 1
        moved.append(replace(request, at_s=at_s))
    return tuple(moved)


def at_rate(requests: Sequence[TraceRequest], speed: float) -> tuple[TraceRequest, ...]:
    """Arrivals and pauses `speed` times as fast; a first arrival later than 0 stays one."""
    return tuple(
        replace(request, at_s=request.at_s / speed, think_s=request.think_s / speed)
        for request in requests
    )


def jittered(
    requests: Sequence[TraceRequest], width_s: float, rng: Random
) -> tuple[TraceRequest, ...]:
    """Each arrival up to `width_s` later, at random: the same load in another run of chance."""
    return tuple(
        replace(request, at_s=request.at_s + rng.uniform(0, width_s)) for request in requests
    )


def poisson(requests: Sequence[TraceRequest], rng: Random) -> tuple[TraceRequest, ...]:
    """The same requests in the same order and at the same mean rate, with independent arrivals."""
    first_s = min((request.at_s for request in requests), default=0.0)
    span_s = max((request.at_s for request in requests), default=0.0) - first_s
    times = sorted(first_s + rng.uniform(0, span_s) for _ in requests)
    order = sorted(range(len(requests)), key=lambda number: requests[number].at_s)
    moved = list(requests)
    for number, at_s in zip(order, times, strict=True):
        moved[number] = replace(requests[number], at_s=at_s)
    return tuple(moved)


def _keep(
    requests: Sequence[TraceRequest], wanted: Callable[[TraceRequest], bool], *, orphans: bool
) -> tuple[TraceRequest, ...]:
    """The wanted ones, `follows` renumbered; `orphans`: whether one may lose its predecessor."""
    return tuple(_renumbered(requests, wanted, orphans=orphans))


def _renumbered(
    requests: Sequence[TraceRequest], wanted: Callable[[TraceRequest], bool], *, orphans: bool
) -> Iterator[TraceRequest]:
    index: dict[int, int] = {}
    for old, request in enumerate(requests):
        follows = index.get(request.follows) if request.follows is not None else None
        lost = request.follows is not None and follows is None
        if not wanted(request) or (lost and not orphans):
            continue
        index[old] = len(index)
        yield replace(request, follows=follows, think_s=0.0 if lost else request.think_s)
