"""What the one-node cluster promises to its machine, as far as no root is needed."""

import hashlib
import ipaddress
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from onenode import pip
from onenode.address import BLOCKS, free_blocks, in_block
from onenode.binary import HELM, KUBERNETES, LEVEL_2, TOOLS
from onenode.image import base_of, sources
from onenode.place import Place
from onenode.process import Daemons, ProcessDied
from onenode.scratch import pack

WITHIN_S = 20.0


def sleeper() -> list[str | Path]:
    return [sys.executable, "-c", "import time; time.sleep(600)"]


def test_a_block_that_this_machine_uses_is_not_taken() -> None:
    used = [ipaddress.IPv4Network(text) for text in ("0.0.0.0/0", "10.201.3.0/24", "10.202.0.0/15")]
    assert free_blocks(used)[0] == ipaddress.IPv4Network("10.204.0.0/16")
    assert free_blocks([]) == list(BLOCKS)


def test_link_pods_and_services_share_no_address() -> None:
    addresses = in_block(BLOCKS[0])
    link = ipaddress.IPv4Network("10.201.0.0/30")
    assert ipaddress.IPv4Address(addresses.node) in link
    parts = (link, addresses.pods, addresses.services)
    assert not any(a.overlaps(b) for a in parts for b in parts if a is not b)
    assert addresses.node_pods.subnet_of(addresses.pods)
    assert all(part.subnet_of(addresses.block) for part in parts)


def test_a_process_is_found_by_its_record_and_ended(tmp_path: Path) -> None:
    starter, found = (Daemons(tmp_path, tied=False) for _ in range(2))
    pid = starter.start("one", sleeper())
    assert found.pid("one") == pid
    found.check()
    os.kill(pid, 9)
    end_s = time.monotonic() + WITHIN_S
    while found.pid("one") is not None:
        assert time.monotonic() < end_s, "it does not die"
        time.sleep(0.02)
    with pytest.raises(ProcessDied, match="one ended by itself"):
        found.check()
    starter.kill("one")
    assert starter.names() == []


def test_a_number_that_another_process_has_by_now_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(sleeper())
    try:
        (tmp_path / "pid").mkdir()
        (tmp_path / "pid" / "one").write_text(f"{other.pid} 1 1", encoding="utf-8")
        Daemons(tmp_path, tied=False).kill("one")
        assert other.poll() is None
        assert Daemons(tmp_path, tied=False).names() == []
    finally:
        other.kill()
        other.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties processes to another")
def test_a_tied_process_dies_with_its_starter(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from onenode.process import Daemons\n"
        f"Daemons(Path({str(tmp_path)!r}), tied=True).start('one', {sleeper()!r})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = str(TOOLS.parent)
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == -9
    end_s = time.monotonic() + WITHIN_S
    while Daemons(tmp_path, tied=False).pid("one") is not None:
        assert time.monotonic() < end_s, "it outlived its starter"
        time.sleep(0.02)


def test_an_image_of_one_program_is_whole(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"text")
    pack(program, "localhost/x:1", tmp_path / "x.tar", entry=["/program"])
    with tarfile.open(tmp_path / "x.tar") as archive:
        members = {each.name: archive.extractfile(each) for each in archive}
        content = {name: file.read() for name, file in members.items() if file}
    (manifest,) = json.loads(content["manifest.json"])
    config = json.loads(content[manifest["Config"]])
    (layer,) = manifest["Layers"]
    assert manifest["RepoTags"] == ["localhost/x:1"]
    assert config["config"]["Entrypoint"] == ["/program"]
    found = hashlib.sha256(content[layer]).hexdigest()
    assert config["rootfs"]["diff_ids"] == [f"sha256:{found}"]


def test_the_dockerfile_builds_on_one_image_and_does_not_run_as_root(tmp_path: Path) -> None:
    dockerfile = Place().checkout / "Dockerfile"
    assert base_of(dockerfile).startswith("python:3.")
    assert re.findall(r"^USER (\d+)", dockerfile.read_text(encoding="utf-8"), re.MULTILINE)
    two = tmp_path / "Dockerfile"
    two.write_text("FROM a\nFROM b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must build on one image"):
        base_of(two)


def test_all_that_the_dockerfile_copies_counts_as_a_source_of_the_image() -> None:
    checkout = Place().checkout
    text = (checkout / "Dockerfile").read_text(encoding="utf-8")
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
        for name in line.split()
    ]
    top = {path.relative_to(checkout).parts[0] for path in sources(checkout)}
    assert top == {*copied, "Dockerfile"}


def test_pips_settings_are_handed_on_but_not_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "ca.crt"
    certificate.touch()
    monkeypatch.setenv("PIP_CERT", str(certificate))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    laid_over = pip.volumes(tmp_path)
    assert f"{certificate}:{certificate}:ro" in laid_over
    config = (tmp_path / "pip.conf").read_text(encoding="utf-8")
    assert f"cert = {certificate}" in config
    assert "find-links" not in config


def test_every_program_is_pinned_by_a_module_of_its_own() -> None:
    for binary in LEVEL_2:
        pins = (binary.source / "go.mod").read_text(encoding="utf-8")
        if binary.package != ".":
            assert f"\t{binary.package}\n" in pins or f"tool {binary.package}\n" in pins
        assert "require" not in pins or (binary.source / "go.sum").exists()
        assert binary.digest("go1.26.0") != binary.digest("go1.27.0")


@pytest.mark.parametrize(
    ("tool", "pin"),
    [
        ("kubernetes", f"k8s.io/kubernetes v{KUBERNETES}"),
        ("kubernetes", f"k8s.io/apiserver => k8s.io/apiserver v0.{KUBERNETES.partition('.')[2]}"),
        ("helm", f"helm.sh/helm/v3 v{HELM}"),
    ],
)
def test_a_program_says_the_version_that_its_module_pins(tool: str, pin: str) -> None:
    assert pin in (TOOLS / tool / "go.mod").read_text(encoding="utf-8")
