"""The API paths whose bodies are read, and how. Any other path passes through unread."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from steelyard_router.analysis import prompt


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`output_limits` are the fields that bound the output, the first given one counting.

    `generates`: it decodes after the prefill. `prefills`: it uses the model at all.
    `reports_usage`: its streams end with usage unasked.
    """

    read: prompt.Reader
    output_limits: tuple[str, ...] = ()
    generates: bool = False
    prefills: bool = True
    reports_usage: bool = False


_RERANK = Endpoint(prompt.rerank)
_SCORE = Endpoint(prompt.score)

ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType(
    {
        "/v1/chat/completions": Endpoint(
            prompt.chat, output_limits=("max_completion_tokens", "max_tokens"), generates=True
        ),
        "/v1/completions": Endpoint(
            prompt.completion, output_limits=("max_tokens",), generates=True
        ),
        "/v1/responses": Endpoint(
            prompt.responses,
            output_limits=("max_output_tokens",),
            generates=True,
            reports_usage=True,
        ),
        "/v1/messages": Endpoint(
            prompt.anthropic, output_limits=("max_tokens",), generates=True, reports_usage=True
        ),
        "/v1/embeddings": Endpoint(prompt.embedding),
        "/v1/rerank": _RERANK,
        "/v2/rerank": _RERANK,
        "/rerank": _RERANK,
        "/v1/score": _SCORE,
        "/score": _SCORE,
        "/tokenize": Endpoint(prompt.completion, prefills=False),
    }
)
