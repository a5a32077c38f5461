"""The models and the CRDs say the same: what a cluster accepts `steelyard up` accepts too."""

from typing import Any

import pytest
from support.crd import Tree, nodes, root

from steelyard_operator.api.base import Model
from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy

MODELS: dict[str, type[Model]] = {"LLMService": LLMService, "SLOPolicy": SLOPolicy}
BOUNDS = (
    *("enum", "pattern", "minLength", "maxLength", "minimum", "maximum"),
    *("minItems", "maxItems", "maxProperties", "default"),
)


def modelled(kind: str) -> dict[str, Tree]:
    """Every field of the spec of a model, by path, in the terms of the CRD."""
    schema = MODELS[kind].model_json_schema(by_alias=True)
    plain = _plain(schema["properties"]["spec"], schema["$defs"])
    return dict(nodes(plain, "spec"))


def _plain(schema: Tree, known: Tree) -> Tree:
    """Without references, nulls and titles."""
    if "$ref" in schema:
        target = known[schema["$ref"].rsplit("/", 1)[1]]
        return _plain({**target, **{k: v for k, v in schema.items() if k != "$ref"}}, known)
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
        if len(kinds) > 1:
            assert [one["type"] for one in kinds] == ["integer", "string"]
            return {"type": "int-or-string"}
        return _plain({**kinds[0], "default": schema.get("default")}, known)
    found = {key: schema[key] for key in ("type", *BOUNDS) if schema.get(key) not in (None, [], {})}
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if found["type"] == "object" and schema.get("additionalProperties") is True:
        return {"type": "untyped"}
    if not isinstance(found.get("default"), str):
        found.pop("default", None)
    if "properties" in schema:
        found["properties"] = {k: _plain(v, known) for k, v in schema["properties"].items()}
        found["required"] = sorted(schema.get("required", []))
    if "items" in schema:
        found["items"] = _plain(schema["items"], known)
    if isinstance(schema.get("additionalProperties"), dict):
        found["additionalProperties"] = _plain(schema["additionalProperties"], known)
    return found


def defined(kind: str) -> dict[str, Tree]:
    return dict(nodes(root(kind)["properties"]["spec"], "spec"))


def _facts(schema: Tree) -> dict[str, Any]:
    """What both sides must agree on about one field."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("type") == "int-or-string":
        return {"type": "int-or-string"}
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("type") == "untyped":
        return {"type": "untyped"}
    facts = {key: schema[key] for key in ("type", *BOUNDS) if key in schema}
    if "enum" in facts:
        facts["enum"] = sorted(facts["enum"])
    if "properties" in schema:
        facts["required"] = sorted(schema.get("required", []))
    return facts


@pytest.mark.parametrize("kind", MODELS)
def test_every_field_of_the_models_is_in_the_crd_and_the_other_way_round(kind: str) -> None:
    assert sorted(modelled(kind)) == sorted(defined(kind))


@pytest.mark.parametrize("kind", MODELS)
def test_types_bounds_and_enums_of_all_fields_are_equal(kind: str) -> None:
    ours, theirs = modelled(kind), defined(kind)

    differences = {
        path: (_facts(ours[path]), _facts(theirs[path]))
        for path in ours
        if _facts(ours[path]) != _facts(theirs[path])
    }

    assert differences == {}


def test_a_difference_of_one_bound_is_noticed() -> None:
    assert _facts({"type": "integer", "maximum": 1}) != _facts({"type": "integer", "maximum": 2})
    assert _facts({"type": "object", "properties": {}, "required": ["a"]}) != _facts(
        {"type": "object", "properties": {}}
    )
