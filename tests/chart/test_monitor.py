"""Monitors and rules speak of ports, labels and metrics that there are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.helm import ROOT, Helm, Object

ALL = {
    "podMonitor": {"operator": True, "routers": True, "engines": True, "interval": "30s"},
    "prometheusRule": {"enabled": True},
}


def test_no_monitor_is_made_unless_asked_for(helm: Helm) -> None:
    assert not {"PodMonitor", "PrometheusRule"} & helm.template().kinds()


@pytest.mark.parametrize("which", ["operator", "routers", "engines"])
def test_each_monitor_has_its_own_switch(helm: Helm, which: str) -> None:
    (monitor,) = helm.template({"podMonitor": {which: True}}).of("PodMonitor")

    assert monitor["metadata"]["name"] == f"steelyard-{which}"


def test_monitors_keep_the_instance_label_of_the_router(helm: Helm) -> None:
    for monitor in helm.template(ALL).of("PodMonitor"):
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["honorLabels"] is True
        assert endpoint["interval"] == "30s"


def test_monitors_look_where_the_operator_does(helm: Helm) -> None:
    for values, selector in (
        ({}, {"any": True}),
        ({"watchNamespaces": ["team-a"]}, {"matchNames": ["team-a"]}),
    ):
        rendered = helm.template({**ALL, **values})
        assert rendered.one("PodMonitor", "-routers")["spec"]["namespaceSelector"] == selector
        assert "namespaceSelector" not in rendered.one("PodMonitor", "-operator")["spec"]


def test_the_operators_monitor_finds_its_pod_and_port(helm: Helm) -> None:
    rendered = helm.template(ALL)
    monitor = rendered.one("PodMonitor", "-operator")["spec"]
    template = rendered.one("Deployment")["spec"]["template"]

    assert monitor["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    ports = [port["name"] for port in template["spec"]["containers"][0]["ports"]]
    assert monitor["podMetricsEndpoints"][0]["port"] in ports


def test_every_rule_uses_metrics_that_are_exported(helm: Helm) -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in _sources())

    for rule in _rules(helm.template(ALL).one("PrometheusRule")):
        names = re.findall(r"steelyard_\w+", rule["expr"])
        assert names, rule["alert"]
        for name in names:
            base = name.removesuffix("_total").removesuffix("_bucket")
            assert f'"{base}"' in sources, f"{rule['alert']} uses {name}, which nothing exports"


def test_every_rule_is_in_the_documentation(helm: Helm) -> None:
    page = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")

    rules = {rule["alert"] for rule in _rules(helm.template(ALL).one("PrometheusRule"))}
    assert set(re.findall(r"^\| (Steelyard\w+) \|", page, re.MULTILINE)) == rules


def test_every_rule_says_how_bad_it_is_and_what_to_do(helm: Helm) -> None:
    for rule in _rules(helm.template(ALL).one("PrometheusRule")):
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}


def _rules(item: Object) -> Iterator[Object]:
    for group in item["spec"]["groups"]:
        yield from group["rules"]


def _sources() -> Iterator[Path]:
    for package in ("router", "operator"):
        yield from (ROOT / package).rglob("*.py")
