"""Errors as vLLM words them.

ApiError
|- BadRequest 400, ModelNotFound 404
|- EngineDead 500           also inside a stream whose head has gone out
`- QueueFull 503, Draining 503
"""

from typing import Any, ClassVar

import orjson


class ApiError(Exception):
    """Answered as {"error": {"message", "type", "param", "code"}}, where code is the status."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "InternalServerError"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param

    def body(self) -> bytes:
        return orjson.dumps(error_object(self.status, self.type, self.message, self.param))


class BadRequest(ApiError):
    """The request cannot be understood or can never be served."""

    status, type = 400, "BadRequestError"


class ModelNotFound(ApiError):
    """Another model is served here."""

    status, type = 404, "NotFoundError"


class EngineDead(ApiError):
    """A fault that was asked for."""

    status, type = 500, "InternalServerError"


class QueueFull(ApiError):
    """More than max_waiting requests wait."""

    status, type = 503, "Service Unavailable"


class Draining(ApiError):
    """The server is about to stop and takes nothing new."""

    status, type = 503, "Service Unavailable"


def error_object(status: int, kind: str, message: str, param: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
