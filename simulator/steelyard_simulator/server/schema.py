"""Request bodies: the fields that matter here, with the types OpenAI's clients send. Others are
ignored."""

from typing import Annotated, Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.fault import describe, first_field

Tokens = Annotated[int, Field(ge=1)]
Choices = Annotated[int, Field(ge=1, le=128)]
Text = StrictStr | list[StrictInt]
Texts = Annotated[
    StrictStr | list[StrictInt] | list[StrictStr] | list[list[StrictInt]],
    Field(union_mode="left_to_right"),
]


BodyT = TypeVar("BodyT", bound="Body")


class Body(BaseModel):
    """What every request may carry."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str | None = None
    """Absent: the served one."""
    priority: int = 0


class StreamOptions(BaseModel):
    """OpenAI's stream_options."""

    include_usage: bool = False


class GenerationBody(Body):
    """Chat and completions alike."""

    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Choices = 1
    max_tokens: Tokens | None = None
    ignore_eos: bool = False
    cache_salt: str | None = None

    @property
    def include_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class ChatBody(GenerationBody):
    """POST /v1/chat/completions."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    tools: list[Any] | None = None
    max_completion_tokens: Tokens | None = None


class CompletionBody(GenerationBody):
    """POST /v1/completions: one prompt or several, as text or as token ids."""

    prompt: Texts


class ResponsesBody(Body):
    """POST /v1/responses."""

    input: str | list[dict[str, Any]]
    instructions: str | None = None
    stream: bool = False
    max_output_tokens: Tokens | None = None
    tools: list[Any] | None = None
    cache_salt: str | None = None
    previous_response_id: str | None = None


class EmbeddingBody(Body):
    """POST /v1/embeddings."""

    input: Texts
    encoding_format: Annotated[str, Field(pattern="^(float|base64)$")] = "float"
    dimensions: Annotated[int, Field(ge=1, le=8192)] = 64


class RerankBody(Body):
    """POST /v1/rerank."""

    query: str
    documents: Annotated[list[str], Field(min_length=1)]
    top_n: Annotated[int, Field(ge=0)] = 0
    """0: all of them."""


class ScoreBody(Body):
    """POST /v1/score: one text against each of others, or pairs."""

    text_1: str | list[str]
    text_2: str | list[str]


class TokenizeBody(Body):
    """POST /tokenize: exactly one of prompt and messages."""

    prompt: Text | None = None
    messages: list[dict[str, Any]] | None = None
    tools: list[Any] | None = None


async def read(request: web.Request, kind: type[BodyT]) -> BodyT:
    """The parsed body. BadRequest names the fields that are missing or wrong, never their
    content."""
    body = await request.read()
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise BadRequest(describe(error), param=first_field(error)) from None
