"""Makes children as the plan wants them, by server-side apply, and repairs what others changed.

A child is left alone while what we applied last is still there, word for word (same uid and
resourceVersion) and the plan still says the same: a steady state sends nothing. Otherwise it is
applied, which writes nothing where nothing differs. One child's refusal never keeps the others from
being applied. Every write names the uid it was meant for, so that a child that was replaced in
between is not touched.

What was applied is remembered for speed alone: an operator that knows nothing applies everything.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import CONFIG_MAP, Object, of

from .feud import Feuds
from .key import child_key

MANAGER = "steelyard"
FEUD = (
    "somebody else keeps changing it back: look for a second operator, or for another tool that "
    "writes it (kubectl get -o yaml --show-managed-fields)"
)

ChildKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a child was after our last apply, and what was asked for."""

    uid: str
    version: str
    asked: str


@dataclass(slots=True)
class Outcome:
    """What became of one round. `live` is what is there now, as far as it is known."""

    live: dict[ChildKey, Object]
    errors: dict[ChildKey, KubeError] = field(default_factory=dict)
    corrected: list[tuple[str, str, str]] = field(default_factory=list)
    """Children that others had changed or deleted: kind, name, resourceVersions of the repair."""
    changed: set[ChildKey] = field(default_factory=set)
    """Children that are not as they were before this round."""


class Applier:
    """Remembers, for each owner (a service's uid), what it applied."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._stamps: dict[str, dict[ChildKey, Stamp]] = {}
        self._feuds: dict[str, Feuds] = {}
        """Only of owners whose children were changed by others."""

    def forget(self, owners: Iterable[str]) -> None:
        for owner in owners:
            self._stamps.pop(owner, None)
            self._feuds.pop(owner, None)

    async def apply(
        self,
        owner: str,
        desired: Sequence[Object],
        live: Mapping[ChildKey, Object],
        obsolete: Sequence[Object],
        keep: Iterable[ChildKey] = (),
    ) -> Outcome:
        """Applies `desired` in its order but for `keep`, and deletes `obsolete`.

        What is obsolete and desired at once is in the way of its successor and goes first.
        """
        outcome = Outcome(dict(live))
        wanted = {child_key(item) for item in desired}
        for item in (item for item in obsolete if child_key(item) in wanted):
            await self._delete(owner, item, outcome)
        left_alone = set(keep)
        for item in (item for item in desired if child_key(item) not in left_alone):
            await self._apply(owner, item, outcome)
        for item in (item for item in obsolete if child_key(item) not in wanted):
            await self._delete(owner, item, outcome)
        return outcome

    async def _apply(self, owner: str, desired: Object, outcome: Outcome) -> None:
        key = child_key(desired)
        live = outcome.live.get(key)
        last = self._stamps.get(owner, {}).get(key)
        asked = _digest(desired)
        if live is not None and (_ends(live) or last == _stamp(live, asked)):
            return  # what ends is made anew when it is gone: its deletion is an event
        same_wish = last is not None and last.asked == asked
        if same_wish and owner in self._feuds and self._feuds[owner].hopeless(key):
            outcome.errors[key] = KubeError(409, "Conflict", FEUD)
            return
        try:
            result = await self._kube.apply(_aimed(desired, live), manager=MANAGER)
            if strays := _strays(desired, result):
                result = await self._without(result, strays)
        except KubeError as error:
            outcome.errors[key] = _replaced(error) or error
            return
        self._stamps.setdefault(owner, {})[key] = _stamp(result, asked)
        outcome.live[key] = result
        if live is not None and _version(live) == _version(result):
            return
        if same_wish and live is not None and not (strays or differ(live, result, desired)):
            return  # its status was written between our reading and our apply
        outcome.changed.add(key)
        if same_wish:
            self._feuds.setdefault(owner, Feuds(self._clock)).repaired(key)
            before = "deleted" if live is None else _version(live)
            outcome.corrected.append((*key, f"{before}..{_version(result)}"))

    async def _without(self, item: Object, keys: Iterable[str]) -> Object:
        """An apply takes away only what was applied before."""
        metadata = item["metadata"]
        patch = {
            "metadata": {"resourceVersion": _version(item)},
            "data": dict.fromkeys(keys),
        }
        return await self._kube.merge(of(item), metadata["namespace"], metadata["name"], patch)

    async def _delete(self, owner: str, item: Object, outcome: Outcome) -> None:
        key, metadata = child_key(item), item["metadata"]
        if _ends(item):
            return
        try:
            await self._kube.delete(
                of(item), metadata["namespace"], metadata["name"], uid=metadata["uid"]
            )
        except KubeError as error:
            if not error.conflict:  # conflict: it is another object by now; the next round sees it
                outcome.errors[key] = error
            return
        self._stamps.get(owner, {}).pop(key, None)
        outcome.live.pop(key, None)
        outcome.changed.add(key)


def differ(before: object, after: object, asked: object) -> bool:
    """Whether two states of an object differ in anything that is asked for."""
    if not isinstance(asked, dict):
        return before != after
    if not isinstance(before, dict) or not isinstance(after, dict):
        return True
    return any(differ(before.get(key), after.get(key), part) for key, part in asked.items())


def _strays(desired: Object, result: Object) -> frozenset[str]:
    """Files that others put into a ConfigMap. A router reads all that are there, so one more can
    keep the next one from starting.
    """
    if desired["kind"] != CONFIG_MAP.kind:
        return frozenset()
    return frozenset(result.get("data") or ()) - frozenset(desired["data"])


def _aimed(desired: Object, live: Object | None) -> Object:
    """`desired`, to be refused if the object that is there is not the one that was seen."""
    if live is None:
        return desired
    return desired | {"metadata": desired["metadata"] | {"uid": live["metadata"]["uid"]}}


def _replaced(error: KubeError) -> KubeError | None:
    """Our uid is not that of the object any more: a conflict, whatever the server calls it."""
    if not (error.invalid and "metadata.uid: Invalid value" in error.message):
        return None
    return KubeError(409, "Conflict", f"it was replaced in between: {error.message}")


def _stamp(item: Object, asked: str) -> Stamp:
    return Stamp(item["metadata"]["uid"], _version(item), asked)


def _version(item: Object) -> str:
    return str(item["metadata"]["resourceVersion"])


def _ends(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]


def _digest(item: Object) -> str:
    text = json.dumps(item, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
