"""The one file of an evaluation, build/evaluation.json: what is done is kept in it.

A task's key says all that its figures depend on: cell, policy, seed, trace and code. A task whose
key is there is not done again; one whose key is another is, and until then its old figures stay and
count as stale.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from steelyard_bench.document import read_document
from steelyard_bench.evaluation.cell import Cell, Task
from steelyard_bench.evaluation.grid import SUBJECTS
from steelyard_bench.evaluation.source import SOURCES
from steelyard_bench.evaluation.version import code_version
from steelyard_bench.evaluation.work import Record

FORMAT: Final = 1


class StoreError(Exception):
    """The file is not what it should be; the message says what to do."""


class Store:
    """Records by task."""

    def __init__(self, path: Path, folder: Path, cells: Sequence[Cell]) -> None:
        self._path = path
        self._cells = cells
        self._digests = {name: source.digest(folder) for name, source in SOURCES.items()}
        self._records: dict[str, dict[str, Any]] = {}
        if path.is_file():
            self._records = {record["id"]: record for record in load(path)["runs"]}

    def key(self, task: Task) -> str:
        meant = {
            "format": FORMAT,
            "cell": task.cell.describe(),
            "policy": task.policy,
            "seed": task.seed,
            "search": task.search,
            "curves": task.cell.curves,
            "trace": self._digests[task.cell.source],
            "code": code_version(task.policy),
        }
        raw = orjson.dumps(meant, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(raw).hexdigest()[:16]

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Those that are not done, or not with these inputs."""
        return [task for task in tasks if self._key_of(task) != self.key(task)]

    def put(self, task: Task, record: Record) -> None:
        self._records[task.id] = {
            "id": task.id,
            "cell": task.cell.name,
            **record,
            "policy": task.policy,
            "seed": task.seed,
            "key": self.key(task),
        }

    def write(self, tasks: Sequence[Task], about: Mapping[str, object]) -> dict[str, Any]:
        """All that `tasks` names and that is done, in its order; returns what was written."""
        kept = [self._records[task.id] for task in tasks if task.id in self._records]
        document = {
            "format": FORMAT,
            **about,
            "stale": sum(self._key_of(task) not in (None, self.key(task)) for task in tasks),
            "missing": sum(task.id not in self._records for task in tasks),
            "subjects": list(SUBJECTS),
            "cells": [_described(cell) for cell in self._cells],
            "runs": kept,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        draft.replace(self._path)
        return load(self._path)

    def _key_of(self, task: Task) -> str | None:
        record = self._records.get(task.id)
        return None if record is None else record["key"]


def load(path: Path) -> dict[str, Any]:
    """Raises StoreError."""
    return read_document(path, "evaluation", FORMAT, remedy="remove it", error=StoreError)


def _described(cell: Cell) -> dict[str, object]:
    source = SOURCES[cell.source]
    return {
        "name": cell.name,
        "group": cell.group.value,
        "kind": source.kind.value,
        "curves": cell.curves,
        **cell.describe(),
    }
