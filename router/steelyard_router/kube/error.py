"""What can go wrong between us and the API server."""

import orjson

from steelyard_router.errors import RouterError

UNREACHABLE = 0

_MISSHAPEN = ("failed to create typed patch object", "unable to convert unstructured object")
"""How a server-side apply words a field that is unknown or of another type, under a mere 500."""


class KubeError(RouterError):
    """An answer other than success, or no answer (`status` 0).

    `reason` is Kubernetes' word (NotFound, Invalid, ...), `message` the server's own sentence.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{message} ({status} {reason})" if status else message)
        self.status = status
        self.reason = reason
        self.message = message

    @classmethod
    def from_answer(cls, status: int, body: bytes) -> "KubeError":
        """Out of a Status object, or of whatever a proxy in between had to say."""
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if isinstance(answer, dict):
            reason, message = str(answer.get("reason") or "Unknown"), str(answer.get("message", ""))
            code = int(answer.get("code") or status)
            if code == 500 and any(words in message for words in _MISSHAPEN):
                return cls(422, "Invalid", message)
            return cls(code, reason, message)
        return cls(status, "Unknown", body[:300].decode(errors="replace"))

    @property
    def unreachable(self) -> bool:
        return self.status == UNREACHABLE

    @property
    def not_found(self) -> bool:
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """409: somebody wrote in between, or (AlreadyExists) was first."""
        return self.status == 409

    @property
    def invalid(self) -> bool:
        """The object itself is refused: trying again with the same one is of no use."""
        return self.status in {400, 422}

    @property
    def forbidden(self) -> bool:
        return self.status in {401, 403}

    @property
    def gone(self) -> bool:
        """A watch's resourceVersion is too old: list again."""
        return self.status == 410
