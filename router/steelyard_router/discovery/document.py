"""One YAML text as a tree, which knows the lines, and as the plain content made of it.

What YAML would let pass in silence is an error here: a key that stands twice, and aliases that
expand without bound.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import yaml

from steelyard_router.errors import ConfigError

Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where it is there: ten times as fast, and a reload shares its core with requests."""

MAX_NODES = 1_000_000
"""What the file may expand to: a few aliases of aliases would otherwise fill any memory."""

Location = Sequence[int | str]


class Document(NamedTuple):
    """One text as it was read. `name` stands for its file in errors."""

    name: str
    root: yaml.Node
    content: object

    def line_at(self, location: Location) -> int:
        """The line of the field, or of the nearest section around it that the text has."""
        node, line = self.root, _line(self.root)
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


def compose(text: str, name: str) -> Document | None:
    """None when there is nothing in it."""
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check_tree(root, name)
        return Document(name, root, loader.construct_document(root))
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


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
