"""Which one of several equal processes does a thing: election by a Lease, as client-go does it.

    OTHER --- the Lease is free, or not renewed for its duration ---> HOLDER
    HOLDER -- not renewed in time (API server away) -> SUSPENDED -- renewed --> HOLDER
    HOLDER, SUSPENDED -- somebody else holds it --> OTHER

At most one process is HOLDER at any time: it stops being so HOLD_S after its last renewal was sent,
while others wait for the whole duration from when they saw that renewal. Every write is guarded by
the version that was read, and time is measured on each process's own steady clock, so clocks that
disagree do no harm. kubernetes.aio.leaderelection is not used: it goes by the wall clock, writes
local times, neither gives the Lease back nor knows its owner, and ends when a renewal fails.
"""

import asyncio
import logging
import math
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum

from .client import Kube
from .error import KubeError
from .resource import LEASE, Object

DURATION_S = 15
HOLD_S = 10.0
RENEW_S = 5.0
RETRY_S = 2.0

log = logging.getLogger(__name__)


class Standing(StrEnum):
    """What this process knows about itself."""

    HOLDER = "holder"
    SUSPENDED = "suspended"
    """The last known holder, but not certain of it: do nothing that others may do as well."""
    OTHER = "other"


class Election:
    """One process's part. `owner` is the ownerReference that lets the Lease go with its object; a
    Lease of that name which has another owner is left alone.
    """

    def __init__(
        self,
        kube: Kube,
        namespace: str,
        name: str,
        *,
        identity: str,
        owner: Object | None,
        labels: Mapping[str, str],
        clock: Callable[[], float],
        wall: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self.term = 0
        """Counts the times that the Lease was taken over from somebody else, or from nobody."""
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._owner = owner
        self._labels = labels
        self._clock = clock
        self._wall = wall
        self._rng = rng
        self._mine = False
        self._hold_until = -math.inf
        self._lease: Object | None = None
        """As last seen; of it a renewal is made, without reading it again."""
        self._seen_at = -math.inf
        self._trouble: str | None = None

    @property
    def standing(self) -> Standing:
        if not self._mine:
            return Standing.OTHER
        return Standing.HOLDER if self._clock() < self._hold_until else Standing.SUSPENDED

    @property
    def holder(self) -> bool:
        return self.standing is Standing.HOLDER

    async def run(self) -> None:
        """Never ends by itself. Cancelled, it gives the Lease back."""
        try:
            while True:
                pause_s = await self.step()
                await asyncio.sleep(pause_s)
        finally:
            await self.release()

    async def step(self) -> float:
        """One try to take or renew; the seconds until the next."""
        sent_at = self._clock()
        try:
            async with asyncio.timeout(RENEW_S):
                await self._try(sent_at)
        except (KubeError, TimeoutError) as error:
            if not (isinstance(error, KubeError) and error.conflict):  # else another was faster
                self._report(str(error) or "no answer in time")
            return RETRY_S * self._rng.uniform(0.8, 1.2)
        if self._mine:
            self._report(None)
        return self._pause_s()

    async def release(self) -> None:
        """Lets the next one take over without waiting. Harmless if this process is not the holder;
        if it fails, the others wait for the duration.
        """
        if not self._mine or self._lease is None:
            return
        self._mine = False
        spec = self._lease["spec"] | {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(RENEW_S):
                await self._kube.replace(self._lease | {"spec": spec})
        except (KubeError, TimeoutError) as error:
            log.info("Lease %s was not given back: %s", self._name, error)

    async def _try(self, sent_at: float) -> None:
        if await self._renew(sent_at):
            return
        lease = await self._kube.get(LEASE, self._namespace, self._name)
        if lease is None:
            if self._mine or self._wait_s() <= 0:  # its holder may not know yet that it is gone
                await self._create(sent_at)
            return
        self._see(lease)
        if self._is_foreign(lease):
            self._lose()
            self._report(f"a Lease of another owner has the name {self._name}: rename either")
        elif _holder(lease) == self._identity or self._wait_s() <= 0:
            await self._take(lease, sent_at)
        else:
            self._lose()
            self._report(None)

    async def _renew(self, sent_at: float) -> bool:
        """False: not ours, or written by somebody since it was seen."""
        if not self._mine or self._lease is None:
            return False
        try:
            await self._take(self._lease, sent_at)
        except KubeError as error:
            if error.conflict or error.not_found:
                return False
            raise
        return True

    async def _create(self, sent_at: float) -> None:
        self._lose()
        metadata: Object = {
            "name": self._name,
            "namespace": self._namespace,
            "labels": dict(self._labels),
        }
        if self._owner is not None:
            metadata["ownerReferences"] = [self._owner]
        head: Object = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
        self._won(await self._kube.create(head | {"spec": self._spec({}, taken=True)}), sent_at)

    async def _take(self, lease: Object, sent_at: float) -> None:
        """Take or renew it, if it is still as `lease` says."""
        taken = not self._mine or _holder(lease) != self._identity
        spec = self._spec(lease.get("spec") or {}, taken=taken)
        self._won(await self._kube.replace(lease | {"spec": spec}), sent_at)

    def _won(self, lease: Object, sent_at: float) -> None:
        if not self._mine:
            self.term += 1
            log.info("this replica holds Lease %s", self._name)
        self._mine = True
        self._hold_until = sent_at + HOLD_S
        self._see(lease)

    def _lose(self) -> None:
        if self._mine:
            log.info("this replica does not hold Lease %s any more", self._name)
        self._mine = False

    def _spec(self, before: Object, *, taken: bool) -> Object:
        now = datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        changes = int(before.get("leaseTransitions") or 0)
        if taken:
            before = before | {"acquireTime": now, "leaseTransitions": changes + 1}
        return before | {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_S,
            "renewTime": now,
        }

    def _see(self, lease: Object) -> None:
        if self._lease is None or self._lease.get("spec") != lease.get("spec"):
            self._seen_at = self._clock()
        self._lease = lease

    def _wait_s(self) -> float:
        """Until the Lease that was seen counts as abandoned."""
        if self._lease is None or not _holder(self._lease):
            return 0.0
        duration_s = float(self._lease["spec"].get("leaseDurationSeconds") or DURATION_S)
        return self._seen_at + duration_s - self._clock()

    def _pause_s(self) -> float:
        pause_s = RENEW_S * self._rng.uniform(0.8, 1.0)
        return pause_s if self._mine else min(pause_s, max(self._wait_s(), 0.1))

    def _is_foreign(self, lease: Object) -> bool:
        owners = lease["metadata"].get("ownerReferences") or ()
        return self._owner is not None and self._owner["uid"] not in {ref["uid"] for ref in owners}

    def _report(self, trouble: str | None) -> None:
        """Log the first of a row of troubles, and their end."""
        if (trouble is None) != (self._trouble is None):
            if trouble is None:
                log.info("Lease %s can be used again", self._name)
            else:
                log.warning("Lease %s cannot be used: %s", self._name, trouble)
        self._trouble = trouble


def _holder(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
