"""The end-to-end tests: a real cluster, the product installed by its chart, users' commands.

The cluster is found by harness/finder.py. Where there is none and none can be made, every test is
skipped, with the reason. What a failed test saw is in build/e2e/.
"""

import uuid
from collections.abc import Callable, Generator, Iterator

import pytest
from harness import finder
from harness.dump import dump, folder_for
from harness.installation import NAMESPACE, Installation, install
from harness.target import Target
from onenode.audit import AuditLog
from onenode.phase import shown
from onenode.place import Place
from scene.cluster import Cluster, Records
from scene.figure import Figures

DUMPS = Place().checkout / "build" / "e2e"
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="session")
def target(pytestconfig: pytest.Config) -> Iterator[Target]:
    """The cluster; see Target for what a test can do with it. Cold, making one takes minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled(), shown():
        try:
            found = finder.find()
        except finder.NotHere as reason:
            pytest.skip(f"no cluster for the end-to-end tests: {reason}")
    yield found
    found.shut()


@pytest.fixture(scope="session")
def installed(target: Target) -> Iterator[Installation]:
    """The chart with the image under test, in steelyard-system; uninstalled at the end."""
    try:
        made = install(target)
    except Exception:
        dump(target.kubectl, [NAMESPACE], DUMPS / "install")
        raise
    yield made
    made.uninstall()


@pytest.fixture
def namespace(target: Target, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh one. If the test fails, what is in it and the operator's logs are kept on disk."""
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    target.kubectl("create", "namespace", name)
    yield name
    if request.node.stash.get(FAILED, False):
        dump(target.kubectl, [name, NAMESPACE], folder_for(DUMPS, request.node.name))
    target.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def audit(target: Target) -> AuditLog:
    """Who asked the API server what; on our own cluster only."""
    if target.audit is None:
        pytest.skip(f"the API server of {target.name} shows no audit log")
    return target.audit


@pytest.fixture(scope="session")
def records(target: Target, installed: Installation) -> Records:
    """What test_least_privilege reads at the end."""
    mark = target.audit.mark() if target.audit is not None else 0
    return Records(target.audit, mark)


@pytest.fixture
def cluster(
    target: Target, installed: Installation, namespace: str, records: Records
) -> Iterator[Cluster]:
    """What most tests act on: the product, and a namespace of their own."""
    stage = Cluster(target, installed, namespace, records)
    yield stage
    stage.end()


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """What was measured goes into the JUnit record, and to who runs the test."""
    return Figures(record_property)
