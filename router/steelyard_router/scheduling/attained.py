"""How much each session has been given so far, in tokens, for orders that look at whole programs.

A program (an agent, a chat) is many requests that follow each other under one session id. The
sessions that were used least lately are forgotten first.
"""

from collections import OrderedDict
from typing import Final

KEPT: Final = 8192


class Attained:
    """Tokens by session."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, float] = OrderedDict()

    def of(self, session: str | None) -> float:
        return 0.0 if session is None else self._tokens.get(session, 0.0)

    def add(self, session: str | None, tokens: float) -> None:
        if session is None:
            return
        self._tokens[session] = self._tokens.pop(session, 0.0) + tokens
        if len(self._tokens) > KEPT:
            self._tokens.popitem(last=False)
