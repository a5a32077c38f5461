"""The sequences that decode: each step adds one token to every one of them.

Nothing here is proportional to their number per step. A sequence's progress is the distance of a
shared step counter from the step at which it joined; who is next to finish is the top of a heap;
and which sequences need a new KV block in a step depends only on the step number modulo the block
size, so they are counted by that residue.
"""

from heapq import heappop, heappush

from steelyard_simulator.engine.job import Phase, Sequence


class DecodeBatch:
    """`context_tokens` is what the members hold: prompts and generated tokens, the newest
    included."""

    __slots__ = ("_block_tokens", "_crossings", "_finishing", "_steps", "context_tokens", "members")

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._crossings = [0] * block_tokens
        self._finishing: list[tuple[int, int, Sequence]] = []
        self._steps = 0
        self.context_tokens = 0
        self.members: dict[int, Sequence] = {}
        """By order of arrival."""

    def __len__(self) -> int:
        return len(self.members)

    def join(self, sequence: Sequence) -> None:
        """The sequence has at least one generated token and at least one to go."""
        sequence.phase = Phase.DECODE
        sequence.joined_at = self._steps
        sequence.ends_at = self._steps + sequence.job.output_tokens - sequence.generated
        self.members[sequence.order] = sequence
        self.context_tokens += sequence.job.prompt_tokens + sequence.generated
        self._crossings[self._residue(sequence)] += 1
        heappush(self._finishing, (sequence.ends_at, sequence.order, sequence))

    def leave(self, sequence: Sequence) -> None:
        """Brings `generated` up to date and forgets the sequence."""
        self._crossings[self._residue(sequence)] -= 1
        sequence.generated = self.generated(sequence)
        self.context_tokens -= sequence.job.prompt_tokens + sequence.generated
        del self.members[sequence.order]

    def generated(self, sequence: Sequence) -> int:
        return sequence.generated + self._steps - sequence.joined_at

    def blocks_needed(self, start: int, stop: int) -> int:
        """New KV blocks that steps start..stop-1 take, counted from the next step (0)."""
        cycles, rest = divmod(stop - start, self._block_tokens)
        first = (self._steps + start) % self._block_tokens
        need = sum(self._crossings[first : first + rest])
        if (beyond := first + rest - self._block_tokens) > 0:
            need += sum(self._crossings[:beyond])
        return need + cycles * len(self.members)

    def steps_to_finish(self) -> int:
        """Steps until the first member is done; the batch must not be empty."""
        while (top := self._finishing[0])[1] not in self.members or top[2].ends_at != top[0]:
            heappop(self._finishing)
        return top[0] - self._steps

    def step(self, count: int) -> list[Sequence]:
        """Takes `count` steps, at most steps_to_finish(); returns who is done and has left."""
        self._steps += count
        self.context_tokens += count * len(self.members)
        done: list[Sequence] = []
        while self._finishing and self._finishing[0][0] <= self._steps:
            ends_at, order, sequence = heappop(self._finishing)
            if order in self.members and sequence.ends_at == ends_at:
                self.leave(sequence)
                done.append(sequence)
        return done

    def _residue(self, sequence: Sequence) -> int:
        """Steps whose number has this residue begin with the member's context at k blocks + 1."""
        context = sequence.job.prompt_tokens + sequence.generated
        return (sequence.joined_at + 1 - context) % self._block_tokens
