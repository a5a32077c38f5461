"""API keys: who gets in, and how the file may change."""

import os
from pathlib import Path

import orjson
import pytest

from steelyard_router.errors import ConfigError, Unauthorized
from steelyard_router.proxy.auth import KeyRing


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text("# who may call\n\nsk-one team-a\nsk-two team-b  # the second\nsk-three\n")
    return path


def replaced(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


@pytest.mark.parametrize(
    ("header", "tenant"),
    [
        ("Bearer sk-one", "team-a"),
        ("bearer sk-two", "team-b"),
        ("Bearer   sk-one  ", "team-a"),
    ],
)
def test_a_key_names_its_tenant(keys: Path, header: str, tenant: str) -> None:
    assert KeyRing.load(keys).tenant(header) == tenant


def test_a_key_without_a_tenant_gets_a_name_that_does_not_tell_the_key(keys: Path) -> None:
    tenant = KeyRing.load(keys).tenant("Bearer sk-three")

    assert tenant.startswith("key-")
    assert "three" not in tenant
    assert tenant == KeyRing.load(keys).tenant("Bearer sk-three")


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Bearer", "Bearer ", "Basic sk-one", "sk-one", "Bearer sk-on", "Bearer sk-one2",
        "Bearer sk-one team-a", "Bearer team-a", "Bearer # who may call", "Bearer sk-\u00f6ne",
        "Bearer \udcff",
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_the_shape_clients_know(keys: Path, header: str | None) -> None:
    with pytest.raises(Unauthorized) as caught:
        KeyRing.load(keys).tenant(header)

    assert caught.value.status == 401
    error = orjson.loads(caught.value.body())["error"]
    assert error["type"] == "invalid_request_error"
    assert error["code"] == "invalid_api_key"
    assert "sk-" not in error["message"]


def test_the_ring_keeps_no_key_in_clear(keys: Path) -> None:
    assert "sk-one" not in repr(KeyRing.load(keys))


def test_a_hash_sign_inside_a_key_is_no_comment(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("sk#1 a\n")

    assert KeyRing.load(path).tenant("Bearer sk#1") == "a"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a b\nc d e\n", r"keys:2: expected `key` or `key tenant`"),
        ("a b\n\na c\n", r"keys:3: the key is there twice"),
        ("a te/nant\n", r"keys:1: a tenant name is at most 63"),
        ("k\u00e9y a\n", r"keys:1: a key may hold printable ASCII"),
        ("# nothing\n", r"keys: no API key in it"),
    ],
)
def test_a_bad_file_is_refused_with_its_line_and_without_its_keys(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "keys"
    path.write_text(text)

    with pytest.raises(ConfigError, match=problem) as caught:
        KeyRing.load(path)

    assert "te/nant" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the API keys"):
        KeyRing.load(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot read the API keys"):
        KeyRing.load(tmp_path / "binary")


def test_an_unchanged_file_is_not_read_again(keys: Path) -> None:
    ring = KeyRing.load(keys)

    assert ring.fresh() is ring


def test_a_changed_file_brings_new_keys_and_drops_old_ones(keys: Path) -> None:
    ring = KeyRing.load(keys)
    replaced(keys, "sk-new team-c\n")

    ring = ring.fresh()

    assert ring.tenant("Bearer sk-new") == "team-c"
    with pytest.raises(Unauthorized):
        ring.tenant("Bearer sk-one")


def test_an_edit_in_place_is_noticed(keys: Path) -> None:
    ring = KeyRing.load(keys)
    keys.write_text(keys.read_text().replace("team-a", "team-x"))
    os.utime(keys, ns=(1, 1))

    assert ring.fresh().tenant("Bearer sk-one") == "team-x"


def test_a_file_gone_bad_keeps_the_last_good_keys_and_tells_it_once(keys: Path) -> None:
    good = KeyRing.load(keys)
    replaced(keys, "one two three\n")

    kept = good.fresh()

    assert kept is not good
    assert kept.problem is not None
    assert "keys:1:" in kept.problem
    assert kept.tenant("Bearer sk-one") == "team-a"
    assert kept.fresh() is kept

    replaced(keys, "sk-one team-a\n")

    assert kept.fresh().problem is None


def test_a_file_that_is_gone_keeps_the_last_good_keys(keys: Path) -> None:
    ring = KeyRing.load(keys)
    keys.unlink()

    kept = ring.fresh()

    assert kept.problem is not None
    assert kept.tenant("Bearer sk-one") == "team-a"
