"""docs/troubleshooting.md has a row for every reason of a condition, and for nothing else."""

import ast
import re
from collections.abc import Iterator

from support.helm import ROOT

PLAN = ROOT / "operator" / "steelyard_operator" / "plan"
SOURCES = sorted([*PLAN.glob("*.py"), *PLAN.glob("status/*.py")])
GIVES_REASONS = {"Condition", "Blocker", "Finding", "refused", "trouble", "Trouble"}
CAMEL = re.compile(r"[A-Z][a-z]+([A-Z][a-zA-Z]*)*")
OTHERS = {
    *("True", "False", "Unknown", "Ready", "Stalled", "EngineAvailable", "RouterAvailable"),
    *("AlertFiring", "PredictionDrift", "Deployment"),
}
"""Types and statuses of conditions, which stand beside reasons."""


def test_every_reason_has_a_row() -> None:
    assert _given() - OTHERS <= _documented()


def test_every_row_is_about_a_reason_that_is_given() -> None:
    words = {text for path in SOURCES for text in _strings(ast.parse(path.read_text("utf-8")))}

    assert _documented() <= words


def _documented() -> set[str]:
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8").partition("## The operator")[0]
    cells = re.findall(r"^\| ([A-Z][A-Za-z, ]+) \|", text, re.MULTILINE)
    return {name for cell in cells for name in cell.split(", ")}


def _given() -> set[str]:
    """What is passed to what makes a condition; constants by their values."""
    found: set[str] = set()
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)
            if name in GIVES_REASONS:
                for argument in call.args:
                    found |= set(_strings(argument))
                    found |= {str(constants.get(part, "")) for part in _names(argument)}
    return {text for text in found if CAMEL.fullmatch(text)}


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
