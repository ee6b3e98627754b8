"""The evidence and the embedded summarizer stay small enough for one person to carry on."""

from __future__ import annotations

import ast
from pathlib import Path

import compact.evidence
import compact.summarizers.extractive

FILES = sorted(
    path
    for package in (compact.evidence, compact.summarizers.extractive)
    for path in Path(package.__file__).parent.rglob("*.py")
)
SCREEN = 40


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_both_have_at_most_3000_lines() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= 3_000


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path.name}: {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and lines_of(node) > 60
    ]
    assert not long


def test_no_list_of_words_or_patterns_is_longer_than_a_screen() -> None:
    """What a language needs is data, in a file under tongues/. The table of strategies is neither."""
    long = [
        f"{path.name}: line {node.lineno}"
        for path in FILES
        if path.name != "strategies.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and lines_of(node) > SCREEN
    ]
    assert not long
