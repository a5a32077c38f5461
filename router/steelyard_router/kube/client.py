"""One small asynchronous client for plain objects, on kubernetes.aio's transport and credentials.

The library finds the server and renews the token (in a pod the file is read again each minute) and
speaks TLS; this module adds only the calls that Steelyard makes, so that the rights it needs can be
read off one page. Every call has a timeout; every failure is a KubeError.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import orjson
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject

from .credential import configuration
from .error import UNREACHABLE, KubeError
from .resource import Object, Resource, of

PAGE = 500
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
IDLE_S = 60.0
"""A watch without a line for that long beyond its own end is dead: bookmarks come each minute."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects at one moment. `version` is where a watch goes on."""

    items: tuple[Object, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a watch: ADDED, MODIFIED, DELETED, or BOOKMARK (only a version)."""

    type: str
    object: Object

    @property
    def version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])


class Kube:
    """Open connections to one API server. Close it."""

    def __init__(
        self,
        settings: Configuration,
        *,
        user_agent: str,
        namespace: str | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self.namespace = namespace
        """Of the service account, when this process runs in a pod."""
        self._settings = settings
        self._rest = RESTClientObject(settings)
        self._user_agent = user_agent
        self._timeout_s = timeout_s

    @classmethod
    async def connect(
        cls, *, user_agent: str, kubeconfig: str | None = None, timeout_s: float = 10.0
    ) -> Self:
        """In a pod by its service account, elsewhere by a kubeconfig file (given, or KUBECONFIG).

        Makes no request. KubeError says which credentials are missing.
        """
        found, namespace = await configuration(kubeconfig)
        return cls(found, user_agent=user_agent, namespace=namespace, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._rest.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- reading ----------------------------------------------------------------------------------

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """None if there is no such object."""
        try:
            return await self._call("GET", resource.path(namespace, name))
        except KubeError as error:
            if error.not_found:
                return None
            raise

    async def served(self, group: str, version: str) -> frozenset[str]:
        """The plurals of the kinds that the server knows in an API group; none if it has none."""
        try:
            found = await self._call("GET", f"/apis/{group}/{version}")
        except KubeError as error:
            if error.not_found:
                return frozenset()
            raise
        return frozenset(item["name"] for item in found.get("resources") or ())

    async def list(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        """All of a kind in a namespace (None: in all), read in pages."""
        items: list[Object] = []
        query = _query(labelSelector=labels, fieldSelector=fields, limit=PAGE)
        while True:
            page = await self._call("GET", resource.path(namespace), query=query)
            for item in page.get("items") or ():
                item.setdefault("apiVersion", resource.api_version)  # lists leave both out
                item.setdefault("kind", resource.kind)
                items.append(item)
            metadata = page["metadata"]
            if not metadata.get("continue"):
                return Listing(tuple(items), str(metadata.get("resourceVersion", "")))
            query = query | {"continue": metadata["continue"]}

    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        version: str,
        labels: str = "",
        fields: str = "",
        timeout_s: int = 240,
    ) -> AsyncGenerator[Change, None]:
        """Changes after `version`, until the server ends the watch (then watch again).

        KubeError.gone: the version is too old, list again. Silence for a minute is an error too.
        """
        query = _query(
            watch="true", allowWatchBookmarks="true", resourceVersion=version,
            labelSelector=labels, fieldSelector=fields, timeoutSeconds=timeout_s,
        )  # fmt: skip
        limits = aiohttp.ClientTimeout(
            total=timeout_s + IDLE_S, sock_connect=self._timeout_s, sock_read=IDLE_S + 30
        )
        response = await self._send("GET", resource.path(namespace), query, limits=limits)
        try:
            async for line in response.content:
                change = orjson.loads(line)
                if change["type"] == "ERROR":
                    raise KubeError.from_answer(500, orjson.dumps(change["object"]))
                yield Change(change["type"], change["object"])
        except (aiohttp.ClientError, TimeoutError, orjson.JSONDecodeError) as error:
            raise _unreachable(error) from error
        finally:
            response.close()

    # -- writing ----------------------------------------------------------------------------------

    async def apply(
        self, body: Object, *, manager: str, subresource: str = "", dry_run: bool = False
    ) -> Object:
        """Server-side apply: what `body` names becomes so and is owned by `manager`."""
        query = _query(fieldManager=manager, force="true", dryRun="All" if dry_run else "")
        path = _path(body, subresource)
        return await self._call("PATCH", path, query=query, body=body, content_type=APPLY)

    async def create(self, body: Object) -> Object:
        """KubeError.conflict if the name is taken."""
        path = of(body).path(body["metadata"].get("namespace"))
        return await self._call("POST", path, body=body)

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> Object:
        """JSON merge patch; with metadata.resourceVersion in it, KubeError.conflict if stale."""
        path = resource.path(namespace, name, subresource)
        return await self._call("PATCH", path, body=patch, content_type=MERGE)

    async def replace(self, body: Object, *, subresource: str = "") -> Object:
        """PUT; KubeError.conflict unless metadata.resourceVersion is the newest."""
        return await self._call("PUT", _path(body, subresource), body=body)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, *, uid: str | None = None
    ) -> bool:
        """False if it was not there. With `uid`, only that very object (KubeError.conflict)."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        options["propagationPolicy"] = "Background"
        try:
            await self._call("DELETE", resource.path(namespace, name), body=options)
        except KubeError as error:
            if error.not_found:
                return False
            raise
        return True

    # -- transport --------------------------------------------------------------------------------

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        response = await self._send(method, path, query, body=body, content_type=content_type)
        try:
            answer: Object = orjson.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, orjson.JSONDecodeError) as error:
            raise _unreachable(error) from error
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        *,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        limits: aiohttp.ClientTimeout | None = None,
    ) -> aiohttp.ClientResponse:
        """The response with its body still to be read; anything but 2xx is a KubeError."""
        url = f"{self._settings.host}{path}"
        if query:
            url += f"?{urlencode(query)}"
        try:
            answer = await self._rest.request(  # type: ignore[no-untyped-call]
                method,
                url,
                headers=await self._headers(content_type),
                body=body,
                _request_timeout=limits or aiohttp.ClientTimeout(total=self._timeout_s),
            )
            response: aiohttp.ClientResponse = answer.response
            if response.status >= 300:
                raise KubeError.from_answer(response.status, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error) from error
        return response

    async def _headers(self, content_type: str) -> dict[str, str]:
        headers: dict[str, str] = {
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": self._user_agent,
        }
        settings = self._settings
        token = await settings.get_api_key_with_prefix("BearerToken", "authorization")
        if token:
            headers["Authorization"] = token
        elif settings.username and (basic := settings.get_basic_auth_token()):
            headers["Authorization"] = basic
        return headers


def _query(**parts: str | int) -> dict[str, str | int]:
    return {name: part for name, part in parts.items() if part != ""}


def _path(body: Object, subresource: str) -> str:
    metadata = body["metadata"]
    return of(body).path(metadata.get("namespace"), metadata["name"], subresource)


def _unreachable(error: Exception) -> KubeError:
    words = "no answer in time" if isinstance(error, asyncio.TimeoutError) else str(error)
    return KubeError(UNREACHABLE, "Unreachable", f"API server: {words or type(error).__name__}")
