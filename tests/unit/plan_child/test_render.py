"""`steelyard render --kubernetes`: what the operator would apply, on paper."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from steelyard import render
from steelyard_router.kube.resource import of

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(render.command, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_becomes_documents_of_known_kinds(path: Path) -> None:
    found = list(yaml.safe_load_all(run("--kubernetes", path)))

    services = [
        item for item in yaml.safe_load_all(path.read_text()) if item["kind"] == "LLMService"
    ]
    assert bool(found) == bool(services)
    for body in found:
        assert of(body).kind == body["kind"]
        assert "ownerReferences" not in body["metadata"]


def test_the_image_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    tree = tmp_path / "children.json"
    run("--kubernetes", "--image", "mine:7", "--json", tree, EXAMPLES / "quickstart.yaml")

    images = {
        container["image"]
        for body in json.loads(tree.read_text())
        if body["kind"] == "Deployment"
        for container in body["spec"]["template"]["spec"]["containers"]
    }
    assert images == {"mine:7"}


def test_an_image_without_a_cluster_is_refused() -> None:
    assert "--kubernetes" in run("--image", "mine:7", EXAMPLES / "quickstart.yaml", code=2)


def test_scripts_are_printed_as_lines_and_nothing_by_reference() -> None:
    text = run("--kubernetes", EXAMPLES / "quickstart.yaml")

    assert "import http.client, sys, time\n" in text
    assert not any(word.startswith(("&id", "*id")) for word in text.split())
