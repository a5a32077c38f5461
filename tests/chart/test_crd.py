"""The chart's CustomResourceDefinitions are those of crds/, and are kept when it goes."""

import yaml
from support.helm import CHART, ROOT, Helm, Object

SOURCES = sorted((ROOT / "crds").glob("*.yaml"))


def test_the_chart_has_a_copy_of_every_crd() -> None:
    copies = sorted((CHART / "files" / "crds").glob("*.yaml"))

    assert [path.name for path in copies] == [path.name for path in SOURCES]
    assert len(copies) == 2
    for copy, source in zip(copies, SOURCES, strict=True):
        assert copy.read_bytes() == source.read_bytes(), f"{copy} is old: run `make chart`"


def test_rendering_changes_nothing_but_labels_and_the_keep_annotation(helm: Helm) -> None:
    rendered = helm.template().of("CustomResourceDefinition")

    assert len(rendered) == len(SOURCES)
    for source in (_load(path.read_text(encoding="utf-8")) for path in SOURCES):
        (found,) = [i for i in rendered if i["metadata"]["name"] == source["metadata"]["name"]]
        labels = found["metadata"].pop("labels")
        assert source["metadata"].pop("labels", {}).items() <= labels.items()
        annotations = found["metadata"].pop("annotations")
        assert annotations.pop("helm.sh/resource-policy") == "keep"
        assert annotations == source["metadata"].pop("annotations", {})
        assert found == source


def test_crds_go_with_the_release_only_when_asked_to(helm: Helm) -> None:
    for crd in helm.template({"crds": {"keep": False}}).of("CustomResourceDefinition"):
        assert "helm.sh/resource-policy" not in crd["metadata"].get("annotations", {})


def test_gitops_tools_can_tell_an_object_that_nobody_has_looked_at_yet() -> None:
    for source in (_load(path.read_text(encoding="utf-8")) for path in SOURCES):
        for version in source["spec"]["versions"]:
            status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
            assert status["default"] == {"observedGeneration": -1}


def _load(text: str) -> Object:
    loaded: Object = yaml.safe_load(text)
    return loaded
