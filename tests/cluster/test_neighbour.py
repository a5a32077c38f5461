"""What others do around the operator: webhooks that change children, quotas, deletions, twins."""

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from onenode.pki import Authority
from support.api_server import ApiServer
from support.running_operator import Place, eventually, operator, place

from steelyard_router.kube.resource import DEPLOYMENT, LLM_SERVICE, SLO_POLICY, Object

MIRROR = "mirror.test/"


@pytest.fixture
async def user(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


async def rested(user: Place, service: str = "chat", *, within_s: float = 60.0) -> None:
    """Until the operator has written nothing for three seconds."""
    async with asyncio.timeout(within_s):
        await eventually(lambda: user.get(DEPLOYMENT, f"{service}-router"), within_s)
        while True:
            mark = user.audit.mark()
            await asyncio.sleep(3.0)
            if not user.writes(mark):
                return


# -- a webhook that changes what is ours -----------------------------------------------------------


async def mutate(request: web.Request) -> web.Response:
    """As registries' mirrors and injectors do: our image is replaced, and there is more."""
    review = (await request.json())["request"]
    deployment = review["object"]
    containers = deployment["spec"]["template"]["spec"]["containers"]
    patch: list[Object] = []
    for at, container in enumerate(containers):
        if not container["image"].startswith(MIRROR):
            path = f"/spec/template/spec/containers/{at}/image"
            patch.append({"op": "replace", "path": path, "value": MIRROR + container["image"]})
    if not any(container["name"] == "sidecar" for container in containers):
        sidecar = {"name": "sidecar", "image": f"{MIRROR}sidecar"}
        path = "/spec/template/spec/containers/-"
        patch.append({"op": "add", "path": path, "value": sidecar})
    text = base64.b64encode(json.dumps(patch).encode()).decode()
    answer = {"uid": review["uid"], "allowed": True, "patchType": "JSONPatch", "patch": text}
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return web.json_response(head | {"response": answer})


@contextlib.asynccontextmanager
async def webhook(server: ApiServer, folder: Path) -> AsyncIterator[None]:
    """For Deployments of the test's namespace."""
    authority = Authority(folder)
    authority.create()
    authority.issue("hook", "/CN=hook", "IP:127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.certificate_of("hook"), authority.key_of("hook"))
    app = web.Application()
    app.router.add_post("/", mutate)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}/"
    bundle = base64.b64encode(authority.certificate.read_bytes()).decode()
    name = f"hook-{server.namespace}"
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
    }
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": server.namespace}}
    hook = {
        "name": "mirror.steelyard.test",
        "clientConfig": {"url": url, "caBundle": bundle},
        "rules": [rule],
        "namespaceSelector": chosen,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }
    await asyncio.to_thread(server.apply, body)
    try:
        yield
    finally:
        await asyncio.to_thread(
            server.kubectl, "delete", "mutatingwebhookconfiguration", name, "--wait=false"
        )
        await runner.cleanup()


async def test_a_webhook_that_changes_our_fields_is_no_endless_quarrel(
    api_server: ApiServer, user: Place, tmp_path: Path
) -> None:
    async with webhook(api_server, tmp_path / "pki"), operator(api_server, resync_s=2.0):

        async def in_force() -> bool:  # a webhook takes a moment to be so
            await user.service("chat")
            made = await user.get(DEPLOYMENT, "chat-router") or {}
            if MIRROR in json.dumps(made.get("spec", {})):
                return True
            await user.kube.delete(DEPLOYMENT, user.namespace, "chat-router")
            await asyncio.sleep(1.0)
            return False

        await eventually(in_force, 30.0)
        await rested(user)
        before = await user.get(DEPLOYMENT, "chat-router") or {}
        mark = user.audit.mark()
        touched = {"metadata": {"labels": {"somebody": "looked"}}}
        await user.kube.merge(DEPLOYMENT, user.namespace, "chat-router", touched)
        await asyncio.sleep(5.0)  # two resyncs at least
        after = await user.get(DEPLOYMENT, "chat-router") or {}

        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        assert len(user.writes(mark)) <= 1
        assert await user.events("DriftCorrected") == []


# -- quotas ----------------------------------------------------------------------------------------


async def test_a_quota_is_told_and_the_service_comes_when_there_is_room(
    api_server: ApiServer, user: Place
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"count/deployments.apps": "1"}},
    }
    await asyncio.to_thread(api_server.apply, quota)

    async def counted() -> bool:
        text = await asyncio.to_thread(
            api_server.kubectl, "get", "quota", "small", "-o", "jsonpath={.status.used}"
        )
        return "count/deployments.apps" in text

    await eventually(counted, 30.0)
    async with operator(api_server):
        mark = user.audit.mark()
        await user.service("chat")

        async def told() -> bool:
            ready = await user.condition(LLM_SERVICE, "chat", "Ready")
            return ready.get("reason") == "InsufficientCapacity"

        await eventually(told)
        await asyncio.sleep(10.0)
        refused = [line for line in user.writes(mark) if line.endswith(" 403")]
        assert 1 <= len(refused) < 10
        await asyncio.to_thread(api_server.kubectl, "delete", "quota", "small")

        async def whole() -> bool:
            names = {"chat-engine", "chat-router"}
            there = {name for kind, name in await user.children("chat") if kind == "Deployment"}
            return there == names

        await eventually(whole, 90.0)


# -- deletions -------------------------------------------------------------------------------------


async def test_a_service_made_again_under_its_name_is_never_stalled(
    api_server: ApiServer, user: Place
) -> None:
    """Its children of before are collected while it already exists."""
    async with operator(api_server):
        await user.service("chat")
        await user.policy("gold", "chat")
        await rested(user)
        old = (await user.get(LLM_SERVICE, "chat") or {})["metadata"]["uid"]
        await user.kube.delete(LLM_SERVICE, user.namespace, "chat")
        await user.service("chat")
        stalled: list[str] = []

        async def whole() -> bool:
            found = await user.condition(LLM_SERVICE, "chat", "Stalled")
            if found:
                stalled.append(str(found["message"]))
            children = await user.children("chat")
            owners = {
                owner["uid"]
                for item in children.values()
                for owner in item["metadata"]["ownerReferences"]
            }
            return len(children) >= 9 and old not in owners

        await eventually(whole, 120.0)
        assert stalled == []


async def test_a_namespace_that_goes_is_let_go(api_server: ApiServer, user: Place) -> None:
    """Nothing can be made in it any more: each service is tried a few times at most."""
    async with operator(api_server):
        for number in range(5):
            await user.service(f"chat{number}")
            await user.policy(f"gold{number}", f"chat{number}")
        for number in range(5):
            await rested(user, f"chat{number}")
        mark = user.audit.mark()
        await asyncio.to_thread(
            api_server.kubectl, "delete", "namespace", api_server.namespace, "--wait=false"
        )

        async def empty() -> bool:
            services = await user.kube.list(LLM_SERVICE, user.namespace)
            policies = await user.kube.list(SLO_POLICY, user.namespace)
            return not services.items and not policies.items

        await eventually(empty, 60.0)
        await asyncio.sleep(5.0)
        writes = user.writes(mark)

    assert len(writes) < 5 * 60, writes
    made = [line for line in writes if line.startswith("create")]
    # A policy may see its service go before itself, and a service its children; each says so once.
    assert len(made) <= 10, made
    assert all(line.endswith((" 403", " 404")) for line in made), made
