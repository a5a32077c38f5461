"""The life of one request: who asks, what it is, where it goes, what came of it.

    authenticate -> analyse -> admit -> (choose + lease -> attempt) until one delivers -> report

Keeps true: choosing an instance and counting the request there is one step without an await; every
lease and ticket is given back in `finally`, so no way out of here can leak one; a retry goes to
another instance, before the first byte only, and within the budget; the outcome is reported exactly
once.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from steelyard_router.analysis.analyzer import Analysis
from steelyard_router.config import EnginePriority, Timeouts
from steelyard_router.errors import (
    ClientError,
    NoInstance,
    Overloaded,
    UpstreamError,
    UpstreamTimeout,
)
from steelyard_router.observability.outcome import Outcome
from steelyard_router.proxy import rank
from steelyard_router.proxy.attempt import Attempt, Cause, Ending
from steelyard_router.proxy.message import RequestHead, error_bytes, json_bytes
from steelyard_router.proxy.pool import Pool
from steelyard_router.proxy.roster import Member
from steelyard_router.proxy.runtime import Runtime
from steelyard_router.proxy.verdict import AGAINST_INSTANCE, fill, result_of
from steelyard_router.scheduling.refusal import PlacementError
from steelyard_router.scheduling.scheduler import Decision
from steelyard_router.scheduling.trial import Trial
from steelyard_router.scheduling.waiting import Ask

if TYPE_CHECKING:
    from steelyard_router.proxy.downstream import ClientConnection

REQUEST_ID_LENGTH = 128
ONE_MORE = frozenset({Cause.TIMEOUT, Cause.CLOSED})
"""Causes that the request itself may be behind: it gets one more instance, not all of them."""
FREE_RETRIES = frozenset({Cause.CONNECT, Cause.CLOSED})
"""Causes that overload does not produce: their retries need no budget, only attempts."""


class Exchange:
    """One request on one client connection."""

    __slots__ = (
        "_active",
        "_among",
        "_attempts_left",
        "_body",
        "_head",
        "_outcome",
        "_rank",
        "_request_id",
        "_runtime",
        "_started_s",
        "_trial",
        "_tried",
        "client",
        "http11",
        "method",
        "streams",
        "time",
        "timeouts",
    )

    def __init__(
        self,
        runtime: Runtime,
        client: "ClientConnection",
        head: RequestHead,
        body: bytes,
        request_id: bytes,
    ) -> None:
        self._runtime = runtime
        self._active = runtime.active
        self._head = head
        self._body = body
        self._request_id = request_id
        self._outcome = Outcome()
        self._trial: Trial | None = None
        self._tried: set[str] = set()
        self._attempts_left = self._active.config.retry.attempts
        self._among: frozenset[str] | None = None
        self._rank = b""
        self.client = client
        self.time = runtime.time
        self._started_s = runtime.time()
        self.timeouts: Timeouts = self._active.config.timeouts
        self.method = head.method
        self.http11 = head.version != "1.0"
        self.streams = False

    async def serve(self) -> None:
        """Answers the request, whatever happens."""
        outcome = self._outcome
        try:
            if (analysis := self._analyse()) is not None:
                await self._admit(analysis)
        except ClientError as error:
            self._refuse(error)
        except asyncio.CancelledError:
            outcome.result = "client_gone"
            raise
        finally:
            self._runtime.observer.finished(outcome, self.time())

    def _analyse(self) -> Analysis | None:
        """What the request is; None when it is answered already."""
        runtime, head, analyzer = self._runtime, self._head, self._active.analyzer
        headers = head.named()
        given_id = headers.get("x-request-id", "")
        if 0 < len(given_id) <= REQUEST_ID_LENGTH and given_id.isascii() and given_id.isprintable():
            self._request_id = given_id.encode()
        tenant = None
        if runtime.keys is not None:
            tenant = runtime.keys.tenant(headers.get("authorization"))
        path = head.path
        if self.method == b"POST" and analyzer.knows(path):
            analysis = analyzer.analyze(path, headers, self._body, tenant=tenant)
        elif self.method == b"GET" and path == "/v1/models":
            self._answer(runtime.catalog.body())
            return None
        else:
            analysis = analyzer.passthrough(path, headers, tenant=tenant)
        self.streams = analysis.streams
        outcome = self._outcome
        outcome.workload = analysis.workload.name
        outcome.streams = analysis.streams
        outcome.prompt_tokens = analysis.view.prompt_tokens
        if (recorder := runtime.observer.recorder).readings:
            outcome.asked = recorder.asked(analysis, self._started_s)
        if (shadow := self._active.shadow) is not None:
            self._trial = shadow.trial(path, headers, analysis)
            outcome.trial_workload = self._trial.request.workload
        return analysis

    async def _admit(self, analysis: Analysis) -> None:
        """Tries instances, once there is room, until one has answered. Raises ClientError if
        none.
        """
        runtime = self._runtime
        self._among = runtime.catalog.among(analysis.model)
        if self._active.config.policy.scheduler.engine_priority is EnginePriority.HEADER:
            arrived_s = runtime.wall() - (self.time() - self._started_s)
            self._rank = rank.line(analysis.view, 1000 * arrived_s)
        ticket = runtime.admission.try_enter(analysis.workload)
        if ticket is None:
            ticket = await runtime.admission.enter(analysis.workload)
            self._outcome.queue_s = self.time() - self._started_s
        try:
            runtime.budget.deposit()
            ending = None
            while ending is None or not ending.started:
                decision = await self._place(analysis, ending)
                self._attempts_left -= 1
                self._tried.add(decision.instance)
                ending = await self._attempt(analysis, decision)
                if ending.cause is Cause.CLIENT or ending.started:
                    return
                if ending.cause is not Cause.STATUS and not self.may_retry(ending.cause):
                    raise _failure(ending)
                runtime.observer.retried(ending.cause.value)
        finally:
            ticket.release()

    # -- choosing ---------------------------------------------------------------------------------

    def may_retry(self, cause: Cause) -> bool:
        """Whether to give this try up for another instance. Charges the budget when the answer is
        yes.
        """
        if self._attempts_left <= 0 or not self._runtime.roster.reaches(self._among, self._tried):
            return False
        if cause in ONE_MORE:
            self._attempts_left = min(self._attempts_left, 1)
        return cause in FREE_RETRIES or self._runtime.budget.withdraw()

    def prefilled(self) -> None:
        """The prompt is computed: requests that wait for Q to fall may look again."""
        self._runtime.line.stir()

    async def _place(self, analysis: Analysis, last: Ending | None) -> Decision:
        """Picks an instance and takes the lease, once one has room. A request that was tried
        already has waited for that, and goes at once or not at all.
        """
        runtime, rules, name = self._runtime, self._active.rules, analysis.workload.name
        ask = Ask(
            analysis.view,
            rules.strategies[name],
            among=self._among,
            exclude=self._tried,
            max_p_tokens=rules.p_caps[name],
            explain=runtime.observer.explains,
            trial=None if self._tried else self._trial,
        )
        began_s = self.time()
        if last is None:
            among = partial(runtime.catalog.among, analysis.model)
            decision = await runtime.line.place(ask, rules.wait_limits[name], among)
            self._among = ask.among
            self._outcome.queue_s += self.time() - began_s
            return decision
        try:
            return ask.place(runtime.scheduler, began_s)
        except PlacementError as refusal:
            raise _failure(last) from refusal

    # -- attempts ---------------------------------------------------------------------------------

    async def _attempt(self, analysis: Analysis, decision: Decision) -> Ending:
        """One try on one instance. Gives the lease back, whatever happens."""
        runtime, lease, served = self._runtime, decision.lease, False
        begun_s = self.time()
        self._note(analysis, decision, begun_s)
        try:
            member = runtime.roster[decision.instance]
            pool = runtime.pools[decision.instance]
            while True:
                attempt = Attempt(self, member=member, lease=lease, now=begun_s)
                ending = await self._run(attempt, member, pool)
                if ending.cause is not Cause.STALE:
                    break
            served = ending.started
            self._conclude(analysis, attempt, ending, decision)
            if ending.cause is not Cause.CLIENT:
                failed = self._outcome.result in AGAINST_INSTANCE
                judge = runtime.roster.failed if failed else runtime.roster.succeeded
                judge(member, begun=begun_s, now=self.time())
            return ending
        finally:
            lease.release(self.time(), served=served)
            runtime.line.stir()

    async def _run(self, attempt: Attempt, member: Member, pool: Pool) -> Ending:
        """Sends the request and waits for its end."""
        connection = pool.take()
        if connection is None:
            try:
                connection = await pool.connect(self.timeouts.connect_s)
            except TimeoutError:
                return Ending(Cause.CONNECT, f"no connection within {self.timeouts.connect_s:g} s")
            except OSError as error:
                return Ending(Cause.CONNECT, f"connection failed ({error.strerror or error})")
        outcome, running = self._outcome, self._runtime.attempts
        head = self._head.upstream_bytes(
            member.authority, len(self._body), self._request_id, self._rank
        )
        now = self.time()
        if outcome.attempts == 1:
            outcome.overhead_s = now - self._started_s - outcome.queue_s
        running[attempt] = self._started_s
        try:
            ending = await attempt.send(connection, head, self._body, now)
        except asyncio.CancelledError:
            attempt.cancel()
            raise
        finally:
            del running[attempt]
        if ending.cause is Cause.DELIVERED:
            pool.give_back(connection)
        return ending

    # -- what came of it --------------------------------------------------------------------------

    def _note(self, analysis: Analysis, decision: Decision, now: float) -> None:
        outcome = self._outcome
        outcome.instance = decision.instance
        outcome.attempts += 1
        if self._trial is not None and outcome.attempts == 1:
            outcome.trial_agrees = decision.trial == decision.instance
        outcome.score = decision.score
        outcome.predicted_hit_tokens = int(decision.hit_tokens)
        outcome.placed_s = now - self._started_s
        outcome.predicted_ttft_s, outcome.predicted_tpot_s = decision.ttft_s, decision.tpot_s
        observer = self._runtime.observer
        if observer.explains:
            observer.decided(self._request_id.decode("latin-1"), analysis.view, decision, now)

    def _conclude(
        self, analysis: Analysis, attempt: Attempt, ending: Ending, decision: Decision
    ) -> None:
        """Fills the outcome; teaches the index, the token ratio and the output history."""
        outcome, scan = self._outcome, attempt.scan
        outcome.status = attempt.status
        if scan is not None:
            scan.finish()
        outcome.result = result_of(ending, attempt)
        if scan is None or not ending.started:
            return
        fill(outcome, attempt, started_s=self._started_s, now=self.time())
        if (usage := scan.usage) is not None:
            if usage.cached_tokens is not None:
                decision.lease.correct(usage.cached_tokens, prompt_tokens=usage.prompt_tokens)
            self._active.analyzer.learn(
                analysis, prompt_tokens=usage.prompt_tokens, output_tokens=usage.output_tokens
            )
        elif outcome.streams and outcome.result == "ok":  # its events stand for its tokens
            self._active.analyzer.learn(
                analysis, prompt_tokens=None, output_tokens=outcome.output_tokens
            )

    # -- answers of our own -----------------------------------------------------------------------

    def added_headers(self, member: Member) -> bytes:
        """Our own lines in a response head."""
        line = b"X-Request-Id: %s\r\n" % self._request_id
        if self._active.config.debug.instance_header:
            line += b"X-Steelyard-Instance: %s\r\n" % member.id.encode()
        return line

    def _answer(self, body: bytes) -> None:
        self._outcome.status = 200
        self.client.answer(
            json_bytes(body, close=not self.client.keep_alive, request_id=self._request_id)
        )

    def _refuse(self, error: ClientError) -> None:
        outcome = self._outcome
        outcome.status = error.status
        outcome.result = RESULTS.get(type(error), "client_error")
        if self.client.started:
            self.client.abort()
        else:
            self.client.answer(
                error_bytes(error, close=not self.client.keep_alive, request_id=self._request_id)
            )


def _failure(ending: Ending) -> ClientError:
    if ending.cause is Cause.TIMEOUT:
        return UpstreamTimeout(f"the instance did not answer: {ending.reason}; try again")
    return UpstreamError(f"the instance did not answer: {ending.reason}; try again")


RESULTS: dict[type[ClientError], str] = {
    Overloaded: "overloaded",
    NoInstance: "no_instance",
    UpstreamError: "upstream_error",
    UpstreamTimeout: "timeout",
}
