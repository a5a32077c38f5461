"""What a step costs and how much fits: the constants of one GPU with one model.

A step computes some prefill tokens and one token for each decoding sequence. It takes

    base_s + per_prefill_token_s * prefill_tokens + attention_s * pairs
           + per_sequence_s * sequences + per_context_token_s * context_tokens

where `pairs` sums, over the prefill tokens of the step, how many tokens each attends to (itself
included), and `context_tokens` is what the decoding sequences hold. The form is the usual roofline
made linear: reading the weights once a step (base), matrix products of prompts (per prefill token),
their attention (pairs), reading each sequence's KV cache (per context token), and host work such as
sampling and detokenising (per sequence).

Where the constants come from. They are arithmetic on public data sheets, with the shares of the
peak that well-tuned kernels reach; none was measured on the GPU it names. P = parameters, B =
bytes:

    base                = weight bytes read in a step / (0.8 * bandwidth) + 1 ms of launches and
    host work per prefill token   = 2 * active P / (share * FLOP/s) per context token   = KV bytes a
    token / (0.8 * bandwidth),  KV = 2 * layers * kv_heads * head_dim * 2 B attention, a pair   = 4
    * layers * heads * head_dim FLOP / (0.4 * FLOP/s) KV tokens           = (0.9 * memory - weights
    - activations) / KV bytes a token

`h100-8b`: H100 SXM (989 TFLOP/s bf16, 3.35 TB/s, 80 GB) and a Llama-3.1-8B-shaped model (8.03e9 P =
    16.1 GB, 32 layers, 32 heads and 8 KV heads of 128: 131,072 B a token). 16.1e9 / 2.68e12 + 1 ms
    = 7.0 ms; 16.06e9 / (0.55 * 989e12) = 30 us; 131072 / 2.68e12 = 49 ns; 524288 / (0.4 * 989e12) =
    1.3 ns; (72 - 16.1 - 3.5) GB / 131072 B = 400,000 tokens. 15 us a sequence are host work.
`a100-30b`: A100 SXM (312 TFLOP/s bf16, 2.04 TB/s, 80 GB) and a Qwen3-30B-A3B-shaped mixture of
    experts (30.5e9 P = 61 GB, 3.3e9 active, 48 layers, 32 heads and 4 KV heads of 128: 98,304 B a
    token). A step of 16 sequences touches 1 - (1 - 8/128)^16 = 64 % of the experts: 0.64 * 61e9 /
    1.63e12 + 1 ms = 25 ms; the experts that each further sequence adds are averaged, up to 256 of
    them, at 60 us; 6.6e9 / (0.35 * 312e12) = 60 us (small expert matrices reach a lower share);
    98304 / 1.63e12 = 60 ns; 786432 / (0.4 * 312e12) = 6.3 ns; (72 - 61 - 2) GB / 98304 B = 91,552
    tokens.
`reference`: not a product but a yardstick, the constants of an independent simulation, so that
    results can be compared with it number by number.

A profile may also be a file: the JSON of its fields. `steelyard bench fidelity` writes one that was
measured.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self


@dataclass(frozen=True, slots=True)
class Profile:
    """Costs in seconds, sizes in tokens; see the module for the formula."""

    name: str
    base_s: float
    per_prefill_token_s: float
    per_sequence_s: float
    per_context_token_s: float
    attention_s: float
    kv_tokens: int
    block_tokens: int = 16
    max_num_batched_tokens: int = 8192
    max_num_seqs: int = 256
    max_model_len: int = 131_072

    def __post_init__(self) -> None:
        sizes = (self.block_tokens, self.max_num_batched_tokens, self.max_num_seqs)
        if min(sizes) < 1 or self.kv_tokens < self.block_tokens:
            raise ValueError(
                "block_tokens, max_num_batched_tokens and max_num_seqs must be at least 1, "
                "and kv_tokens at least one block"
            )
        if self.base_s <= 0:
            raise ValueError("base_s must be above 0: a step that takes no time never ends")

    @property
    def blocks(self) -> int:
        """Whole KV blocks in the pool."""
        return self.kv_tokens // self.block_tokens

    @property
    def longest(self) -> int:
        """The most tokens, prompt and output together, that one sequence may have."""
        return min(self.max_model_len, self.blocks * self.block_tokens)

    def step_s(
        self, *, prefill_tokens: int, pairs: int, sequences: int, context_tokens: int
    ) -> float:
        return (
            self.base_s
            + self.per_prefill_token_s * prefill_tokens
            + self.attention_s * pairs
            + self.per_sequence_s * sequences
            + self.per_context_token_s * context_tokens
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Of all fields, or of those without a default. Raises ValueError."""
        try:
            fields = json.loads(text)
            return cls(**fields)
        except (TypeError, ValueError) as exc:
            raise ValueError(f"is no profile: {exc}") from None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def slowed(self, factor: float) -> "Profile":
        """The same server on hardware that is `factor` times slower."""
        return replace(
            self,
            base_s=self.base_s * factor,
            per_prefill_token_s=self.per_prefill_token_s * factor,
            per_sequence_s=self.per_sequence_s * factor,
            per_context_token_s=self.per_context_token_s * factor,
            attention_s=self.attention_s * factor,
        )


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        one.name: one
        for one in (
            Profile(
                name="h100-8b",
                base_s=7.0e-3,
                per_prefill_token_s=30e-6,
                per_sequence_s=15e-6,
                per_context_token_s=49e-9,
                attention_s=1.3e-9,
                kv_tokens=400_000,
            ),
            Profile(
                name="a100-30b",
                base_s=25e-3,
                per_prefill_token_s=60e-6,
                per_sequence_s=60e-6,
                per_context_token_s=60e-9,
                attention_s=6.3e-9,
                kv_tokens=91_552,
                max_model_len=40_960,
            ),
            Profile(
                name="reference",
                base_s=9e-3,
                per_prefill_token_s=35e-6,
                per_sequence_s=60e-6,
                per_context_token_s=65e-9,
                attention_s=1.2e-9,
                kv_tokens=1_536_000,
                max_model_len=1_048_576,
            ),
        )
    }
)


SUFFIX: Final = ".json"


def profile(name: str) -> Profile:
    """The profile of that name, or in that file; ValueError lists the names there are."""
    if name in PROFILES:
        return PROFILES[name]
    if not name.endswith(SUFFIX):
        raise ValueError(
            f"unknown profile {name!r}; known are {', '.join(sorted(PROFILES))}, and files "
            f"that end in {SUFFIX}"
        )
    try:
        return Profile.from_json(Path(name).read_text(encoding="utf-8"))
    except OSError as exc:
        raise ValueError(f"profile {name} cannot be read: {exc.strerror or exc}") from None
    except ValueError as exc:
        raise ValueError(f"{name} {exc}") from None
