"""A model of one inference server: continuous batching over a paged KV cache, in virtual time.

It follows vLLM's scheduler. A step holds one token of every decoding sequence and, in what is left
of max_num_batched_tokens, prefill in chunks: first what is half done, then the waiting queue, whose
head is admitted when its whole prompt fits the KV pool beside max_num_seqs. When decoding runs out
of blocks, the sequence of the lowest rank is preempted: its blocks go, and it is computed again
later. What a step holds is fixed when it begins; who arrives meanwhile waits for its end, and who
leaves frees blocks at once but does not shorten it.

Kept true between calls: a step is running whenever a sequence is; every decoding sequence holds the
block for the token being computed; the pool never holds more than its capacity; a submitted job
ends in exactly one of a FINISHED event and a successful abort.

Differences from vLLM, on purpose: a prompt's blocks are taken at admission rather than chunk by
chunk; blocks of equal content computed at the same time are merged; generated blocks enter the
cache when their sequence ends or is preempted, and only where the caller gave hashes for them.
"""

from dataclasses import dataclass

from steelyard_simulator.engine.decode import DecodeBatch
from steelyard_simulator.engine.job import Event, EventKind, Job, Phase, Sequence
from steelyard_simulator.engine.pool import BlockPool
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.engine.stretch import Stretch
from steelyard_simulator.engine.waiting import WaitingQueue


@dataclass(slots=True)
class Counters:
    """Totals since the start; vLLM's counters of the same names are read from them."""

    query_tokens: int = 0
    hit_tokens: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    preemptions: int = 0


