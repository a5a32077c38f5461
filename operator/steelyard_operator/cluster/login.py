"""How kopf gets to the API server: with the credentials that the operator's own client has.

The sessions are made here and closed here, because kopf leaves some open when a watch kills it.
"""

from datetime import UTC, datetime, timedelta

import aiohttp
import kopf
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject

from steelyard_router.kube.credential import configuration

LOGIN_S = 600.0
"""kopf asks again when that is over. A service account's token lives an hour, and is renewed
before its end; kopf by itself would notice only when the old one is refused."""


class Login:
    """`log_in` is the handler, for one life of kopf. Close it after that."""

    def __init__(self, kubeconfig: str | None) -> None:
        self._kubeconfig = kubeconfig
        self._sessions: list[aiohttp.ClientSession] = []

    async def log_in(self, **_: object) -> kopf.AiohttpSession:
        found, _namespace = await configuration(self._kubeconfig)
        self._sessions = [session for session in self._sessions if not session.closed]
        session = await _session(found)
        self._sessions.append(session)
        return kopf.AiohttpSession(
            server=found.host,
            aiohttp_session=session,
            expiration=datetime.now(UTC) + timedelta(seconds=LOGIN_S),
        )

    async def close(self) -> None:
        for session in self._sessions:
            await session.close()


async def _session(found: Configuration) -> aiohttp.ClientSession:
    """As kubernetes.aio connects, but without a limit: each watch holds a connection."""
    token = await found.get_api_key_with_prefix("BearerToken", "authorization")
    basic = found.get_basic_auth_token() if found.username else None
    headers = {"User-Agent": "steelyard-operator (kopf)"}
    if authorization := token or basic:
        headers["Authorization"] = authorization
    context = RESTClientObject(found).ssl_context
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=context), headers=headers, proxy=found.proxy
    )
