"""Examples and documentation: each manifest in them is one that the product takes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.helm import ROOT, Helm, Object, leaves

from steelyard_operator.api.base import API_VERSION
from steelyard_operator.api.manifest import read

EXAMPLES = ROOT / "examples"
MANIFESTS = sorted(path for path in EXAMPLES.rglob("*.yaml") if "install" not in path.parts)
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("charts/*/README.md")])
HELM_LABELS = ("helm.sh/chart", "app.kubernetes.io/managed-by")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_every_example_is_whole(path: Path) -> None:
    objects = _documents(path.read_text(encoding="utf-8"))

    assert objects
    ours = [item for item in objects if item.get("apiVersion") == API_VERSION]
    if ours:
        found = read([path])
        assert len(found.services) + len(found.policies) == len(objects)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_manifest_in_the_documentation_is_valid(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(_blocks(page.read_text(encoding="utf-8"))):
        ours = [item for item in _documents(block) if item.get("apiVersion") == API_VERSION]
        if ours:
            file = tmp_path / f"{page.stem}-{number}.yaml"
            file.write_text(yaml.safe_dump_all(ours), encoding="utf-8")
            read([file])


def test_every_value_set_in_the_documentation_exists() -> None:
    values = yaml.safe_load((ROOT / "charts/steelyard/values.yaml").read_text(encoding="utf-8"))
    known = {key for key, _ in leaves(values)}

    for page in PAGES:
        for key in re.findall(r"--set[= ]'?([\w.]+)=", page.read_text(encoding="utf-8")):
            assert any(f"{key}.".startswith(f"{name}.") for name in known), f"{page.name}: {key}"


def test_every_page_and_file_that_is_named_exists() -> None:
    pattern = re.compile(r"(?<![\w/.])((?:docs|examples|charts|crds)/[\w./-]*\w)")

    for page in PAGES:
        for name in pattern.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists() or (page.parent / name).exists(), f"{page.name}: {name}"


def test_values_given_through_gitops_are_taken(helm: Helm) -> None:
    (argo,) = _load("argocd/operator.yaml")
    release = next(i for i in _load("flux/operator.yaml") if i["kind"] == "HelmRelease")

    for values in (argo["spec"]["source"]["helm"]["valuesObject"], release["spec"]["values"]):
        assert helm.template(values).one("Deployment")
    assert (ROOT / argo["spec"]["source"]["path"] / "Chart.yaml").exists()
    assert (ROOT / release["spec"]["chart"]["spec"]["chart"] / "Chart.yaml").exists()


def test_every_source_that_flux_is_pointed_at_is_there() -> None:
    objects = [*_load("flux/operator.yaml"), *_load("flux/models.yaml")]
    sources = {i["metadata"]["name"] for i in objects if i["kind"] == "GitRepository"}

    (release,) = [i for i in objects if i["kind"] == "HelmRelease"]
    (kustomization,) = [i for i in objects if i["kind"] == "Kustomization"]
    assert release["spec"]["chart"]["spec"]["sourceRef"]["name"] in sources
    assert kustomization["spec"]["sourceRef"]["name"] in sources


def test_the_folder_that_gitops_applies_lists_all_its_files() -> None:
    (kustomization,) = _load("models/kustomization.yaml")

    files = {path.name for path in (EXAMPLES / "gitops" / "models").glob("*.yaml")}
    assert set(kustomization["resources"]) == files - {"kustomization.yaml"}


def test_the_plain_manifests_are_those_of_the_chart(helm: Helm) -> None:
    text = (EXAMPLES / "install" / "steelyard.yaml").read_text(encoding="utf-8")

    rendered = helm.template({"crds": {"enabled": False}}).objects
    assert _documents(text) == [_unlabelled(item) for item in rendered], "run `make chart`"


def _load(name: str) -> list[Object]:
    return _documents((EXAMPLES / "gitops" / name).read_text(encoding="utf-8"))


def _documents(text: str) -> list[Object]:
    return [item for item in yaml.safe_load_all(text) if isinstance(item, dict)]


def _blocks(text: str) -> Iterator[str]:
    """Fenced YAML, and the manifests that are fed to kubectl in a shell block."""
    yield from re.findall(r"^```ya?ml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    yield from re.findall(r"<<'?(?:EOF|YAML)'?\n(.*?)^(?:EOF|YAML)", text, re.MULTILINE | re.DOTALL)


def _unlabelled(item: Any) -> Any:
    """Without the labels that only Helm may set."""
    if isinstance(item, dict):
        return {key: _unlabelled(part) for key, part in item.items() if key not in HELM_LABELS}
    return [_unlabelled(part) for part in item] if isinstance(item, list) else item
