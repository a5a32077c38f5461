"""Latency by simulation: an engine's next steps, as far as its front end can know them.

The artifact of the LMetric paper has an outer copy of each engine's scheduler that is corrected by
a report of every step, and a predictor that is calibrated per model and GPU. Here the predictor is
the engine's own profile, so calibration is perfect; the copy is rebuilt at each question from the
requests that are there, the oldest unanswered one being computed since it became the oldest. What
stays unknown: true output lengths, hits that differ from the believed ones, limits on sequences and
memory, and where in its running step the engine is.
"""

from collections.abc import Iterable
from typing import NamedTuple

from steelyard_simulator.baselines.instance import Instance
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.replay.policy import Arrival, Options


class Part(NamedTuple):
    """A prompt: tokens to compute, and tokens before them that are there already."""

    tokens: int
    before: int


def prefill_s(
    profile: Profile, prompts: Iterable[Part], *, sequences: int = 0, context_tokens: int = 0
) -> float:
    """Seconds until prompts are computed, one after the other in chunks beside a decoding batch;
    each joins that batch when it is done.
    """
    seconds, room, tokens, pairs = 0.0, 0, 0, 0
    joining: list[Part] = []
    for prompt in prompts:
        left, before = prompt
        while left:
            if not room:
                if tokens:
                    seconds += profile.step_s(
                        prefill_tokens=tokens,
                        pairs=pairs,
                        sequences=sequences,
                        context_tokens=context_tokens,
                    )
                    sequences += len(joining)
                    context_tokens += sum(map(sum, joining))
                    joining.clear()
                    tokens = pairs = 0
                room = max(1, profile.max_num_batched_tokens - sequences)
            chunk = min(room, left)
            pairs += chunk * before + chunk * (chunk + 1) // 2
            tokens, before = tokens + chunk, before + chunk
            left, room = left - chunk, room - chunk
        joining.append(prompt)
    return seconds + profile.step_s(
        prefill_tokens=tokens, pairs=pairs, sequences=sequences, context_tokens=context_tokens
    )


def ttft_s(options: Options, instance: Instance, arrival: Arrival, hit: int, now: float) -> float:
    """Seconds until an instance would give the arrival its first token: its line with the arrival
    at the end, less what has been computed of it. At least what the arrival takes by itself.
    """
    own = Part(arrival.prompt_tokens - hit, hit)
    line = [
        Part(claim.uncached_tokens, claim.arrival.prompt_tokens - claim.uncached_tokens)
        for claim in instance.unanswered.values()
    ]
    factor = options.slowness.get(instance.name, 1.0)
    context = instance.all_tokens - sum(map(sum, line))
    batch = {"sequences": instance.decoding, "context_tokens": context}
    least = factor * prefill_s(options.profile, [own], **batch)
    if not line:
        return least
    whole = factor * prefill_s(options.profile, [*line, own], **batch)
    return max(least, whole - (now - instance.head_since))


def tpot_s(options: Options, instance: Instance, arrival: Arrival) -> float:
    """Seconds of a decode step with the arrival and everything that is there decoding."""
    return options.slowness.get(instance.name, 1.0) * options.profile.step_s(
        prefill_tokens=0,
        pairs=0,
        sequences=instance.requests + 1,
        context_tokens=instance.all_tokens + arrival.prompt_tokens,
    )
