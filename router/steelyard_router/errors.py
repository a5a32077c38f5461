"""Every error a client or an operator of the router can meet.

    RouterError
    |- ConfigError              the configuration file; never reaches a client
    `- ClientError              answered as {"error": {"message", "type", "param", "code"}}
       |- BadRequest 400, Unauthorized 401, ModelNotFound 404, RequestTooSlow 408,
       |  BodyTooLarge 413, HeadTooLarge 431, Overloaded 429
       |- UpstreamError 502     the engine's answer could not be had or understood
       |- NoInstance 503        nobody can serve it now
       `- UpstreamTimeout 504

Messages say what to do. They never repeat prompt text.
"""

from typing import ClassVar

import orjson


class RouterError(Exception):
    """Base of all errors of the router."""


class ConfigError(RouterError):
    """The configuration file cannot be used; the message names the file, the line and the field."""


class ClientError(RouterError):
    """An answer other than the engine's own, in the shape OpenAI clients expect."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "internal_error"
    code: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        self.error_code = code or self.code

    def body(self) -> bytes:
        return orjson.dumps(
            {
                "error": {
                    "message": self.message,
                    "type": self.type,
                    "param": self.param,
                    "code": self.error_code,
                }
            }
        )


class BadRequest(ClientError):
    """The request cannot be understood."""

    status, type, code = 400, "invalid_request_error", "bad_request"


class Unauthorized(ClientError):
    """No API key, or one that is not in the file."""

    status, type, code = 401, "invalid_request_error", "invalid_api_key"


class ModelNotFound(ClientError):
    """No endpoint serves the model."""

    status, type, code = 404, "invalid_request_error", "model_not_found"


class RequestTooSlow(ClientError):
    """The client took longer than timeouts.client_head_s over its request."""

    status, type, code = 408, "invalid_request_error", "request_timeout"


class BodyTooLarge(ClientError):
    """Over limits.body_bytes."""

    status, type, code = 413, "invalid_request_error", "request_too_large"


class HeadTooLarge(ClientError):
    """Over limits.head_bytes."""

    status, type, code = 431, "invalid_request_error", "head_too_large"


class Overloaded(ClientError):
    """The queue is full, or the wait in it was too long; carries Retry-After."""

    status, type, code = 429, "rate_limit_error", "overloaded"


class UpstreamError(ClientError):
    """The engine refused, broke off before the first byte, or did not speak HTTP."""

    status, type, code = 502, "upstream_error", "upstream_error"


class NoInstance(ClientError):
    """No endpoint is healthy and ready."""

    status, type, code = 503, "service_unavailable", "no_instance"


class UpstreamTimeout(ClientError):
    """One of the four timeouts ended the wait."""

    status, type, code = 504, "timeout", "timeout"
