"""Where things are in a YAML file, so that an error can name its line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

Location = tuple[int | str, ...]
"""A path into a document, as pydantic reports it: keys and list positions."""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, and the nodes that remember the lines."""

    value: Any
    node: yaml.Node

    def line(self, location: Location) -> int:
        """Line (from 1) of the deepest part of `location` that is there."""
        node, line = self.node, self.node.start_mark.line
        for part in location:
            found = _child(node, part)
            if found is None:
                break
            key, node = found
            line = key.start_mark.line
        return line + 1

    def repeated_keys(self) -> Iterator[tuple[str, int]]:
        """Keys given twice in one mapping (YAML readers keep the last), with their lines."""
        seen: set[int] = set()
        stack = [self.node]
        while stack:
            node = stack.pop()
            if id(node) in seen or not isinstance(node, yaml.CollectionNode):
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                yield from _repeated(node)
                stack.extend(value for _, value in node.value)
            else:
                stack.extend(node.value)


def documents(text: str) -> Iterator[Document]:
    """The non-empty documents of a YAML text. Raises yaml.YAMLError."""
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None
            value = _value(loader, node)
            if value is not None:
                yield Document(value, node)
    finally:
        loader.dispose()


def _value(loader: yaml.SafeLoader, node: yaml.Node) -> object:
    try:
        return loader.construct_document(node)
    except ValueError as error:  # such as the date 2024-13-45
        raise yaml.MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error


def _child(node: yaml.Node, part: int | str) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def _repeated(node: yaml.MappingNode) -> Iterator[tuple[str, int]]:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            yield key.value, key.start_mark.line + 1
        seen.add(key.value)
