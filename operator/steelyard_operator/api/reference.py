"""Writes the reference pages out of the CRDs (`make reference`).

The schema is the one place where a field is described; `kubectl explain` and these pages show it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Tree = dict[str, Any]
_HIDDEN = frozenset({"apiVersion", "kind", "metadata"})


def page(definition: Tree) -> str:
    """Markdown about one kind."""
    spec = definition["spec"]
    names, (version,) = spec["names"], spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    short, category = names["shortNames"][0], names["categories"][0]
    api_version = f"{spec['group']}/{version['name']}"
    lines = [
        f"# {names['kind']}",
        "",
        "<!-- Made by `make reference` from crds/; edit the descriptions there. -->",
        "",
        schema["description"],
        "",
        f"`apiVersion: {api_version}`; for kubectl `{short}`, and `{category}` for both kinds.",
    ]
    for part in ("spec", "status"):
        lines += ["", f"## {part}", "", "| Field | Type | Meaning |", "|---|---|---|"]
        lines += _rows(schema["properties"][part])
    lines += [
        "",
        "## Rules",
        "",
        "Beside types and bounds, an object is refused when one of these does not hold:",
        "",
    ]
    lines += _rules(schema)
    lines += ["", "## Columns of kubectl get", "", "| Column | Shows |", "|---|---|"]
    lines += _columns(version["additionalPrinterColumns"])
    return "\n".join(lines) + "\n"


def write(crds: Path, docs: Path) -> list[Path]:
    """One page for each definition in `crds`."""
    docs.mkdir(parents=True, exist_ok=True)
    return [_write(path, docs) for path in sorted(crds.glob("*.yaml"))]


def _write(source: Path, docs: Path) -> Path:
    definition = yaml.safe_load(source.read_text(encoding="utf-8"))
    target = docs / f"{definition['spec']['names']['singular']}.md"
    target.write_text(page(definition), encoding="utf-8")
    return target


def _rows(schema: Tree, prefix: str = "") -> Iterator[str]:
    """A row for each field, depth first; items of lists follow their list."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        need = " (required)" if name in required else ""
        yield f"| `{path}`{need} | {_cell(_type(field))} | {_cell(_meaning(field))} |"
        yield from _rows(field, f"{path}.")
        yield from _rows(field.get("items", {}), f"{path}[].")


def _type(field: Tree) -> str:
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    match field["type"]:
        case "array":
            text = f"list ({_between(field, 'Items')}) of {_type(field['items'])}"
        case "integer":
            text = f"integer {_between(field, 'imum')}"
        case "string" if "format" not in field:
            text = f"string ({_between(field, 'Length')} characters)"
        case "object" if "additionalProperties" in field:
            text = f"map ({_between(field, 'Properties')}) of strings"
        case kind:
            text = str(field.get("format", kind))
    return text.strip()


def _between(field: Tree, suffix: str) -> str:
    low, high = field.get(f"min{suffix}"), field.get(f"max{suffix}")
    if low is None:
        return "" if high is None else f"up to {high}"
    return f"from {low}" if high is None else f"{low} to {high}"


def _meaning(field: Tree) -> str:
    default = f" Default {field['default']}." if isinstance(field.get("default"), str) else ""
    return f"{field['description']}{default}"


def _rules(schema: Tree, path: str = "") -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield f"- `{path or 'metadata.name'}`: {rule['message']}."
    for name, field in schema.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        yield from _rules(field, inner)
        yield from _rules(field.get("items", {}), f"{inner}[]")


def _columns(columns: list[Tree]) -> Iterator[str]:
    for column in columns:
        wide = " (with `-o wide`)" if column.get("priority") else ""
        yield f"| {column['name']}{wide} | {_cell(column.get('description') or _shown(column))} |"


def _shown(column: Tree) -> str:
    return f"`{column['jsonPath'].removeprefix('.')}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    for written in write(Path(sys.argv[1]), Path(sys.argv[2])):
        sys.stdout.write(f"{written}\n")
