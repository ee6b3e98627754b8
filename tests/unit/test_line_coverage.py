"""The coverage of `make test`: it must not call a line covered that never ran."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PLUGIN = ["-p", "support.line_coverage", "-p", "xdist.plugin", "--coverage"]
MODULE = '''"""A module with every kind of block; the lines that do not run say so."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@dataclass
class Point:
    """A value."""

    x: int
    """Documented."""
    y: int = 0

    @property
    @functools.cache
    def far(self) -> bool:
        """Also documented."""
        return self.x > 10  # no


def choose(value):
    match value:
        case 1:
            return "one"
        case _:  # no
            return "other"  # no


def tried(value):
    try:
        found = 1 / value
    except ZeroDivisionError:
        return None
    except TypeError:  # no
        return "type"  # no
    else:  # no
        return found  # no
    finally:
        value = (
            "several",
            "lines",
        )


def looped():
    for number in range(3):
        if number == 1:
            continue
        elif number > 5:
            break  # no
    else:
        number = 7
    while number > 7:
        number -= 1  # no
    with open(__file__) as file:
        return [
            line
            for line in file
        ]


async def awaited():
    yield 1  # no


def only_a_docstring():
    """Nothing else."""


def last():
    def inner():
        raise ValueError
    try:
        inner()
    except ValueError as error:
        return error
'''
TESTS = """
from sample import module

def test_one():
    assert module.choose(1) == "one" and module.tried(0) is None and module.Point(1).y == 0

def test_two():
    module.looped(), module.only_a_docstring(), module.last()
"""
MISSING = [number for number, line in enumerate(MODULE.splitlines(), 1) if line.endswith("# no")]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[1]}:{pytester.path}")
    # The others have nothing to do here, and some take a second of each process to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.syspathinsert(pytester.path)
    pytester.mkpydir("sample").joinpath("module.py").write_text(MODULE)
    pytester.makepyfile(TESTS)
    return pytester


def settings(project: pytest.Pytester, least: int) -> None:
    project.makepyprojecttoml(
        f"""
        [tool.coverage.run]
        source = ["sample"]
        [tool.coverage.report]
        show_missing = true
        fail_under = {least}
        """
    )


def lines_of(report: str) -> list[int]:
    ranges = re.findall(r"(\d+)(?:-(\d+))?", report)
    return [number for first, last in ranges for number in range(int(first), int(last or first) + 1)]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "parallel"])
def test_the_report_names_exactly_the_lines_that_did_not_run(
    project: pytest.Pytester, options: tuple[str, ...]
) -> None:
    settings(project, 70)
    project.path.joinpath("sample/never_loaded.py").write_text("x = 1\n")
    result = project.runpytest_inprocess(*PLUGIN, *options)
    assert result.ret == pytest.ExitCode.OK
    table = {line.split()[0]: line for line in result.outlines if line.startswith("sample")}
    assert lines_of(table["sample/module.py"].split("%")[1]) == MISSING
    assert table["sample/never_loaded.py"].split()[1:] == ["1", "1", "0%", "1"]


def test_too_few_lines_fail_the_run(project: pytest.Pytester) -> None:
    settings(project, 90)
    result = project.runpytest_inprocess(*PLUGIN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["* of the lines ran; at least 90 % must."])


def test_a_package_that_is_already_loaded_is_not_measured_in_part(project: pytest.Pytester) -> None:
    settings(project, 0)
    project.makeconftest("import sample")
    result = project.runpytest_inprocess(*PLUGIN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--coverage is for all tests*"])
