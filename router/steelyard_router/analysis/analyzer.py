"""The analyzer: a request's path, headers and body in, a RequestView and its workload out.

It reads the JSON once, for hashing and counting only. After the answer, `learn` takes the engine's
usage report, which makes the next request's token counts and expected output better.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from steelyard_router.analysis import field, hint
from steelyard_router.analysis.block import BLOCK_BYTES, chain
from steelyard_router.analysis.endpoint import ENDPOINTS, Endpoint
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.media import Media
from steelyard_router.analysis.prompt import TOKEN_ID_BYTES, Prompt
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.analysis.workload import WorkloadTable
from steelyard_router.config import RouterConfig, Workload
from steelyard_router.scheduling.request import RequestView

SESSION_HEADER = "x-session-id"

_MOST_CHOICES = 1024
"""Engines refuse far smaller `n`; beyond this it must not count, or one request would hide them."""


@dataclass(slots=True)
class Analysis:
    """What the router knows of a request before it is placed; never changed.

    `generates` is False where no decode follows the prefill (embeddings, rerank, score, tokenize,
    and everything passed through). `client_usage` says that a stream of it ends with usage: the
    client asked, or the API always does. `text_bytes` is 0 for token ids, which teach no ratio.
    """

    view: RequestView
    workload: Workload
    model: str | None
    text_bytes: int
    streams: bool
    generates: bool
    client_usage: bool
    media: Media = ()

    @property
    def expects_usage(self) -> bool:
        """Whether the answer, as it is, will carry a usage report."""
        return self.client_usage or not self.streams


class _Reply(NamedTuple):
    """Output tokens of one sequence, as RequestView has them; `most` is not below `expected`."""

    expected: float
    most: float | None


_NOTHING = _Reply(1.0, 1.0)
"""Nothing is decoded, as if the prefill gave the only token."""


class Analyzer:
    """One per configuration; `ratio` and `history` live on over reloads."""

    def __init__(self, config: RouterConfig, ratio: TokenRatio, history: OutputHistory) -> None:
        self._workloads = WorkloadTable(config.policy.workloads)
        self._hints = config.service.client_hints
        self._ratio = ratio
        self._history = history

    def knows(self, path: str) -> bool:
        """Whether a POST to `path` must be read before it can be placed."""
        return _endpoint(path) is not None

    def analyze(
        self, path: str, headers: Mapping[str, str], body: bytes, *, tenant: str | None = None
    ) -> Analysis:
        """Read a request; header names are lower-case. BadRequest says what to send instead."""
        endpoint = _endpoint(path)
        if endpoint is None:
            return self.passthrough(path, headers, tenant=tenant)
        fields = field.parse(body)
        model = field.text(fields, "model")
        prompt = endpoint.read(fields)
        tokens, block_tokens = self._size(model, prompt)
        placed = self._workloads.find(path, headers, model=model, prompt_tokens=tokens)
        workload = placed.workload
        slo, priority = hint.apply(headers, placed.slo, workload.priority, self._hints)
        streams = endpoint.generates and field.flag(fields, "stream")
        reply = self._reply(endpoint, fields, headers, workload=workload.name, prompt_tokens=tokens)
        view = RequestView(
            workload=workload.name,
            blocks=chain(prompt.head, _seed(model, fields)) if endpoint.prefills else b"",
            block_tokens=block_tokens,
            prompt_tokens=tokens if endpoint.prefills else 1,
            sequences=prompt.count if fields.get("n") is None else prompt.count * _choices(fields),
            streams=streams,
            expected_output_tokens=reply.expected,
            most_output_tokens=reply.most,
            slo=slo,
            weights=placed.weights,
            priority=priority,
            session=headers.get(SESSION_HEADER),
            tenant=tenant,
        )
        return Analysis(
            view=view,
            workload=workload,
            model=model,
            text_bytes=prompt.text_bytes,
            streams=streams,
            generates=endpoint.generates,
            client_usage=endpoint.reports_usage or (streams and _asks_usage(fields)),
            media=prompt.media,
        )

    def passthrough(
        self, path: str, headers: Mapping[str, str], *, tenant: str | None = None
    ) -> Analysis:
        """A request whose body is not read: the smallest prompt, no blocks."""
        placed = self._workloads.find(path, headers, model=None, prompt_tokens=1)
        slo, priority = hint.apply(headers, placed.slo, placed.workload.priority, self._hints)
        streams = "text/event-stream" in headers.get("accept", "")
        view = RequestView(
            workload=placed.workload.name,
            streams=streams,
            expected_output_tokens=1.0,
            most_output_tokens=1.0,
            slo=slo,
            weights=placed.weights,
            priority=priority,
            session=headers.get(SESSION_HEADER),
            tenant=tenant,
        )
        return Analysis(
            view=view,
            workload=placed.workload,
            model=None,
            text_bytes=0,
            streams=streams,
            generates=False,
            client_usage=False,
        )

    def learn(
        self, analysis: Analysis, *, prompt_tokens: int | None, output_tokens: int | None
    ) -> None:
        """Take in what the engine counted for a finished request, summed over its sequences."""
        if prompt_tokens is not None:
            self._ratio.learn(
                analysis.model,
                text_bytes=analysis.text_bytes,
                tokens=prompt_tokens,
                media=analysis.media,
            )
        if output_tokens is not None and analysis.generates:
            view, each = analysis.view, output_tokens / analysis.view.sequences
            name = analysis.workload.name
            self._history.learn(name, view.prompt_tokens, each, view.session)

    def _size(self, model: str | None, prompt: Prompt) -> tuple[int, float]:
        """Tokens of the whole prompt, at least 1, and of one hashed block of it."""
        if prompt.token_ids:
            return prompt.token_ids, BLOCK_BYTES / TOKEN_ID_BYTES
        ratio = self._ratio.tokens_per_byte(model)
        tokens = prompt.text_bytes * ratio
        if prompt.media:  # the parts' tokens, spread evenly: their stand-ins are a few bytes long
            tokens += self._ratio.media_tokens(model, prompt.media)
            ratio = tokens / prompt.text_bytes
        return round(tokens) or 1, BLOCK_BYTES * ratio

    def _reply(
        self,
        endpoint: Endpoint,
        fields: field.Body,
        headers: Mapping[str, str],
        *,
        workload: str,
        prompt_tokens: int,
    ) -> _Reply:
        """What the client says, or what such replies had; the request's own limit caps both."""
        if not endpoint.generates:
            return _NOTHING
        limit = None
        for name in endpoint.output_limits:
            if fields.get(name) is not None:
                limit = field.whole(fields, name, least=0)
                break
        history = self._history
        most = history.most(workload, prompt_tokens, limit)
        said = hint.output_tokens(headers, self._hints)
        if said is None:
            session = headers.get(SESSION_HEADER)
            expected = history.expected(workload, prompt_tokens, limit, session)
        else:
            expected = float(said if limit is None else max(1, min(said, limit)))
        return _Reply(expected, None if most is None else max(most, expected))


def _endpoint(path: str) -> Endpoint | None:
    return ENDPOINTS.get(path) or ENDPOINTS.get(path.partition("?")[0])


def _choices(fields: field.Body) -> int:
    """Sequences per prompt."""
    return min(field.whole(fields, "n", least=1) or 1, _MOST_CHOICES)


def _seed(model: str | None, fields: field.Body) -> int:
    """Prompts of different models, adapters or salts share no cache, so they share no hash."""
    salt = None if fields.get("cache_salt") is None else field.text(fields, "cache_salt")
    return _hashed(model, salt)


@lru_cache(maxsize=64)
def _hashed(model: str | None, salt: str | None) -> int:
    return int(xxh3_64_intdigest(f"{model or ''}\0{salt or ''}".encode()))


def _asks_usage(fields: field.Body) -> bool:
    options = fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
