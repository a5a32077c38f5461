"""The client over a real socket: what it sends, and what it makes of what comes back."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import incluster_config
from support.process import free_port
from support.scripted_kube import Answer, scripted_kube, status

from steelyard_router.kube import credential
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import CONFIG_MAP, DEPLOYMENT, LLM_SERVICE, NAMESPACE, Object

MAP: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "ns"},
    "data": {"k": "v"},
}


def says(body: object, code: int = 200) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code)

    return answer


def refuses(code: int, reason: str, message: str = "no") -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return status(code, reason, message)

    return answer


async def test_an_apply_is_forced_and_names_its_manager() -> None:
    async with scripted_kube(says(MAP)) as server:
        await server.kube.apply(MAP, manager="steelyard")

    (seen,) = server.seen
    assert (seen.method, seen.path) == ("PATCH", "/api/v1/namespaces/ns/configmaps/a")
    assert seen.query == {"fieldManager": "steelyard", "force": "true"}
    assert seen.headers["Content-Type"] == "application/apply-patch+yaml"
    assert seen.headers["User-Agent"] == "a-test"
    assert seen.body == MAP


async def test_a_status_goes_to_its_subresource() -> None:
    body = {"apiVersion": "steelyard.io/v1alpha1", "kind": "LLMService", "metadata": {"name": "a"}}
    body["metadata"] |= {"namespace": "ns"}  # type: ignore[operator]
    async with scripted_kube(says(body)) as server:
        await server.kube.apply(body, manager="m", subresource="status", dry_run=True)

    (seen,) = server.seen
    assert seen.path == "/apis/steelyard.io/v1alpha1/namespaces/ns/llmservices/a/status"
    assert seen.query["dryRun"] == "All"


async def test_a_deletion_is_meant_for_one_uid() -> None:
    async with scripted_kube(says({})) as server:
        assert await server.kube.delete(CONFIG_MAP, "ns", "a", uid="u1")

    assert server.seen[0].body["preconditions"] == {"uid": "u1"}


async def test_what_is_not_there_is_none_and_was_not_deleted() -> None:
    async with scripted_kube(refuses(404, "NotFound")) as server:
        assert await server.kube.get(CONFIG_MAP, "ns", "a") is None
        assert not await server.kube.delete(CONFIG_MAP, "ns", "a")


async def test_a_long_list_is_read_in_pages_and_its_items_know_their_kind() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        page = int(request.query.get("continue", "0"))
        metadata = {"resourceVersion": "7", "continue": str(page + 1) if page < 2 else ""}
        items = [{"metadata": {"name": f"n{page}"}}]
        return web.json_response({"metadata": metadata, "items": items})

    async with scripted_kube(answer) as server:
        listing = await server.kube.list(DEPLOYMENT, None, labels="a=b")

    assert [item["metadata"]["name"] for item in listing.items] == ["n0", "n1", "n2"]
    assert {(item["apiVersion"], item["kind"]) for item in listing.items} == {
        ("apps/v1", "Deployment")
    }
    assert listing.version == "7"
    assert {seen.query["labelSelector"] for seen in server.seen} == {"a=b"}
    assert {seen.path for seen in server.seen} == {"/apis/apps/v1/deployments"}


async def test_an_empty_list_may_be_null() -> None:
    body = {"metadata": {"resourceVersion": "7"}, "items": None}
    async with scripted_kube(says(body)) as server:
        assert (await server.kube.list(CONFIG_MAP, "ns")).items == ()


async def test_the_served_kinds_of_a_group_that_is_unknown_are_none() -> None:
    async with scripted_kube(refuses(404, "NotFound")) as server:
        assert await server.kube.served("steelyard.io", "v1alpha1") == frozenset()
        server.answer = says({"resources": [{"name": "llmservices"}]})
        assert await server.kube.served("steelyard.io", "v1alpha1") == {"llmservices"}


@pytest.mark.parametrize(
    ("code", "reason", "name"),
    [
        (409, "Conflict", "conflict"),
        (422, "Invalid", "invalid"),
        (400, "BadRequest", "invalid"),
        (403, "Forbidden", "forbidden"),
        (401, "Unauthorized", "forbidden"),
        (410, "Expired", "gone"),
    ],
)
async def test_a_refusal_carries_the_servers_words(code: int, reason: str, name: str) -> None:
    async with scripted_kube(refuses(code, reason, "the reason why")) as server:
        with pytest.raises(KubeError, match="the reason why") as caught:
            await server.kube.apply(MAP, manager="m")

    assert getattr(caught.value, name)
    assert (caught.value.status, caught.value.reason) == (code, reason)


@pytest.mark.parametrize(
    "message",
    [
        "failed to create typed patch object (ns/a): .spec.x: field not declared in schema",
        "failed to convert new object: unable to convert unstructured object to apps/v1: no",
    ],
)
async def test_an_apply_of_the_wrong_shape_is_invalid_though_the_server_calls_it_its_own_error(
    message: str,
) -> None:
    async with scripted_kube(refuses(500, "", message)) as server:
        with pytest.raises(KubeError) as caught:
            await server.kube.apply(MAP, manager="m")

    assert caught.value.invalid
    assert caught.value.message == message


async def test_an_error_page_of_a_proxy_in_between_is_an_error_too() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=502, text="<html>bad gateway")

    async with scripted_kube(answer) as server:
        with pytest.raises(KubeError, match="bad gateway") as caught:
            await server.kube.get(CONFIG_MAP, "ns", "a")

    assert caught.value.status == 502


async def test_a_server_that_does_not_answer_in_time_is_unreachable() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async with scripted_kube(answer, timeout_s=0.1) as server:
        with pytest.raises(KubeError, match="no answer in time") as caught:
            await server.kube.get(CONFIG_MAP, "ns", "a")

    assert caught.value.unreachable


async def test_a_server_that_hangs_up_is_unreachable() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with scripted_kube(answer) as server:
        with pytest.raises(KubeError) as caught:
            await server.kube.get(CONFIG_MAP, "ns", "a")
        assert caught.value.unreachable


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    settings = Configuration(host=f"http://127.0.0.1:{free_port()}")
    async with Kube(settings, user_agent="a-test") as kube:
        with pytest.raises(KubeError) as caught:
            await kube.get(CONFIG_MAP, "ns", "a")

    assert caught.value.unreachable


async def test_half_an_answer_is_no_answer() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a":')
        assert request.transport is not None
        request.transport.close()
        return response

    async with scripted_kube(answer) as server:
        with pytest.raises(KubeError) as caught:
            await server.kube.get(CONFIG_MAP, "ns", "a")

    assert caught.value.unreachable


# -- watches --------------------------------------------------------------------------------------


def line(kind: str, version: str) -> bytes:
    body = {"metadata": {"name": "a", "resourceVersion": version}}
    return orjson.dumps({"type": kind, "object": body}) + b"\n"


def streams(*parts: bytes, hang_up: bool = False) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            await response.write(part)
        if hang_up:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


async def changes(kube: Kube) -> list[tuple[str, str]]:
    async with aclosing(kube.watch(CONFIG_MAP, "ns", version="5")) as found:
        return [(change.type, change.version) async for change in found]


async def test_a_watch_gives_changes_and_bookmarks_until_the_server_ends_it() -> None:
    whole = line("ADDED", "6") + line("BOOKMARK", "7")
    async with scripted_kube(streams(whole[:10], whole[10:])) as server:
        assert await changes(server.kube) == [("ADDED", "6"), ("BOOKMARK", "7")]

    query = server.seen[0].query
    assert (query["watch"], query["resourceVersion"]) == ("true", "5")
    assert query["allowWatchBookmarks"] == "true"


async def test_a_watch_whose_version_is_too_old_is_gone() -> None:
    error = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
    async with scripted_kube(streams(orjson.dumps(error) + b"\n")) as server:
        with pytest.raises(KubeError) as caught:
            await changes(server.kube)

    assert caught.value.gone


@pytest.mark.parametrize("cut", [0, 5])
async def test_a_watch_that_is_cut_off_is_an_error(cut: int) -> None:
    async with scripted_kube(streams(line("ADDED", "6")[: cut or None], hang_up=True)) as server:
        with pytest.raises(KubeError) as caught:
            await changes(server.kube)

    assert caught.value.unreachable


# -- credentials ----------------------------------------------------------------------------------


async def test_a_token_is_sent_as_such() -> None:
    async with scripted_kube(says(MAP), token="t1") as server:
        await server.kube.get(CONFIG_MAP, "ns", "a")

    assert server.seen[0].headers["Authorization"] == "Bearer t1"


async def test_the_token_of_a_pod_is_read_again_when_its_minute_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, ca = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    ca.write_text("a certificate")
    (tmp_path / "namespace").write_text("place\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(ca))
    monkeypatch.setattr(credential, "SERVICE_ACCOUNT_DIR", tmp_path)
    monkeypatch.setitem(os.environ, "KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setitem(os.environ, "KUBERNETES_SERVICE_PORT", "443")
    found, namespace = await credential.configuration(None)
    assert namespace == "place"

    async def header() -> str | None:
        return await found.get_api_key_with_prefix("BearerToken", "authorization")

    assert await header() == "bearer first"
    token.write_text("second")
    assert await header() == "bearer first"
    _end_the_minute(found)
    assert await header() == "bearer second"


def _end_the_minute(found: Any) -> None:
    """The library keeps its own time; the test sets it back."""
    loader = found.refresh_api_key_hook.__closure__[0].cell_contents
    loader.token_expires_at = loader.token_expires_at.replace(year=2000)


async def test_missing_credentials_are_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(KubeError, match="set KUBECONFIG"):
        await Kube.connect(user_agent="a-test", kubeconfig=str(tmp_path / "none"))


# -- paths ----------------------------------------------------------------------------------------


def test_paths_are_those_of_the_api() -> None:
    assert CONFIG_MAP.path("ns", "a") == "/api/v1/namespaces/ns/configmaps/a"
    assert CONFIG_MAP.path(None) == "/api/v1/configmaps"
    assert LLM_SERVICE.path("ns", "a", "status") == (
        "/apis/steelyard.io/v1alpha1/namespaces/ns/llmservices/a/status"
    )
    assert NAMESPACE.path("ignored", "a") == "/api/v1/namespaces/a"


@given(body=st.binary(max_size=200), code=st.integers(300, 599))
def test_whatever_an_error_says_it_can_be_read(body: bytes, code: int) -> None:
    error = KubeError.from_answer(code, body)

    assert isinstance(error.status, int)
    assert str(error)
