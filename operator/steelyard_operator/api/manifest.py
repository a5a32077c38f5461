"""Reads manifest files: every object in them, or every problem with them at once.

A problem names the file, the line, the object and the field. Nothing is half read: one problem in
any file means no objects, so that a running plan is only ever replaced by a whole one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from steelyard_operator.errors import ManifestError, Problem

from .base import API_VERSION
from .llmservice import LLMService
from .position import Document, Location, documents
from .reason import dotted, is_consequence, reason, suggestion
from .slopolicy import SLOPolicy

KINDS: dict[str, type[LLMService] | type[SLOPolicy]] = {
    "LLMService": LLMService,
    "SLOPolicy": SLOPolicy,
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The objects of some files, in their order."""

    services: tuple[LLMService, ...] = ()
    policies: tuple[SLOPolicy, ...] = ()


def read(paths: Iterable[Path]) -> Manifest:
    """All objects of all files. Raises ManifestError with every problem."""
    objects: dict[tuple[str, str, str], LLMService | SLOPolicy] = {}
    problems: list[Problem] = []
    for path in paths:
        for found in _file(path):
            if isinstance(found, Problem):
                problems.append(found)
                continue
            line, item = found
            key = (item.kind, item.metadata.namespace, item.metadata.name)
            if key in objects:
                subject = f"{item.kind}/{item.metadata.name}"
                problems.append(Problem(str(path), line, subject, "", "this object is given twice"))
            objects[key] = item
    if problems:
        raise ManifestError(problems)
    return Manifest(
        tuple(item for item in objects.values() if isinstance(item, LLMService)),
        tuple(item for item in objects.values() if isinstance(item, SLOPolicy)),
    )


def _file(path: Path) -> Iterator[Problem | tuple[int, LLMService | SLOPolicy]]:
    """The objects of one file with their first lines, and its problems."""
    empty = True
    try:
        for document in documents(path.read_text(encoding="utf-8")):
            empty = False
            yield from _object(str(path), document)
    except yaml.YAMLError as error:
        yield _not_yaml(str(path), error)
    except RecursionError:
        yield Problem(str(path), 1, "", "", "is nested too deeply")
    except UnicodeDecodeError as error:
        yield Problem(str(path), 1, "", "", f"is not UTF-8 text: {error.reason}")
    except OSError as error:
        yield Problem(str(path), 1, "", "", f"cannot be read: {error.strerror}")
    else:
        if empty:
            yield Problem(str(path), 1, "", "", "holds no object; expected LLMService or SLOPolicy")


def _object(
    path: str, document: Document
) -> Iterator[Problem | tuple[int, LLMService | SLOPolicy]]:
    repeated = [
        Problem(path, line, _subject(document.value), key, "is given twice in one mapping")
        for key, line in document.repeated_keys()
    ]
    head = _head(path, document)
    if repeated or head is not None:
        yield from repeated
        if head is not None:
            yield head
        return
    model = KINDS[document.value["kind"]]
    try:
        yield document.line(()), model.model_validate(document.value)
    except ValidationError as error:
        yield from _invalid(path, document, error, model)


def _head(path: str, document: Document) -> Problem | None:
    """What is wrong with apiVersion and kind, which decide how the rest is read."""
    value = document.value

    def problem(field: str, text: str) -> Problem:
        location: Location = (field,) if field else ()
        return Problem(path, document.line(location), _subject(value), field, text)

    if not isinstance(value, dict):
        return problem("", "is not an object: expected apiVersion, kind, metadata and spec")
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or kind not in KINDS:
        return problem("kind", f"unknown kind {kind!r}{suggestion(str(kind), KINDS)}")
    if version != API_VERSION:
        return problem("apiVersion", f"must be {API_VERSION}, not {version!r}")
    return None


def _invalid(
    path: str, document: Document, error: ValidationError, model: type[LLMService] | type[SLOPolicy]
) -> Sequence[Problem]:
    subject = _subject(document.value)
    problems = [
        Problem(path, document.line(item["loc"]), subject, dotted(item["loc"]), reason(item, model))
        for item in error.errors(include_url=False)
        if not is_consequence(item)
    ]
    return sorted(problems, key=lambda problem: problem.line)


def _not_yaml(path: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    text = getattr(error, "problem", None) or str(error)
    return Problem(path, mark.line + 1 if mark else 1, "", "", f"is not YAML: {text}")


def _subject(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return "/".join(str(part) for part in (value.get("kind"), name) if part)
