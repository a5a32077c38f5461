"""The command line as a whole: what its help lists is there."""

import pytest
from click.testing import CliRunner

from steelyard.bench import BENCHES
from steelyard.main import COMMANDS, main


@pytest.mark.parametrize(
    "path", [*((name,) for name in COMMANDS), *(("bench", n) for n in BENCHES)]
)
def test_every_command_has_its_help(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*path, "--help"])

    assert done.exit_code == 0, done.output
    assert f"Usage: main {' '.join(path)} " in done.output


@pytest.mark.parametrize(("group", "names"), [((), COMMANDS), (("bench",), BENCHES)])
def test_a_group_lists_its_commands(group: tuple[str, ...], names: dict[str, object]) -> None:
    lines = CliRunner().invoke(main, [*group, "--help"]).output.splitlines()

    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()]
    assert [name for name in listed if name in names] == list(names)


@pytest.mark.parametrize("group", [(), ("bench",)])
def test_what_is_not_listed_is_no_command(group: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*group, "nothing"])

    assert done.exit_code == 2
    assert "No such command 'nothing'" in done.output
