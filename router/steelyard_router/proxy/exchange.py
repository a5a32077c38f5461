"""The life of one request: who asks, what it is, where it goes, what came of it.

    authenticate -> analyse -> admit -> (choose + lease -> attempt) until one delivers -> report

Keeps true: choosing an instance and counting the request there is one step without an await; every
lease and ticket is given back in `finally`, so no way out of here can leak one; a retry goes to
another instance, before the first byte only, and within the budget; the outcome is reported exactly
once.
"""

import asyncio
from typing import TYPE_CHECKING

from steelyard_router.analysis.analyzer import Analysis
from steelyard_router.config import Timeouts
from steelyard_router.errors import (
    ClientError,
    NoInstance,
    Overloaded,
    UpstreamError,
    UpstreamTimeout,
)
from steelyard_router.observability.outcome import Outcome
from steelyard_router.proxy.attempt import Attempt, Cause, Ending
from steelyard_router.proxy.message import RequestHead, error_bytes, json_bytes
from steelyard_router.proxy.pool import Pool
from steelyard_router.proxy.roster import Member
from steelyard_router.proxy.runtime import Runtime
from steelyard_router.proxy.upstream import UpstreamConnection
from steelyard_router.scheduling.refusal import AbovePTokenCap, NoCandidate
from steelyard_router.scheduling.scheduler import Decision

