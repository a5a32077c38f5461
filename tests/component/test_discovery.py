"""The configuration file, its problems, and following it while it changes."""

import asyncio
import gc
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml

from steelyard_router.config import RouterConfig
from steelyard_router.discovery import document
from steelyard_router.discovery import file as config_file
from steelyard_router.discovery.file import load_config
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_router.errors import ConfigError

GOOD = """\
service:
  endpoints:
    - id: a
      url: http://a:8000
    - id: b
      url: http://b:8000
listen: {port: 0}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "router.yaml"
    path.write_text(GOOD)
    return path


def renamed_over(path: Path, text: str) -> None:
    new = path.with_name("new")
    new.write_text(text)
    new.rename(path)


def test_yaml_and_json_are_read(path: Path) -> None:
    config = load_config(path)
    assert [endpoint.id for endpoint in config.service.endpoints] == ["a", "b"]
    assert config.listen.port == 0

    path.write_text(json.dumps(config.model_dump(mode="json")))

    assert load_config(path) == config


def test_anchors_may_be_used(path: Path) -> None:
    path.write_text(
        "policy:\n  workloads:\n"
        "  - &base {name: a, default: true, slo: {ttft_ms: 5}}\n"
        "  - {<<: *base, name: b, default: false}\n"
    )

    assert load_config(path).policy.workloads[1].slo.ttft_ms == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: the file is empty"),
        ("# only a comment\n", "1: the file is empty"),
        ("a: [1\nb: 2\n", "2: not YAML: did not find expected"),
        ("a: \x01\n", " not YAML: "),
        ("- 1\n", "1: the file: Input should be a valid dictionary"),
        ("listen: 3\n", "1: listen: Input should be a valid dictionary"),
        ("retry: {}\nlisten:\n  port: 99999\n", "3: listen.port: Input should be less than"),
        ("listen:\n  port: many\n", r"2: listen.port: .* \(given: 'many'\)"),
        (
            "limits:\n  body_bites: 3\n",
            "2: limits.body_bites: unknown field; did you mean `body_by",
        ),
        ("zzzzzz: 1\n", "1: zzzzzz: unknown field$"),
        (GOOD + "listen: {port: 1}\n", r"8: listen: stands twice \(first in line 7\)"),
        ("listen: {port: 1, port: 2}\n", r"1: port: stands twice"),
        (GOOD.replace("url: http://b:8000", "ulr: x"), r"6: service.endpoints\[1\].ulr: unknown"),
        (
            GOOD.replace("url: http://b:8000", "ulr: x"),
            r"5: service.endpoints\[1\].url: is missing",
        ),
        (GOOD.replace("id: b", "id: a"), "1: service: endpoint ids must be unique; given twice: a"),
        (
            "policy:\n  alerts:\n  - name: a\n    metric: Score\n",
            r"3: policy.alerts\[0\]: give exac",
        ),
        ("policy: {workloads: [{name: a, match: {headers: {1: x}}}]}\n", "valid string"),
        ("a: !!python/object:os.system x\n", "1: not YAML: could not determine a constructor"),
        ("? [a]\n: b\n", "1: not YAML: found unhashable key"),
        ("a: &x [*x]\n", "1: expands to more than"),
        ("[" * 50_000, "not YAML"),
    ],
)
def test_a_problem_is_told_with_its_line_and_field(path: Path, text: str, problem: str) -> None:
    path.write_text(text)

    with pytest.raises(ConfigError, match=rf"(?m){path}:.*{problem}"):
        load_config(path)


@pytest.mark.parametrize("text", ["[" * 500, "a: &x [*x]\n", "a: [1\nb: 2\n"])
def test_the_slower_reader_tells_problems_too(
    path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "Loader", yaml.SafeLoader)
    path.write_text(text)

    with pytest.raises(ConfigError):
        load_config(path)


def test_aliases_cannot_fill_the_memory(path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path.write_text("\n".join(lines))

    with pytest.raises(ConfigError, match="expands to more than 1,000,000 values"):
        load_config(path)


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(path: Path) -> None:
    path.write_text("listen: {port: x}\nretry: {attempts: 0}\nhealth: {interval_s: -1}\n")

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    lines = [line.split(":")[1] for line in str(caught.value).splitlines()]
    assert lines == ["1", "2", "3"]


def test_a_flood_of_problems_is_cut(path: Path) -> None:
    path.write_text("".join(f"field{n}: 1\n" for n in range(100)))

    with pytest.raises(ConfigError, match="and 80 more problems"):
        load_config(path)


def test_a_file_that_cannot_be_read_is_a_configuration_error(path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        load_config(path.with_name("missing"))
    path.write_bytes(b"\xff\xff")
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        load_config(path)


def test_a_file_that_is_too_large_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_file, "MAX_BYTES", 10)

    with pytest.raises(ConfigError, match="larger than"):
        load_config(path)


class Followed:
    """What a watch has told."""

    def __init__(self) -> None:
        self.configs: list[RouterConfig] = []
        self.errors: list[str] = []

    async def next_config(self, change: Callable[[], object]) -> RouterConfig:
        seen = len(self.configs)
        change()
        async with asyncio.timeout(5):
            while len(self.configs) == seen:
                await asyncio.sleep(0.001)
        return self.configs[-1]

    async def next_error(self, change: Callable[[], object]) -> str:
        seen = len(self.errors)
        change()
        async with asyncio.timeout(5):
            while len(self.errors) == seen:
                await asyncio.sleep(0.001)
        return self.errors[-1]


@asynccontextmanager
async def following(
    path: Path, interval_s: float = 0.005
) -> AsyncIterator[tuple[Followed, ConfigWatch]]:
    followed = Followed()
    watch = ConfigWatch(
        path,
        load_config(path),
        on_error=lambda error: followed.errors.append(str(error)),
        interval_s=interval_s,
    )

    async def follow() -> None:
        async for config in watch.changes():
            followed.configs.append(config)

    task = asyncio.create_task(follow())
    try:
        yield followed, watch
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_an_edit_in_place_is_followed(path: Path) -> None:
    async with following(path) as (followed, _):
        config = await followed.next_config(
            lambda: path.write_text(GOOD.replace("port: 0", "port: 1"))
        )

        assert config.listen.port == 1


async def test_an_atomic_rename_is_followed(path: Path) -> None:
    async with following(path) as (followed, _):
        config = await followed.next_config(
            lambda: renamed_over(path, GOOD.replace("port: 0", "port: 1"))
        )

        assert config.listen.port == 1


async def test_the_symlink_swap_of_a_mounted_config_map_is_followed(tmp_path: Path) -> None:
    def version(name: str, text: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "router.yaml").write_text(text)
        return folder

    def swap(folder: Path) -> None:
        link = tmp_path / "..data_tmp"
        link.symlink_to(folder.name)
        link.rename(tmp_path / "..data")

    first = version("..v1", GOOD)
    swap(first)
    mounted = tmp_path / "router.yaml"
    mounted.symlink_to("..data/router.yaml")

    async with following(mounted) as (followed, _):
        second = version("..v2", GOOD.replace("port: 0", "port: 2"))
        config = await followed.next_config(lambda: swap(second))
        shutil.rmtree(first)
        await asyncio.sleep(0.03)

        assert config.listen.port == 2
        assert not followed.errors


async def test_content_that_makes_the_same_configuration_is_no_change(path: Path) -> None:
    async with following(path) as (followed, _):
        said = json.dumps(load_config(path).model_dump(mode="json", exclude_unset=True))
        for text in (GOOD, GOOD + "# a comment\n", said):
            renamed_over(path, text)
            await asyncio.sleep(0.03)

        assert followed.configs == []
        assert followed.errors == []


async def test_a_bad_file_is_told_once_and_its_repair_is_followed(path: Path) -> None:
    async with following(path) as (followed, watch):
        error = await followed.next_error(lambda: path.write_text("listen:\n  prt: 1\n"))
        assert f"{path}:2: listen.prt: unknown field; did you mean `port`?" in error
        assert watch.problem == error
        renamed_over(path, "listen:\n  prt: 1\n")
        await asyncio.sleep(0.05)
        assert len(followed.errors) == 1
        assert followed.configs == []

        config = await followed.next_config(lambda: path.write_text("listen: {port: 7}\n"))

        assert config.listen.port == 7
        assert watch.problem is None


async def test_going_back_to_the_configuration_in_force_ends_the_problem(path: Path) -> None:
    async with following(path) as (followed, watch):
        await followed.next_error(lambda: path.write_text("oops"))

        config = await followed.next_config(lambda: renamed_over(path, GOOD))

        assert config == load_config(path)
        assert watch.problem is None


async def test_a_file_that_is_gone_is_told_and_followed_when_it_is_back(path: Path) -> None:
    async with following(path) as (followed, _):
        error = await followed.next_error(path.unlink)
        assert "cannot read the configuration" in error

        config = await followed.next_config(lambda: path.write_text("listen: {port: 9}\n"))

        assert config.listen.port == 9


async def test_half_a_file_is_not_taken_for_the_whole(path: Path) -> None:
    """A file that is written in place in two steps, each of which is valid."""
    async with following(path, interval_s=0.05) as (followed, _):
        with path.open("w") as file:
            file.write("service: {endpoints: [{id: a, url: 'http://a:1'}]}\n")
            file.flush()
            await asyncio.sleep(0.03)
            file.write("listen: {port: 3}\n")
        async with asyncio.timeout(5):
            while not followed.configs:
                await asyncio.sleep(0.001)

        assert [config.listen.port for config in followed.configs] == [3]


async def test_a_thousand_reloads_leave_nothing_behind(path: Path) -> None:
    async with following(path, interval_s=0.0) as (followed, _):

        async def reload(times: int) -> None:
            for number in range(times):
                text = GOOD.replace("port: 0", f"port: {1000 + number}")
                await followed.next_config(partial(renamed_over, path, text))
                if number % 10 == 0:
                    await followed.next_error(partial(renamed_over, path, f"oops: {number}"))
                followed.configs[:-1] = []
                followed.errors[:-1] = []

        await reload(50)
        gc.collect()
        before = len(gc.get_objects())
        await reload(1000)
        gc.collect()

        assert len(gc.get_objects()) - before < 500
        assert len(asyncio.all_tasks()) <= 3
