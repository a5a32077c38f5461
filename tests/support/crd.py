"""The two custom resource definitions, as YAML has them, and ways through their schemas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Tree = dict[str, Any]
CRDS = Path(__file__).parents[2] / "crds"
KINDS = {
    "LLMService": "steelyard.io_llmservices.yaml",
    "SLOPolicy": "steelyard.io_slopolicies.yaml",
}


def definition(kind: str) -> Tree:
    found: Tree = yaml.safe_load((CRDS / KINDS[kind]).read_text(encoding="utf-8"))
    return found


def version(kind: str) -> Tree:
    """The only version that there is."""
    (only,) = definition(kind)["spec"]["versions"]
    found: Tree = only
    return found


def root(kind: str) -> Tree:
    found: Tree = version(kind)["schema"]["openAPIV3Schema"]
    return found


def nodes(schema: Tree, path: str = "") -> Iterator[tuple[str, Tree]]:
    """Every schema inside a schema, with its dotted path; items are `[]`, values of maps `{}`."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def misfits(schema: Tree, value: object, path: str = "") -> Iterator[str]:
    """Where a value is not what a schema says: unknown and missing fields, types, bounds, enums."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if not isinstance(value, kinds[schema["type"]]) or type(value) is float:
        yield f"{path}: {value!r} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    elif isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield f"{path}: is too long"
    elif isinstance(value, list):
        if len(value) > schema["maxItems"]:
            yield f"{path}: has too many items"
        for index, item in enumerate(value):
            yield from misfits(schema["items"], item, f"{path}[{index}]")
    elif isinstance(value, dict):
        fields = schema["properties"]
        yield from (f"{path}.{name}: is unknown" for name in value.keys() - fields.keys())
        yield from (
            f"{path}.{name}: is missing" for name in {*schema.get("required", ())} - {*value}
        )
        for name in value.keys() & fields.keys():
            yield from misfits(fields[name], value[name], f"{path}.{name}")
