"""Tokens per byte of prompt, learned from the engines' usage reports: a tokenizer's stand-in.

Nothing in the request path tokenizes. Four bytes count as a token until an engine has said how many
tokens a prompt had; from then on each model has its own ratio. The ratio is one mean over another
(tokens over bytes), so long prompts weigh more and the fixed tokens of a chat template, which make
short prompts look dense, do not bias it. A report is limited to a factor of two around what is
known, so one absurd report moves little while a true change is followed within a few dozen.
"""

from dataclasses import dataclass, field

from steelyard_router.analysis.media import Media

PRIOR = 0.25
LOWEST, HIGHEST = 1 / 64, 2.0
MEDIA_PRIOR = {"image": 1000.0, "audio": 500.0, "video": 4000.0, "file": 2000.0}
MEDIA_LIMIT = 200_000.0

_MEMORY = 64
"""Reports over which the means reach back."""
_SAMPLE_BYTES = 65536
"""A longer prompt weighs no more than this, so one giant does not erase the rest."""
_MODELS = 1024
"""Further models keep the priors: names come from clients."""


@dataclass(slots=True)
class _Learned:
    tokens: float = PRIOR
    bytes: float = 1.0
    reports: int = 0
    media: dict[str, float] = field(default_factory=dict)
    ratio: float = PRIOR
    """tokens / bytes within its bounds: kept, as it is read more often than it changes."""


class TokenRatio:
    """Learned per model; unknown models and kinds of media answer with the priors."""

    def __init__(self) -> None:
        self._models: dict[str | None, _Learned] = {}
        self._unknown = _Learned()

    def tokens_per_byte(self, model: str | None) -> float:
        return self._models.get(model, self._unknown).ratio

    def media_tokens(self, model: str | None, media: Media) -> float:
        """Tokens that all parts of `media` stand for together."""
        learned = self._models.get(model, self._unknown).media
        return sum(parts * learned.get(kind, MEDIA_PRIOR[kind]) for kind, parts in media)

    def learn(self, model: str | None, *, text_bytes: int, tokens: int, media: Media = ()) -> None:
        """Take in one usage report. Several kinds of media in one prompt teach nothing."""
        if text_bytes <= 0 or tokens <= 0 or len(media) > 1:
            return
        learned = self._models.get(model)
        if learned is None:
            if len(self._models) >= _MODELS:
                return
            learned = self._models[model] = _Learned()
        if media:
            _learn_media(learned, text_bytes, tokens, *media[0])
        else:
            _learn_text(learned, text_bytes, tokens)


def _learn_text(learned: _Learned, text_bytes: int, tokens: int) -> None:
    known = learned.ratio
    ratio = min(max(tokens / text_bytes, known / 2), known * 2)
    size = min(text_bytes, _SAMPLE_BYTES)
    if learned.reports == 0:  # the prior counts like one report of this size
        learned.tokens, learned.bytes = known * size, float(size)
    if learned.reports < _MEMORY - 1:
        learned.reports += 1
    share = 1 / (learned.reports + 1)
    learned.tokens += (ratio * size - learned.tokens) * share
    learned.bytes += (size - learned.bytes) * share
    learned.ratio = min(max(learned.tokens / learned.bytes, LOWEST), HIGHEST)


def _learn_media(learned: _Learned, text_bytes: int, tokens: int, kind: str, parts: int) -> None:
    """What the text does not explain is the parts' share."""
    each = (tokens - learned.ratio * text_bytes) / parts
    known = learned.media.get(kind, MEDIA_PRIOR[kind])
    each = min(max(each, known / 4, 1.0), known * 4, MEDIA_LIMIT)
    learned.media[kind] = known + (each - known) / 8
