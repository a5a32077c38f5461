"""A whole replay as one value, and the function that runs it: what the commands build and start."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard_simulator.load.client import READ_TIMEOUT_S, ChatClient, Target
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.prompt import PromptWriter
from steelyard_simulator.load.replay import Replay
from steelyard_simulator.load.trace import TraceRequest


@dataclass(frozen=True, slots=True)
class Job:
    """`users` sessions at a time by think time; None: open loop by timestamp."""

    target: Target
    requests: tuple[TraceRequest, ...]
    block_tokens: int
    users: int | None = None
    concurrency: int | None = None
    seed: int = 0
    read_timeout_s: float = READ_TIMEOUT_S


async def run(job: Job, on_done: Callable[[Measurement], None]) -> None:
    """Returns when every reply is in.

    Raises UnreachableError or WrongModelError before the first request.
    """
    async with ChatClient.connect(job.target, read_timeout_s=job.read_timeout_s) as client:
        writer = PromptWriter(seed=job.seed, block_tokens=job.block_tokens)
        replay = Replay(client, writer, job.requests, on_done, concurrency=job.concurrency)
        if job.users is None:
            await replay.open_loop()
        else:
            await replay.closed_loop(users=job.users)
