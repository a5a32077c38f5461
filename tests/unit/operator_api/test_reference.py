"""The reference pages say what the schemas say."""

from pathlib import Path

import pytest
from support.crd import CRDS, KINDS, definition, nodes, root

from steelyard_operator.api.reference import page, write

DOCS = Path(__file__).parents[3] / "docs" / "reference"


def test_the_committed_pages_are_current(tmp_path: Path) -> None:
    for made in write(CRDS, tmp_path):
        committed = DOCS / made.name
        assert committed.read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), (
            f"{committed} is not what crds/ says: run `make reference`"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_every_field_rule_and_column(kind: str) -> None:
    text = page(definition(kind))

    for part in ("spec", "status"):
        for path, schema in nodes(root(kind)["properties"][part]):
            if path and not path.endswith(("[]", "{}")):
                assert f"| `{path}`" in text
            for rule in schema.get("x-kubernetes-validations", ()):
                assert rule["message"] in text
