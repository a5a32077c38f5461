"""The configuration file: YAML (so JSON as well) to a RouterConfig, or an error that says where.

It may be several files, as in the folder of a mounted ConfigMap: each holds some of the top-level
sections. Every problem is told as `FILE:LINE: field: what is wrong`, one a line, for all files at
once. A key that stands twice is a problem, since YAML would silently keep the last one; so is an
unknown key, with the known one that looks most like it.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from steelyard_router.config import RouterConfig
from steelyard_router.discovery.document import Document, Location, compose
from steelyard_router.discovery.stamp import MOUNTED, yaml_files
from steelyard_router.errors import ConfigError

MAX_BYTES = 16 * 1024 * 1024
MAX_TOLD = 20

READ_ATTEMPTS = 3
"""A mounted folder is removed soon after it was replaced: begin again with the new one."""
POLICY_FILE = "policy.yaml"
SERVICE_FILE = "service.yaml"
POLICY_KEYS = ("policy", "policy_ref", "shadow", "shadow_ref")
"""What comes from SLOPolicies; the rest comes from the service."""


def load_config(path: str | Path) -> RouterConfig:
    """Read and check the file, or all *.yaml of the folder. ConfigError tells each problem with its
    file, line and field.
    """
    path = Path(path)
    if not path.is_dir():
        return parse_config(_read(path), str(path))
    return parse_configs(_read_folder(path), str(path))


def parse_config(text: str, name: str) -> RouterConfig:
    """The same for text that is already there; `name` stands for the file in errors."""
    file = compose(text, name)
    if file is None:
        raise ConfigError(f"{name}:1: the file is empty; a router needs service.endpoints in it")
    return _checked(file.content, [file])


def parse_configs(texts: Mapping[str, str], place: str) -> RouterConfig:
    """The same for several files' texts by name. A section stands in one of them only; `place` is
    where all of them are.
    """
    found = [compose(text, f"{place}/{name}") for name, text in sorted(texts.items())]
    files = [file for file in found if file is not None]
    if not files:
        raise ConfigError(f"{place}: no *.yaml file with anything in it; is it the right place?")
    return _checked(_merged(files), files)


def dump_config(config: RouterConfig) -> dict[str, str]:
    """The texts of the two files that say the same, by name: parsed, they have its revision."""
    said = config.model_dump(mode="json", exclude_unset=True)
    policy = {key: said.pop(key) for key in POLICY_KEYS if key in said}
    return {
        name: yaml.safe_dump(part, sort_keys=True)
        for name, part in ((SERVICE_FILE, said), (POLICY_FILE, policy))
    }


def _merged(files: Sequence[Document]) -> dict[object, object]:
    """The sections of all files. ConfigError for one that stands twice."""
    merged: dict[object, object] = {}
    owners: dict[object, Document] = {}
    for file in files:
        if not isinstance(file.content, dict):
            raise ConfigError(f"{file.name}:1: sections are expected here, such as `policy:`")
        for key in file.content:
            if (first := owners.setdefault(key, file)) is not file:
                line = file.line_at([str(key)])
                raise ConfigError(
                    f"{file.name}:{line}: {key}: stands in {first.name} as well; remove one"
                )
        merged |= file.content
    return merged


def _checked(content: object, files: Sequence[Document]) -> RouterConfig:
    try:
        return RouterConfig.model_validate(content)
    except ValidationError as error:
        told = _all_told(error.errors(include_url=False), files)
        raise ConfigError("\n".join(told)) from error


def _all_told(details: list[ErrorDetails], files: Sequence[Document]) -> list[str]:
    """One line a problem, in the order of the files and lines."""
    placed = [(_owner(files, detail["loc"]), detail) for detail in details]
    placed.sort(key=lambda item: (item[0], files[item[0]].line_at(item[1]["loc"])))
    told = [_told(files[at], detail) for at, detail in placed[:MAX_TOLD]]
    if len(placed) > MAX_TOLD:
        told.append(f"{files[0].name}: and {len(placed) - MAX_TOLD} more problems")
    return told


def _owner(files: Sequence[Document], location: Location) -> int:
    """Which file has the section; the first one, if none has."""
    section = location[0] if location else None
    holders = (
        at
        for at, file in enumerate(files)
        if isinstance(file.content, dict) and section in file.content
    )
    return next(holders, 0)


def _read_folder(folder: Path) -> dict[str, str]:
    """All files of one moment: of a mounted ConfigMap, those that one swap brought."""
    for _ in range(READ_ATTEMPTS - 1):
        try:
            return _read_files(folder)
        except ConfigError:
            continue
    return _read_files(folder)


def _read_files(folder: Path) -> dict[str, str]:
    mounted = folder / MOUNTED
    try:
        paths = yaml_files(mounted.resolve(strict=True) if mounted.exists() else folder)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot read the configuration: {error}") from error
    return {path.name: _read(path) for path in paths}


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_BYTES >> 20} MiB; is it the right file?")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from error


def _told(file: Document, detail: ErrorDetails) -> str:
    location = detail["loc"]
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in location).lstrip(".")
    return f"{file.name}:{file.line_at(location)}: {field or 'the file'}: {_problem(detail)}"


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
