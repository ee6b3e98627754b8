"""Line coverage that costs a few percent: `pytest --coverage`.

A tracer slows down every call of every library; on Python 3.11 it doubles the time of a test. Instead, the
package is compiled with a mark before each statement, which records its line. Coverage.py creates the report,
with the settings of `[tool.coverage]`. Workers send their lines to the controller; processes that a test
starts are not measured.
"""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

MARKS = "__lines_run__"
"""The name of the marks in a measured module: one per line, true once the line has run."""


def mark_lines(node: ast.AST) -> None:
    """Puts `__lines_run__[line] = True` before every statement; expressions contain none."""
    for field in ("body", "orelse", "finalbody"):
        if block := getattr(node, field, None):
            for statement in block:
                mark_lines(statement)
            setattr(node, field, [*_entered(node), *_marked(block)])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        mark_lines(part)


def _marked(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    passed: list[int] = []
    for statement in block:
        decorators = getattr(statement, "decorator_list", [])
        passed += [statement.lineno, *(one.lineno for one in decorators)]
        if not _stays_first(statement):
            yield _mark(statement, passed)
            passed = []
        yield statement
    if passed:
        yield _mark(block[-1], passed)


def _stays_first(statement: ast.stmt) -> bool:
    """Nothing may come before docstrings and future imports: the next mark covers them too."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _entered(node: ast.AST) -> Iterator[ast.stmt]:
    """`except` and `case` are not statements: their line has run once their block is entered."""
    if isinstance(node, ast.ExceptHandler):
        yield _mark(node, [node.lineno])
    elif isinstance(node, ast.match_case):
        yield _mark(node.pattern, [node.pattern.lineno])


def _mark(place: ast.stmt | ast.ExceptHandler | ast.pattern, lines: list[int]) -> ast.stmt:
    at = {name: getattr(place, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    targets: list[ast.expr] = [
        ast.Subscript(ast.Name(MARKS, ast.Load(), **at), ast.Constant(line, **at), ast.Store(), **at)
        for line in lines
    ]
    return ast.Assign(targets, ast.Constant(True, **at), **at)


class MarkingLoader(SourceFileLoader):
    """Compiles a module with marks; never uses the bytecode files of ordinary runs."""

    def __init__(self, name: str, path: str, marks: dict[str, list[bool]]) -> None:
        super().__init__(name, path)
        self._marks = marks

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        mark_lines(tree)
        return compile(tree, self.path, "exec", dont_inherit=True)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        lines = self.get_data(self.path).count(b"\n") + 2
        # Keep the same marks if a test loads the module again.
        vars(module)[MARKS] = self._marks.setdefault(self.path, [False] * lines)
        super().exec_module(module)


class LineCoverage:
    """Measures the packages of `[tool.coverage.run]` in this process, and reports in the controller."""

    def __init__(self, config: pytest.Config) -> None:
        from coverage import Coverage

        self._coverage = Coverage(data_file=None, config_file=str(config.rootpath / "pyproject.toml"))
        self._packages: list[str] = self._coverage.get_option("run:source")  # type: ignore[assignment]
        self._marks: dict[str, list[bool]] = {}
        self._lines: dict[str, set[int]] = {}
        self._report = ""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self._packages:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = MarkingLoader(spec.loader.name, spec.loader.path, self._marks)
        return spec

    def came_late(self) -> bool:
        return any(package in sys.modules for package in self._packages)

    def add(self, lines: dict[str, list[int]]) -> None:
        for path, ran in lines.items():
            self._lines.setdefault(path, set()).update(ran)

    def ran_here(self) -> dict[str, list[int]]:
        return {path: [line for line, ran in enumerate(marks) if ran] for path, marks in self._marks.items()}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["lines_run"] = self.ran_here()
            return
        self.add(self.ran_here())
        # A module that no test has loaded counts too.
        for package in self._packages:
            spec = find_spec(package)
            for folder in (spec and spec.submodule_search_locations) or ():
                self.add({str(path): [] for path in Path(folder).rglob("*.py")})
        table = io.StringIO()
        self._coverage.get_data().add_lines(self._lines)
        total = self._coverage.report(file=table)
        least = float(self._coverage.get_option("report:fail_under") or 0)  # type: ignore[arg-type]
        self._report = f"{table.getvalue()}\n{total:.2f} % of the lines ran; at least {least:g} % must.\n"
        if total < least and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.add(getattr(node, "workeroutput", {}).get("lines_run", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("coverage")
        terminalreporter.write(self._report)

    def pytest_unconfigure(self) -> None:
        sys.meta_path.remove(self)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--coverage", action="store_true", help="report which lines of the package ran")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--coverage"):
        return
    measuring = LineCoverage(config)
    if measuring.came_late():
        raise pytest.UsageError(
            "--coverage is for all tests: a conftest.py here loads the package first. Use --cov."
        )
    sys.meta_path.insert(0, measuring)
    config.pluginmanager.register(measuring, "line-coverage")
