"""A real API server, without a node: etcd, kube-apiserver, kube-controller-manager.

Where Go is missing, the tests that want it are skipped, and say so. `make test` builds the three
programs before the tests start; a bare pytest does it once all tests are collected, since it takes
minutes the first time and no test's timeout is to pay for it.
"""

import os
import uuid
from collections.abc import Iterator

import pytest
from onenode import api
from onenode.binary import LEVEL_1
from onenode.build import Workshop
from onenode.control_plane import ControlPlane
from onenode.phase import shown
from onenode.place import Place
from support.api_server import ApiServer

CRDS = Place().checkout / "crds"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds what is missing while no test's clock runs, and shows it."""
    programs = Place().programs
    wanted = any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items)
    if not wanted or session.config.option.collectonly or api.problem(programs):
        return
    workshop = Workshop(programs)
    if workshop.missing(LEVEL_1):
        capture = session.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled(), shown():
            workshop.build(LEVEL_1)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One for all tests; on free ports of loopback, gone with this process at the latest."""
    place = Place()
    if reason := api.problem(place.programs):
        pytest.skip(f"no API server for the tests: {reason}")
    with api.control_plane(place.programs, place.folder / f"api-{os.getpid()}") as running:
        yield running


@pytest.fixture
def api_server(control_plane: ControlPlane) -> Iterator[ApiServer]:
    """The API server, with a fresh namespace. See ApiServer for what a test can do with it."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.kubectl("create", "namespace", namespace)
    yield ApiServer(control_plane.kubectl.within(namespace), namespace, control_plane.audit)
    control_plane.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="session")
def crds(control_plane: ControlPlane) -> list[str]:
    """The product's two kinds, in force; their names."""
    control_plane.kubectl.apply(CRDS)
    names = [path.stem.partition("_") for path in sorted(CRDS.glob("*.yaml"))]
    found = [f"{plural}.{group}" for group, _, plural in names]
    each = [f"crd/{name}" for name in found]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *each)
    return found
