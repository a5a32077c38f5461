"""Drives the engine model through virtual time for tests."""

from dataclasses import dataclass, field

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Event, EventKind, Job
from steelyard_simulator.engine.profile import Profile

TOY = Profile(
    name="toy",
    base_s=1.0,
    per_prefill_token_s=0.01,
    per_sequence_s=0.1,
    per_context_token_s=0.001,
    attention_s=0.0001,
    kv_tokens=1600,
    block_tokens=16,
    max_num_batched_tokens=100,
    max_num_seqs=8,
)


def prefix(tag: int, blocks: int) -> tuple[int, ...]:
    """Chained hashes of a prompt of its own, different for each tag."""
    return tuple(tag * 1_000_000 + index for index in range(blocks))


def make_job(
    name: str,
    prompt: int,
    output: int,
    *,
    hashes: tuple[int, ...] = (),
    priority: int = 0,
) -> Job:
    return Job(name, prompt, output, hashes, priority)


def run_dry(engine: Engine) -> list[Event]:
    """Advances from change to change until the engine is idle."""
    events: list[Event] = []
    while (at_s := engine.next_change_s) is not None:
        events += engine.advance(at_s)
    return events


@dataclass(slots=True)
class Story:
    """What was told of one job."""

    first_s: float | None = None
    finished_s: float | None = None
    preempted: int = 0
    generated: int = 0
    cached: int = 0
    order: list[EventKind] = field(default_factory=list)


def stories(events: list[Event]) -> dict[str, Story]:
    told: dict[str, Story] = {}
    for event in events:
        story = told.setdefault(event.job.id, Story())
        story.order.append(event.kind)
        story.generated = event.generated
        story.cached = event.cached_tokens
        match event.kind:
            case EventKind.FIRST_TOKEN:
                assert story.first_s is None
                story.first_s = event.at_s
            case EventKind.FINISHED:
                assert story.finished_s is None
                story.finished_s = event.at_s
            case EventKind.PREEMPTED:
                story.preempted += 1
    return told
