"""Packs programs that need nothing else into images: what FROM scratch makes, without a builder."""

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path


def pack(program: Path, image: str, archive: Path, *, entry: Sequence[str]) -> None:
    """An archive as `docker save` writes it, for containerd to import."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(program, arcname=program.name)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": list(entry)},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{}],
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": [image], "Layers": [layer_name]}]
    with tarfile.open(archive, "w") as tar:
        _add(tar, config_name, config)
        _add(tar, layer_name, layer.getvalue())
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