if TYPE_CHECKING:
    from steelyard_router.proxy.downstream import ClientConnection

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
        "_request_id",
        "_runtime",
        "_started_s",
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
        self._tried: set[str] = set()
        self._attempts_left = self._active.config.retry.attempts
        self._among: frozenset[str] | None = None
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
            await self._serve()
        except ClientError as error:
            self._refuse(error)
        except asyncio.CancelledError:
            outcome.result = "client_gone"
            raise
        finally:
            self._runtime.observer.finished(outcome, self.time())

    async def _serve(self) -> None:
        runtime = self._runtime
        headers = self._head.named()
        tenant = (
            runtime.keys.tenant(headers.get("authorization")) if runtime.keys is not None else None
        )
        path = self._head.path
        if path == "/v1/models" and self.method == b"GET":
            self._answer(runtime.catalog.body())
            return
        analysis = self._analyse(path, headers, tenant)
        self._among = runtime.catalog.among(analysis.model)
        ticket = runtime.admission.try_enter(analysis.workload)
        if ticket is None:
            ticket = await runtime.admission.enter(analysis.workload)
            self._outcome.queue_s = self.time() - self._started_s
        try:
            runtime.budget.deposit()
            await self._deliver(analysis)
        finally:
            ticket.release()

    def _analyse(self, path: str, headers: dict[str, str], tenant: str | None) -> Analysis:
        analyzer = self._active.analyzer
        if self.method == b"POST" and analyzer.knows(path):
            analysis = analyzer.analyze(path, headers, self._body, tenant=tenant)
        else:
            analysis = analyzer.passthrough(path, headers, tenant=tenant)
        self.streams = analysis.streams
        outcome = self._outcome
        outcome.workload = analysis.workload.name
        outcome.streams = analysis.streams
        outcome.prompt_tokens = analysis.view.prompt_tokens
        return analysis

    # -- attempts ---------------------------------------------------------------------------------

    async def _deliver(self, analysis: Analysis) -> None:
        """Tries instances until one has answered. Raises ClientError when none did."""
        ending = Ending(Cause.CONNECT)
        while True:
            decision = await self._choose(analysis, ending)
            self._attempts_left -= 1
            self._tried.add(decision.instance)
            ending = await self._attempt(analysis, decision)
            if ending.started or ending.cause is Cause.CLIENT:
                return
            if ending.cause is not Cause.STATUS and not self.may_retry(ending.cause):
                raise self._failure(ending)
            self._runtime.observer.retried(ending.cause.value)

    def may_retry(self, cause: Cause) -> bool:
        """Whether to give this try up for another instance. Charges the budget when the answer is
        yes.
        """
        if self._attempts_left <= 0 or not self._others():
            return False
        if cause is Cause.TIMEOUT:
            self._attempts_left = min(self._attempts_left, 1)
        return cause in FREE_RETRIES or self._runtime.budget.withdraw()

    def _others(self) -> bool:
        """Whether another instance could take the request, now or once it has room."""
        among, tried = self._among, self._tried
        return any(
            member.limit > 0
            for member in self._runtime.roster
            if member.id not in tried and (among is None or member.id in among)
        )

    def prefilled(self) -> None:
        """The prompt is computed: requests that wait for Q to fall may look again."""
        self._runtime.admission.room_made()

    async def _choose(self, analysis: Analysis, last: Ending) -> Decision:
        """Picks an instance and takes the lease. Waits while all are full or above the P-token
        cap.
        """
        runtime = self._runtime
        give_up_s = self.time() + self._active.config.limits.queue_wait_s
        waited_from_s = self.time()
        while True:
            now = self.time()
            try:
                decision = runtime.scheduler.choose(
                    analysis.view,
                    self._active.strategies[analysis.workload.name],
                    now,
                    among=self._among,
                    exclude=self._tried,
                    max_p_tokens=analysis.workload.routing.max_p_tokens,
                    explain=runtime.observer.explains,
                )
            except (AbovePTokenCap, NoCandidate) as refusal:
                if self._tried:
                    raise self._failure(last) from refusal
                if isinstance(refusal, NoCandidate) and not self._others():
                    raise NoInstance(
                        "no instance is healthy and ready; try again shortly", retry_after_s=1.0
                    ) from refusal
                if not await runtime.admission.wait_for_room(give_up_s - now):
                    raise runtime.admission.overloaded(
                        "no instance had room for it in time"
                    ) from refusal
                self._outcome.queue_s += self.time() - now
                continue
            self._outcome.overhead_s += self.time() - waited_from_s
            return decision

    async def _attempt(self, analysis: Analysis, decision: Decision) -> Ending:
        """One try on one instance. Gives the lease back, whatever happens."""
        runtime = self._runtime
        begun_s = self.time()
        self._note(analysis, decision, begun_s)
        lease, served = decision.lease, False
        try:
            member = runtime.roster[decision.instance]
            pool = runtime.pools[decision.instance]
            while True:
                attempt = Attempt(
                    self,
                    member=member,
                    lease=lease,
                    now=self.time(),
                    done=asyncio.get_running_loop().create_future(),
                )
                ending = await self._run(attempt, member, pool)
                if ending.cause is not Cause.STALE:
                    break
            served = ending.started
            attempt.scan.finish()
            self._judge(ending, attempt, member, begun_s)
            self._learn(analysis, attempt, decision)
            return ending
        finally:
            lease.release(self.time(), served=served)

    async def _run(self, attempt: Attempt, member: Member, pool: Pool) -> Ending:
        """Sends the request and waits for its end."""
        connection: UpstreamConnection | None = pool.take()
        if connection is None:
            try:
                connection = await pool.connect(self.timeouts.connect_s)
            except TimeoutError:
                return Ending(Cause.CONNECT, f"no connection within {self.timeouts.connect_s:g} s")
            except OSError as error:
                return Ending(Cause.CONNECT, f"connection failed ({error.strerror or error})")
        head = self._head.upstream_bytes(member.authority, len(self._body), self._request_id)
        now = self.time()
        attempt.marks.sent_s = attempt.marks.last_byte_s = now
        if self._outcome.attempts == 1:
            self._outcome.overhead_s = now - self._started_s - self._outcome.queue_s
        running = self._runtime.attempts
        running[attempt] = self._started_s
        try:
            attempt.send(connection, head, self._body)
            ending = await attempt.done
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
        outcome.score = decision.score
        outcome.predicted_hit_tokens = int(decision.hit_tokens)
        observer = self._runtime.observer
        if observer.explains:
            strategy = self._active.strategies[analysis.workload.name].name
            observer.decided(
                self._request_id.decode("latin-1"), analysis.view, decision, now, strategy=strategy
            )

    def _judge(self, ending: Ending, attempt: Attempt, member: Member, begun_s: float) -> None:
        """What the try says about the instance's health. A 4xx says nothing against it."""
        if ending.cause is Cause.CLIENT:
            return
        failed = self._result(ending, attempt) in ("upstream_error", "timeout")
        judge = self._runtime.roster.failed if failed else self._runtime.roster.succeeded
        judge(member, begun=begun_s, now=self.time())

    def _learn(self, analysis: Analysis, attempt: Attempt, decision: Decision) -> None:
        """Fills the outcome; teaches the index, the token ratio and the output history."""
        ending = attempt.done.result() if attempt.done.done() else None
        outcome, scan, marks, now = self._outcome, attempt.scan, attempt.marks, self.time()
        outcome.status = attempt.status
        if ending is None or not ending.started:
            return
        usage = scan.usage
        outcome.output_tokens = scan.output_events
        if usage is not None:
            outcome.output_tokens = usage.output_tokens or 0
            outcome.cached_tokens = usage.cached_tokens
            if usage.prompt_tokens:
                outcome.prompt_tokens = usage.prompt_tokens
            if usage.cached_tokens is not None:
                decision.lease.correct(usage.cached_tokens, prompt_tokens=usage.prompt_tokens)
            self._active.analyzer.learn(
                analysis, prompt_tokens=usage.prompt_tokens, output_tokens=usage.output_tokens
            )
        outcome.result = self._result(ending, attempt)
        if outcome.result != "ok":
            return
        outcome.e2e_s = now - self._started_s
        if self.streams and marks.first_token_s is not None:
            outcome.ttft_s = marks.first_token_s - self._started_s
            if outcome.output_tokens > 1:
                outcome.tpot_s = (marks.last_token_s - marks.first_token_s) / (
                    outcome.output_tokens - 1
                )

    @staticmethod
    def _result(ending: Ending, attempt: Attempt) -> str:
        if ending.cause is Cause.TIMEOUT:
            return "timeout"
        if ending.cause is Cause.CLIENT:
            return "client_gone"
        if ending.cause is not Cause.DELIVERED or attempt.status >= 500 or attempt.scan.aborted:
            return "upstream_error"
        if attempt.status >= 400:
            return "client_error"
        if attempt.scan.error:
            return "client_error" if attempt.scan.clients_fault else "upstream_error"
        return "ok"

    @staticmethod
    def _failure(ending: Ending) -> ClientError:
        if ending.cause is Cause.TIMEOUT:
            return UpstreamTimeout(f"the instance did not answer: {ending.reason}; try again")
        return UpstreamError(f"the instance did not answer: {ending.reason}; try again")

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


RESULTS: dict[type[ClientError], str] = {
    Overloaded: "overloaded",
    NoInstance: "no_instance",
    UpstreamError: "upstream_error",
    UpstreamTimeout: "timeout",
}
