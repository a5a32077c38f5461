"""The configuration file: YAML (so JSON as well) to a RouterConfig, or an error that says where.

Every problem is told as `FILE:LINE: field: what is wrong`, one a line, for the whole file at once.
A key that stands twice is a problem, since YAML would silently keep the last one; so is an unknown
key, with the known one that looks most like it.
"""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from steelyard_router.config import RouterConfig
from steelyard_router.errors import ConfigError

Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where it is there: ten times as fast, and a reload shares its core with requests."""

MAX_BYTES = 16 * 1024 * 1024
MAX_NODES = 1_000_000
"""What the file may expand to: a few aliases of aliases would otherwise fill any memory."""
MAX_TOLD = 20

Location = Sequence[int | str]


def load_config(path: str | Path) -> RouterConfig:
    """Read and check the file. ConfigError tells each problem with its line and field."""
    path = Path(path)
    return parse_config(_read(path), str(path))


def parse_config(text: str, name: str) -> RouterConfig:
    """The same for text that is already there; `name` stands for the file in errors."""
    root, content = _compose(text, name)
    try:
        return RouterConfig.model_validate(content)
    except ValidationError as error:
        details = sorted(
            error.errors(include_url=False), key=lambda detail: _line_at(root, detail["loc"])
        )
        told = [_told(name, root, detail) for detail in details[:MAX_TOLD]]
        if len(details) > MAX_TOLD:
            told.append(f"{name}: and {len(details) - MAX_TOLD} more problems")
        raise ConfigError("\n".join(told)) from error


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_BYTES >> 20} MiB; is it the right file?")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from error


def _compose(text: str, name: str) -> tuple[yaml.Node, object]:
    """The tree, which knows the lines, and the plain content made of it."""
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise ConfigError(
                f"{name}:1: the file is empty; a router needs service.endpoints in it"
            )
        _check_tree(root, name)
        return root, loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(f"{name}:{line}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{name}: not YAML: {str(error).splitlines()[0]}") from error
    finally:
        loader.dispose()


def _check_tree(root: yaml.Node, name: str) -> None:
    """ConfigError for keys that stand twice, and for aliases that expand without bound."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if (known := sizes.get(id(node))) is not None:
            return known
        sizes[id(node)] = MAX_NODES  # while inside: an alias to what contains it has no size
        sizes[id(node)] = total = 1 + sum(size(child) for child in _children(node, name))
        if total > MAX_NODES:
            raise ConfigError(f"{name}:{_line(node)}: expands to more than {MAX_NODES:,} values")
        return total

    size(root)


def _children(node: yaml.Node, name: str) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            yield key
            yield value
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                problem = f"stands twice (first in line {seen[key.value]}); remove one"
                raise ConfigError(f"{name}:{_line(key)}: {key.value}: {problem}")
            seen[key.value] = _line(key)


def _told(name: str, root: yaml.Node, detail: ErrorDetails) -> str:
    location = detail["loc"]
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in location).lstrip(".")
    return f"{name}:{_line_at(root, location)}: {field or 'the file'}: {_problem(detail)}"


def _problem(detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        *parent, key = detail["loc"]
        near = difflib.get_close_matches(str(key), _fields_at(parent), n=1, cutoff=0.5)
        return f"unknown field; did you mean `{near[0]}`?" if near else "unknown field"
    if detail["type"] == "missing":
        return "is missing"
    message = detail["msg"].removeprefix("Value error, ")
    given = detail["input"]
    shown = isinstance(given, str | int | float) and detail["type"] != "value_error"
    return f"{message} (given: {str(given)[:64]!r})" if shown else message


def _fields_at(location: Location) -> list[str]:
    """The fields of the section at a location."""
    model: type[BaseModel] = RouterConfig
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _section_in(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _section_in(annotation: object) -> type[BaseModel] | None:
    """The section that an annotation such as `tuple[Endpoint, ...]` or `Weights | None` is
    about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section_in, get_args(annotation))), None)


def _line_at(root: yaml.Node, location: Location) -> int:
    """The line of the field, or of the nearest section around it that the file has."""
    node, line = root, _line(root)
    for part in location:
        if isinstance(node, yaml.MappingNode):
            entry = next(((k, v) for k, v in node.value if k.value == part), None)
            if entry is None:
                break
            key, node = entry
            line = _line(key)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = _line(node)
    return line


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
