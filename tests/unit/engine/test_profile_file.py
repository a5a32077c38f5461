"""A profile may be a file: what a measurement has left."""

from pathlib import Path

import pytest

from steelyard_simulator.engine.profile import Profile, profile


def test_a_profile_comes_back_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    mine = profile("reference").slowed(2.0)
    file.write_text(mine.to_json())

    assert profile(str(file)) == mine


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "mine.json is no profile: Expecting"),
        ("[1]", "mine.json is no profile"),
        ('{"name": "x"}', "mine.json is no profile: .*base_s"),
        ('{"speed": 3}', "mine.json is no profile: .*speed"),
        (Profile.to_json(profile("reference")).replace("0.009", "0"), "base_s must be above 0"),
    ],
)
def test_a_file_that_is_none_is_told_apart(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "mine.json").write_text(text)

    with pytest.raises(ValueError, match=reason):
        profile(str(tmp_path / "mine.json"))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"profile none\.json cannot be read: No such file"):
        profile("none.json")
