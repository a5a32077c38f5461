"""Values: wrong ones are refused with the field's name, and the chart's README lists them all."""

import json
import re
from typing import Any

import pytest
import yaml
from support.helm import CHART, Helm, Object, Refused, leaves

VALUES: Object = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replicas": 2}, "replicas"),
        ({"image": {"repo": "x"}}, "repo"),
        ({"image": {"repository": ""}}, "repository"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"image": {"tag": "a b"}}, "tag"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"watchNamespaces": "team-a"}, "watchNamespaces"),
        ({"watchNamespaces": ["Team"]}, "watchNamespaces"),
        ({"watchNamespaces": ["a", "a"]}, "watchNamespaces"),
        ({"crds": {"enabled": "yes"}}, "enabled"),
        ({"crds": {"install": True}}, "install"),
        ({"rbac": {"cluster": True}}, "cluster"),
        ({"serviceAccount": {"create": 1}}, "create"),
        ({"imagePullSecrets": ["registry"]}, "imagePullSecrets"),
        ({"extraArgs": [1]}, "extraArgs"),
        ({"extraEnv": [{"value": "x"}]}, "extraEnv"),
        ({"port": 80}, "port"),
        ({"podLabels": {"a": 1}}, "podLabels"),
        ({"podMonitor": {"enabled": True}}, "enabled"),
        ({"podMonitor": {"interval": "often"}}, "interval"),
        ({"prometheusRule": {"enabled": "x"}}, "enabled"),
        ({"fullnameOverride": "Steelyard"}, "fullnameOverride"),
        ({"nameOverride": "x" * 51}, "nameOverride"),
    ],
)
def test_a_wrong_value_is_refused_by_name(helm: Helm, values: Object, named: str) -> None:
    with pytest.raises(Refused, match=named):
        helm.template(values)


def test_every_value_is_in_the_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    assert _known(schema) - {"global"} == _sections(VALUES)


def test_every_value_is_used_by_a_template() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in CHART.glob("templates/*"))

    for key, _ in leaves(VALUES):
        section = key.split(".")
        used = any(
            re.search(rf"\.Values\.{re.escape('.'.join(section[:depth]))}\b", text)
            for depth in range(len(section), 0, -1)
        )
        assert used, key


def test_the_readme_lists_every_value_with_its_default() -> None:
    text = (CHART / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]*)` \| \S.* \|$", text, re.MULTILINE)

    assert dict(rows) == {key: json.dumps(value) for key, value in leaves(VALUES)}
    assert len(rows) == len(dict(rows))


def _known(schema: Any) -> set[str]:
    """Top-level keys, and those of the sections whose keys are closed."""
    return {
        name if not inner else f"{name}.{inner}"
        for name, part in schema["properties"].items()
        for inner in (part.get("properties") or {"": None})
    }


def _sections(values: Object) -> set[str]:
    open_sections = {"podSecurityContext", "securityContext", "resources"}
    return {
        name if not inner or name in open_sections else f"{name}.{inner}"
        for name, part in values.items()
        for inner in (part if isinstance(part, dict) and part else {"": None})
    }
