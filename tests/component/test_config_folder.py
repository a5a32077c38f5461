"""The configuration as a folder of files: what a ConfigMap becomes when it is mounted."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.main import main
from steelyard_router.config import (
    Alert,
    Endpoint,
    Kubernetes,
    Match,
    ObjectRef,
    Policy,
    RouterConfig,
    Service,
    Targets,
    Timeouts,
    Workload,
)
from steelyard_router.discovery.file import dump_config, load_config, parse_configs
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_router.errors import ConfigError

SERVICE = """\
service:
  endpoints:
    - id: a
      url: http://a:8000
"""
POLICY = """\
policy:
  workloads:
    - name: chat
      default: true
policy_ref: {name: chat, uid: u-1}
"""


def mounted(folder: Path, version: str, **texts: str) -> None:
    """What a kubelet does: a new folder, then one swap of `..data`, then the old folder goes."""
    new = folder / f"..{version}"
    new.mkdir()
    data = folder / "..data"
    old = data.resolve() if data.exists() else None
    for name, text in texts.items():
        (new / f"{name}.yaml").write_text(text)
        link = folder / f"{name}.yaml"
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}.yaml")
    draft = folder / "..data_tmp"
    draft.symlink_to(new.name)
    draft.rename(data)
    if old is not None:
        shutil.rmtree(old)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "steelyard"
    folder.mkdir()
    mounted(folder, "v1", service=SERVICE, policy=POLICY)
    return folder


def test_the_files_of_a_folder_are_one_configuration(folder: Path) -> None:
    config = load_config(folder)

    assert [endpoint.id for endpoint in config.service.endpoints] == ["a"]
    assert config.policy.workloads[0].name == "chat"
    assert config.policy_ref == ObjectRef(name="chat", uid="u-1")


def test_the_command_checks_a_folder(folder: Path) -> None:
    result = CliRunner().invoke(main, ["router", "--config", str(folder), "--check"])

    assert result.exit_code == 0, result.output
    assert load_config(folder).revision in result.output


def test_hidden_files_and_files_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    (tmp_path / ".service.yaml").write_text("oops")
    (tmp_path / "service.yaml.bak").write_text("oops")
    (tmp_path / "notes.md").write_text("oops")

    assert load_config(tmp_path).service.endpoints[0].id == "a"


def test_an_empty_file_in_a_folder_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    (tmp_path / "policy.yaml").write_text("# no policy\n")

    assert load_config(tmp_path).policy == Policy()


def test_problems_are_told_with_their_own_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text("service:\n  nam: x\n")
    (tmp_path / "policy.yaml").write_text(
        "policy:\n  workloads:\n    - name: chat\n      default: true\n      priorty: 1\n"
    )

    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)

    assert str(caught.value).splitlines() == [
        (
            f"{tmp_path}/policy.yaml:5: policy.workloads[0].priorty: unknown field;"
            " did you mean `priority`?"
        ),
        f"{tmp_path}/service.yaml:2: service.nam: unknown field; did you mean `name`?",
    ]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"a": SERVICE, "b": SERVICE}, r"b.yaml:1: service: stands in .*a.yaml as well; remove"),
        ({"a": SERVICE, "b": "- x\n"}, r"b.yaml:1: sections are expected here"),
        ({"a": SERVICE, "b": "x: [1\ny: 2\n"}, r"b.yaml:2: not YAML"),
        ({"a": "", "b": "# nothing\n"}, "no \\*.yaml file with anything in it"),
        ({}, "no \\*.yaml file with anything in it"),
    ],
)
def test_what_cannot_be_one_configuration_is_explained(
    tmp_path: Path, texts: dict[str, str], problem: str
) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)

    assert re.search(problem, str(caught.value)), str(caught.value)


@asynccontextmanager
async def following(folder: Path) -> AsyncIterator[tuple[list[RouterConfig], list[str]]]:
    configs: list[RouterConfig] = []
    errors: list[str] = []
    watch = ConfigWatch(
        folder, load_config(folder), on_error=lambda e: errors.append(str(e)), interval_s=0.002
    )

    async def follow() -> None:
        async for config in watch.changes():
            configs.append(config)  # noqa: PERF401 -- it never ends

    task = asyncio.create_task(follow())
    try:
        yield configs, errors
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.001)


async def test_a_swap_of_the_mounted_folder_is_followed_and_no_half_of_it(folder: Path) -> None:
    async with following(folder) as (configs, errors):
        for number in range(20):
            name = f"p{number}"
            mounted(
                folder,
                f"n{number}",
                service=SERVICE.replace("id: a", f"id: {name}"),
                policy=POLICY.replace("chat", name),
            )
            await until(
                lambda name=name: bool(configs) and configs[-1].policy.workloads[0].name == name  # type: ignore[misc]
            )

        assert all(c.service.endpoints[0].id == c.policy.workloads[0].name for c in configs)
        assert not errors


async def test_an_edit_of_one_file_in_a_plain_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    async with following(tmp_path) as (configs, errors):
        (tmp_path / "policy.yaml").write_text(POLICY)
        await until(lambda: bool(configs))

        assert configs[-1].policy.workloads[0].name == "chat"
        (tmp_path / "policy.yaml").unlink()
        await until(lambda: configs[-1].policy == Policy())
        assert not errors


# -- the revision ---------------------------------------------------------------------------------


def test_what_is_left_to_the_defaults_is_no_part_of_the_revision() -> None:
    """So an operator and routers of other versions, with other defaults, agree."""

    class Newer(RouterConfig):
        timeouts: Timeouts = Timeouts(connect_s=99)
        added: int = 7

    said = {"service": {"name": "x"}}

    assert Newer.model_validate(said).revision == RouterConfig.model_validate(said).revision


def test_what_is_said_is_part_of_the_revision_and_its_order_is_not() -> None:
    one = parse_configs({"a.yaml": "drain: {grace_s: 7}\nlisten: {port: 1, host: x}\n"}, "here")
    other = parse_configs({"b.yaml": "listen: {host: x, port: 1}\ndrain: {grace_s: 7.0}"}, "there")
    default = RouterConfig.model_validate({"drain": {"grace_s": 120}})

    assert one.revision == other.revision
    assert default.revision != RouterConfig().revision


NAMES = st.from_regex(r"[a-z0-9]([-._a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
"""Among them what YAML would read as numbers, dates, booleans and nulls."""
TEXTS = st.text(max_size=12)
NUMBERS = st.integers(1, 10**9) | st.none()
POLICIES = st.builds(
    lambda names, headers, paths, targets, thresholds: Policy(
        workloads=tuple(
            Workload(
                name=name,
                default=not at,
                match=Match(headers=headers, paths=tuple(paths)),
                slo=Targets(ttft_ms=targets),
            )
            for at, name in enumerate(names)
        ),
        alerts=tuple(
            Alert(name=f"a{at}", metric="Score", threshold=value)
            for at, value in enumerate(thresholds)
        ),
    ),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.lists(TEXTS, max_size=2),
    NUMBERS,
    st.lists(st.integers(1, 10**9), max_size=2),
)
REFS = st.builds(ObjectRef, name=NAMES, uid=st.text(min_size=1, max_size=9))
CONFIGS = st.builds(
    RouterConfig,
    service=st.builds(
        Service,
        name=NAMES,
        endpoints=st.just(()) | st.just((Endpoint(id="a", url="http://a:1"),)),
        api_keys_file=st.none() | TEXTS,
    ),
    policy=POLICIES,
    timeouts=st.builds(Timeouts, connect_s=st.floats(1e-9, 1e9)),
    kubernetes=st.none()
    | st.builds(
        Kubernetes,
        namespace=NAMES,
        engine_service=st.none() | NAMES,
        engine_port=NAMES | st.integers(1, 65535),
        models=st.none() | st.lists(TEXTS, max_size=2).map(tuple),
        config_map=NAMES,
        router_service=NAMES,
        lease=NAMES,
        service=REFS,
    ),
    policy_ref=st.none() | REFS,
    shadow=st.none() | POLICIES,
    shadow_ref=st.none() | REFS,
)


@given(CONFIGS)
def test_what_is_written_as_two_files_is_read_back_whole(config: RouterConfig) -> None:
    texts = dump_config(config)

    read = parse_configs(texts, "here")

    assert set(texts) == {"service.yaml", "policy.yaml"}
    assert read == config
    assert read.revision == config.revision
    assert dump_config(read) == texts


def test_each_part_of_the_configuration_has_its_file() -> None:
    texts = dump_config(
        RouterConfig(
            service=Service(name="s"),
            policy=Policy(),
            shadow=Policy(),
            policy_ref=ObjectRef(name="p", uid="1"),
            shadow_ref=ObjectRef(name="q", uid="2"),
        )
    )

    policy = parse_configs({"policy.yaml": texts["policy.yaml"]}, "here")
    service = parse_configs({"service.yaml": texts["service.yaml"]}, "here")
    assert policy.model_fields_set == {"policy", "shadow", "policy_ref", "shadow_ref"}
    assert service.model_fields_set == {"service"}


def test_a_port_may_be_a_name_or_a_number_and_nothing_else() -> None:
    given = {
        "namespace": "n", "config_map": "c", "router_service": "r", "lease": "l",
        "service": {"name": "s", "uid": "u"},
    }  # fmt: skip

    assert Kubernetes.model_validate(given | {"engine_port": 8000}).engine_port == 8000
    assert Kubernetes.model_validate(given | {"engine_port": "http"}).engine_port == "http"
    for wrong in (0, 70000, "", "a b"):
        with pytest.raises(ValidationError):
            Kubernetes.model_validate(given | {"engine_port": wrong})