class Engine:
    """Times are seconds on any one clock that does not go back; the engine keeps none of its
    own."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.counters = Counters()
        self._pool = BlockPool(profile.blocks)
        self._decoding = DecodeBatch(profile.block_tokens)
        self._prefilling: list[Sequence] = []
        self._waiting = WaitingQueue()
        self._sequences: dict[str, Sequence] = {}
        self._stretch: Stretch | None = None
        self._events: list[Event] = []
        self._arrivals = 0

    @property
    def running(self) -> int:
        return len(self._decoding) + len(self._prefilling)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def kv_usage(self) -> float:
        """Share of the pool that running sequences hold, 0..1; what is only cached does not
        count."""
        return self._pool.used / self._pool.capacity

    @property
    def context_tokens(self) -> int:
        """Context that the decoding sequences hold."""
        return self._decoding.context_tokens

    @property
    def next_change_s(self) -> float | None:
        """When advance() next has more to do than count tokens, if nothing is submitted before."""
        return self._stretch.end_s(self._stretch.steps) if self._stretch else None

    @property
    def next_step_s(self) -> float | None:
        """When the running step ends."""
        return self._stretch.end_s(self._stretch.done + 1) if self._stretch else None

    def generated(self, job_id: str) -> int:
        """Tokens generated so far by a job in the engine, as of the last call with a time."""
        sequence = self._sequences[job_id]
        if sequence.phase is Phase.DECODE:
            return self._decoding.generated(sequence)
        return sequence.generated

    def submit(self, job: Job, now: float) -> None:
        """Queues a job. ValueError: it can never fit, or its id is in use."""
        if job.prompt_tokens + job.output_tokens > self.profile.longest:
            raise ValueError(
                f"job {job.id} needs {job.prompt_tokens} + {job.output_tokens} tokens; "
                f"this engine has room for {self.profile.longest}"
            )
        if job.id in self._sequences:
            raise ValueError(f"job id {job.id} is in use")
        self._run(now)
        sequence = Sequence(job, self._arrivals)
        self._arrivals += 1
        self._sequences[job.id] = sequence
        self._waiting.push(sequence)
        self._reconsider(now)

    def abort(self, job_id: str, now: float) -> bool:
        """Takes a job out at once and frees its blocks; False if it is not, or no longer, here."""
        self._run(now)
        sequence = self._sequences.pop(job_id, None)
        if sequence is None:
            return False
        if sequence.phase is Phase.WAITING:
            self._waiting.discard(sequence)
        elif sequence.phase is Phase.PREFILL:
            self._prefilling.remove(sequence)
            self._release(sequence, sequence.slots)
        else:
            self._decoding.leave(sequence)
            self._release(sequence, sequence.slots + 1)
        sequence.phase = Phase.GONE
        self._reconsider(now)
        return True

    def advance(self, now: float) -> list[Event]:
        """Takes over every step that ended by `now`; returns what happened since the last call."""
        self._run(now)
        events, self._events = self._events, []
        return events

    def reset_cache(self) -> None:
        """Forgets the prefix cache; what running sequences hold goes with them."""
        self._pool.reset()

    def _run(self, now: float) -> None:
        while self._stretch and (end := self._stretch.end_s(self._stretch.steps)) <= now:
            self._complete(self._stretch, self._stretch.steps, end)
            self._begin(end)
        if (stretch := self._stretch) and stretch.steps - stretch.done > 1:
            completed = stretch.completed(now)
            if completed > stretch.done:
                self._complete(stretch, completed, now)

    def _reconsider(self, now: float) -> None:
        """After a change from outside: the next step may differ from the ones already decided."""
        if self._stretch:
            self._stretch.cut()
        else:
            self._begin(now)

    def _begin(self, now: float) -> None:
        """Decides on the next step, or on a run of equal ones, and takes its blocks."""
        preempted = self._preempt(now)
        sequences, context = len(self._decoding), self._decoding.context_tokens
        if sequences:
            self._pool.take(self._decoding.blocks_needed(0, 1))
        prefill, pairs = self._schedule_prefill(admit=not preempted)
        if not sequences and not prefill:
            self._stretch = None
            return
        cost = self.profile.step_s(
            prefill_tokens=prefill, pairs=pairs, sequences=sequences, context_tokens=context
        )
        steps = 1 if prefill or preempted else self._decode_steps()
        growth = sequences * self.profile.per_context_token_s
        self._stretch = Stretch(now, cost, growth, steps)

    def _decode_steps(self) -> int:
        """Decode steps until a sequence finishes or the pool may run out."""
        steps, available = self._decoding.steps_to_finish(), self._pool.available
        if self._decoding.blocks_needed(1, steps) <= available:
            return steps
        enough, too_many = 1, steps
        while too_many - enough > 1:
            middle = (enough + too_many) // 2
            if self._decoding.blocks_needed(1, middle) <= available:
                enough = middle
            else:
                too_many = middle
        return enough

    def _preempt(self, now: float) -> bool:
        """Makes room for the tokens of the next decode step, at the cost of the last in rank."""
        preempted = False
        while self._decoding.blocks_needed(0, 1) > self._pool.available:
            victim = max((*self._decoding.members.values(), *self._prefilling), key=_rank)
            if victim.phase is Phase.DECODE:
                self._decoding.leave(victim)
            else:
                self._prefilling.remove(victim)
            self._tell(EventKind.PREEMPTED, victim, now)
            self._release(victim, victim.slots)
            victim.computed = 0
            victim.target = victim.job.prompt_tokens + victim.generated
            self._waiting.push(victim)
            self.counters.preemptions += 1
            preempted = True
        return preempted

    def _schedule_prefill(self, *, admit: bool) -> tuple[int, int]:
        """Chunks for the next step: (prefill tokens, sum of the context each attends to)."""
        budget = self.profile.max_num_batched_tokens - len(self._decoding)
        tokens = pairs = 0
        index = 0
        while budget > tokens:
            if index == len(self._prefilling) and not (admit and self._admit()):
                break
            sequence = self._prefilling[index]
            chunk = min(budget - tokens, sequence.target - sequence.computed)
            pairs += chunk * sequence.computed + chunk * (chunk + 1) // 2
            tokens += chunk
            sequence.computed += chunk
            self._publish(sequence, sequence.computed)
            index += 1
        return tokens, pairs

    def _admit(self) -> bool:
        """Moves the head of the queue to the prefilling ones if it fits."""
        sequence = self._waiting.head()
        if sequence is None or self.running >= self.profile.max_num_seqs:
            return False
        block, hashes = self.profile.block_tokens, sequence.job.block_hashes
        hits = self._pool.match(hashes, (sequence.target - 1) // block)
        private = _blocks(sequence.target, block) - hits
        if not self._pool.fits(hashes, hits, private):
            return False
        self._waiting.pop()
        self._pool.hold(hashes, hits)
        self._pool.take(private)
        sequence.phase = Phase.PREFILL
        sequence.shared = hits
        sequence.computed = hits * block
        self._prefilling.append(sequence)
        if sequence.cached_tokens is None:
            sequence.cached_tokens = sequence.computed
            self.counters.query_tokens += sequence.target
            self.counters.hit_tokens += sequence.computed
        return True

    def _complete(self, stretch: Stretch, completed: int, now: float) -> None:
        """Takes over steps up to number `completed` of the stretch."""
        count = completed - stretch.done
        begun = count if completed == stretch.steps else count + 1
        stretch.done = completed
        if self._decoding:
            # The first of them took its blocks when it began; the running one has begun too.
            self._pool.take(self._decoding.blocks_needed(1, begun))
            self.counters.generated_tokens += count * len(self._decoding)
            for sequence in self._decoding.step(count):
                self._finish(sequence, now)
        if self._prefilling:
            self._complete_prefill(now)

    def _complete_prefill(self, now: float) -> None:
        done = [one for one in self._prefilling if one.computed == one.target]
        self._prefilling = [one for one in self._prefilling if one.computed < one.target]
        for sequence in done:
            first = sequence.generated == 0
            if first:
                self.counters.prompt_tokens += sequence.job.prompt_tokens
            if sequence.job.output_tokens:
                sequence.generated += 1
                self.counters.generated_tokens += 1
                if first:
                    self._tell(EventKind.FIRST_TOKEN, sequence, now)
            if sequence.generated == sequence.job.output_tokens:
                self._finish(sequence, now)
            else:
                self._decoding.join(sequence)

    def _finish(self, sequence: Sequence, now: float) -> None:
        sequence.phase = Phase.GONE
        del self._sequences[sequence.job.id]
        self._tell(EventKind.FINISHED, sequence, now)
        self._release(sequence, sequence.slots)

    def _publish(self, sequence: Sequence, tokens: int) -> None:
        """Makes the whole blocks among the first `tokens` known to the cache."""
        hashes = sequence.job.block_hashes
        stop = min(tokens // self.profile.block_tokens, len(hashes))
        if stop > sequence.shared:
            self._pool.publish(hashes, sequence.shared, stop)
            sequence.shared = stop

    def _release(self, sequence: Sequence, tokens: int) -> None:
        """Gives back the blocks that hold `tokens`, keeping what is computed and has hashes."""
        in_prefill = sequence.phase is Phase.PREFILL
        self._publish(sequence, sequence.computed if in_prefill else sequence.slots)
        self._pool.give_back(_blocks(tokens, self.profile.block_tokens) - sequence.shared)
        self._pool.release(sequence.job.block_hashes, sequence.shared)
        sequence.shared = 0

    def _tell(self, kind: EventKind, sequence: Sequence, now: float) -> None:
        self._events.append(
            Event(now, kind, sequence.job, sequence.generated, sequence.cached_tokens or 0)
        )


def _blocks(tokens: int, block_tokens: int) -> int:
    return -(-tokens // block_tokens)


def _rank(sequence: Sequence) -> tuple[int, int]:
    return sequence.rank
