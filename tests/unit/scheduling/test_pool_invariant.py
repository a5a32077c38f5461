"""What stays true of a pool whatever happens around it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.known_predictor import Known
from support.pool_case import PRODUCT, Front, instances, shown_width

from steelyard_router.scheduling.order import ORDERS
from steelyard_router.scheduling.precedent import Precedents
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.strategy import MarginalDelay, Strategy
from steelyard_router.scheduling.waiting import NO_LIMIT, Ask, OnTimeout, WaitLimit

CACHE_TOKENS = 2000
NAMES = st.sampled_from("abc")
REQUESTS = st.builds(
    RequestView,
    prompt_tokens=st.integers(1, CACHE_TOKENS * 3 // 2),
    sequences=st.integers(1, 5),
    expected_output_tokens=st.none() | st.floats(1, CACHE_TOKENS),
    priority=st.integers(0, 2),
    tenant=st.none() | st.sampled_from(("one", "two")),
    session=st.none() | st.sampled_from(("long", "short")),
    slo=st.builds(SLO, ttft_s=st.none() | st.floats(0.1, 60)),
)


class Waits(RuleBasedStateMachine):
    """Instances come and go, requests come, end and are given up. After each of it the pool is
    asked, as its owner has to.
    """

    limit = NO_LIMIT
    strategy: Strategy = PRODUCT
    requests = REQUESTS

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = instances({"a": 2, "b": 3}, CACHE_TOKENS, self.predictor())
        self.now = 0.0
        self.waiting: dict[str, tuple[RequestView, frozenset[str] | None, float]] = {}
        self.count = 0

    @initialize(order_name=st.sampled_from(ORDERS))
    def start(self, order_name: str) -> None:
        self.front = Front(
            self.scheduler,
            order_name,
            max_wait_s=self.limit.max_wait_s,
            on_timeout=self.limit.on_timeout,
            strategy=self.strategy,
        )

    def predictor(self) -> Predictor | None:
        return None

    @rule(data=st.data(), among=st.none() | st.frozensets(NAMES))
    def come(self, data: st.DataObject, among: frozenset[str] | None) -> None:
        request = data.draw(self.requests)
        self.count += 1
        key = str(self.count)
        if self.front.offer(key, request, self.now, among=among) is None:
            self.waiting[key] = request, among, self.now
        self._ask()

    @rule(data=st.data(), answered=st.booleans())
    def end(self, data: st.DataObject, answered: bool) -> None:
        if not self.front.leases:
            return
        key = data.draw(st.sampled_from(sorted(self.front.leases)))
        if answered:
            self.front.leases[key].first_byte(self.now)
        self.front.leases.pop(key).release(self.now)
        self._ask()

    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        if not self.waiting:
            return
        key = data.draw(st.sampled_from(sorted(self.waiting)))
        assert self.front.pool.withdraw(key)
        del self.waiting[key]
        self._ask()

    @rule(name=NAMES)
    def join(self, name: str) -> None:
        self.scheduler.join(name, cache_tokens=CACHE_TOKENS)
        self._ask()

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        self.scheduler.leave(name)
        self._ask()

    @rule(name=NAMES, width=st.integers(1, 4))
    def report(self, name: str, width: int) -> None:
        shown_width(self.scheduler, name, width, self.now)
        self._ask()

    @rule(seconds=st.floats(0, 20))
    def tick(self, seconds: float) -> None:
        self.now += seconds
        self._ask()

    def _ask(self) -> None:
        for key in self.front.pool.give_up(self.now):
            *_, since_s = self.waiting.pop(key)
            assert self.now >= since_s + self.limit.longest_s
        for key, name in self.front.release(self.now):
            _, among, _ = self.waiting.pop(key)
            assert among is None or name in among

    @invariant()
    def nobody_is_lost(self) -> None:
        assert len(self.front.pool) == len(self.waiting)

    @invariant()
    def nobody_waits_for_longer_than_anyone_may(self) -> None:
        for *_, since_s in self.waiting.values():
            assert self.now < since_s + self.limit.longest_s

    @invariant()
    def nobody_waits_where_there_is_room_that_is_not_kept(self) -> None:
        """An instance is kept for each that has waited too long, and for nobody else."""
        kept = {one.kept for one in self.front.pool._list.promoted}
        for request, among, _ in self.waiting.values():
            assert self.free_for(request, among) <= kept

    @invariant()
    def what_is_kept_is_kept_for_who_does_not_fit(self) -> None:
        """The one that has waited longest of all that have waited too long never fits."""
        for one in self.front.pool._list.promoted[:1]:
            assert not self.free_for(one.ask.request, one.ask.among)

    def free_for(self, request: RequestView, among: frozenset[str] | None) -> frozenset[str]:
        return self.scheduler.with_room(request, self.front.room, self.now, among=among)


class Promoted(Waits):
    """The same where nobody may wait for long."""

    limit = WaitLimit(15.0)


class Degraded(Waits):
    """Nothing is kept for anyone, and nobody is refused before it has waited twice as long."""

    limit = WaitLimit(15.0, OnTimeout.DEGRADE)


class Rejected(Waits):
    """Nobody waits for longer."""

    limit = WaitLimit(15.0, OnTimeout.REJECT)


class Yields(Waits):
    """Many are near their targets, and others wait so that they meet them."""

    limit = WaitLimit(15.0)
    strategy = MarginalDelay()
    requests = st.builds(
        RequestView,
        prompt_tokens=st.integers(1, CACHE_TOKENS // 8),
        expected_output_tokens=st.floats(1, CACHE_TOKENS // 8),
        priority=st.integers(0, 1),
        slo=st.builds(
            SLO,
            tpot_s=st.none() | st.floats(0.005, 0.03),
            e2e_s=st.none() | st.floats(1, 60),
        ),
    )

    def predictor(self) -> Predictor | None:
        return Known()

    def free_for(self, request: RequestView, among: frozenset[str] | None) -> frozenset[str]:
        """Nowhere, where it is too dear, or one like it that is no longer."""
        for other, others, _ in self.waiting.values():
            made = Precedents()
            made.add(Ask(other, self.strategy, others))
            like_it = made.decide(Ask(request, self.strategy, among))
            if like_it and self._too_dear(other, among):
                return frozenset()
        return super().free_for(request, among)

    def _too_dear(self, request: RequestView, among: frozenset[str] | None) -> bool:
        room = self.front.room
        return self.scheduler.would_wait(request, self.strategy, self.now, room=room, among=among)


SETTINGS = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestWaits = Waits.TestCase
TestWaits.settings = SETTINGS
TestPromoted = Promoted.TestCase
TestPromoted.settings = SETTINGS
TestDegraded = Degraded.TestCase
TestDegraded.settings = SETTINGS
TestRejected = Rejected.TestCase
TestRejected.settings = SETTINGS
TestYields = Yields.TestCase
TestYields.settings = SETTINGS
