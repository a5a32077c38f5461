"""Active probes: is the process there, and which models does it serve.

One task per member asks for `health.path` every `interval_s`. Probes see dead processes and hosts.
They do not see an engine whose front still answers while its requests hang; that is the breaker's
part.
"""

import random
import time
from collections.abc import Callable

import aiohttp
import orjson

from steelyard_router import config
from steelyard_router.config import Endpoint, EngineType
from steelyard_router.engines.fetch import Answer, fetch
from steelyard_router.engines.rounds import Rounds
from steelyard_router.proxy.roster import Member, ModelCard, Roster

RELEARN_S = 30.0
"""How long a list of models is believed: adapters come and go while an engine runs."""

NOT_FOUND = 404


class Prober:
    """Keeps the roster's `healthy` and `models` in step with what the engines answer."""

    def __init__(
        self,
        roster: Roster,
        settings: config.Health,
        *,
        rng: random.Random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._roster = roster
        self._settings = settings
        self._clock = clock
        self._learned_at: dict[Endpoint, float] = {}
        self._rounds = Rounds(self._probe, interval_s=settings.interval_s, rng=rng)

    def follow(self) -> None:
        """Probe the roster's members of now; to be called after every Roster.apply."""
        endpoints = {member.endpoint: None for member in self._roster}
        self._learned_at = {e: at for e, at in self._learned_at.items() if e in endpoints}
        self._rounds.follow(endpoints)

    def update(self, settings: config.Health) -> None:
        """Put new settings in force, from each member's next probe on."""
        self._settings = settings
        self._rounds.interval_s = settings.interval_s

    async def close(self) -> None:
        await self._rounds.close()

    async def _probe(self, endpoint: Endpoint, session: aiohttp.ClientSession) -> None:
        base, timeout_s = endpoint.url.rstrip("/"), self._settings.timeout_s
        path = self._settings.path.lstrip("/")
        answer = await fetch(session, f"{base}/{path}", timeout_s=timeout_s)
        member = self._roster.get(endpoint.id)
        if member is None:
            return
        ok = answer is not None and _is_healthy(answer, endpoint.engine)
        self._roster.probed(member, ok=ok, now=self._clock())
        if ok and self._should_learn(endpoint):
            await self._learn(member, session, base)

    def _should_learn(self, endpoint: Endpoint) -> bool:
        if endpoint.models is not None:
            return False
        learned_at = self._learned_at.get(endpoint)
        return learned_at is None or self._clock() - learned_at >= RELEARN_S

    async def _learn(self, member: Member, session: aiohttp.ClientSession, base: str) -> None:
        answer = await fetch(session, f"{base}/v1/models", timeout_s=self._settings.timeout_s)
        if answer is not None and answer.ok and (cards := _cards(answer.body)):
            self._roster.learned(member, cards)
            self._learned_at[member.endpoint] = self._clock()


def _is_healthy(answer: Answer, engine: EngineType) -> bool:
    """2xx. A server that is not one of our engines may have no health path: 404 shows it is
    alive.
    """
    return answer.ok or (engine is EngineType.EXTERNAL and answer.status == NOT_FOUND)


def _cards(body: bytes) -> tuple[ModelCard, ...]:
    """The entries of GET /v1/models that have an id; () when it is nothing of the kind."""
    try:
        listing = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ()
    entries = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(entries, list):
        return ()
    return tuple(
        card for card in entries if isinstance(card, dict) and isinstance(card.get("id"), str)
    )
