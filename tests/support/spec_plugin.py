"""Reports, for every requirement id, how many tests prove it and whether they pass.

A test names what it proves with `@pytest.mark.spec("S2.4")`, or `@pytest.mark.spec("S2.6", part="engine")` if
the id has parts. `pytest -m spec --spec-report=PATH` writes one tab-separated line per id, then totals. Ids,
parts and markers that are not in the list stop the run: a typo must not count as a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

IDS_FILE = Path(__file__).parents[2] / "docs" / "spec-ids.tsv"
PROPERTY = "spec"
_FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass
class Requirement:
    id: str
    parts: tuple[str, ...]
    note: str = ""
    """What else has to be run, if not everything fits into one environment."""
    outcomes: dict[tuple[str, str], bool] = field(default_factory=dict)
    """(part, test) to whether it passed."""

    @property
    def tests(self) -> int:
        return len({test for _, test in self.outcomes})

    @property
    def state(self) -> str:
        if not self.outcomes:
            return "none"
        if not all(self.outcomes.values()):
            return "failed"
        return "partial" if self.missing else "passed"

    @property
    def missing(self) -> list[str]:
        proven = {part for part, _ in self.outcomes}
        return [part for part in self.parts if part not in proven]

    def line(self) -> str:
        columns = [self.id, str(self.tests), self.state]
        if self.outcomes and self.missing:
            columns.append("missing: " + ", ".join(self.missing))
        if self.note:
            columns.append(self.note)
        return "\t".join(columns)


def read_ids(path: Path = IDS_FILE) -> dict[str, Requirement]:
    requirements = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, parts, _description, *note = line.split("\t")
            each = tuple(parts.split(",")) if parts != "-" else ()
            requirements[name] = Requirement(name, each, *note)
    return requirements


def claims(item: pytest.Item, known: dict[str, Requirement]) -> Iterator[tuple[str, str]]:
    """The (id, part) pairs that a test claims to prove; raises UsageError if the list says otherwise."""
    for marker in item.iter_markers(PROPERTY):
        part = marker.kwargs.get("part") or ""
        for name in marker.args:
            if name not in known:
                raise pytest.UsageError(f"{item.nodeid}: no requirement {name!r} in {IDS_FILE.name}")
            parts = known[name].parts
            if part not in (parts or ("",)):
                wanted = f"name one of its parts: {', '.join(parts)}" if parts else "it has no parts"
                raise pytest.UsageError(f"{item.nodeid}: spec({name!r}, part={part!r}): {wanted}")
            yield name, part


class SpecReport:
    """Collects outcomes where reports arrive: in the controller if tests run in parallel."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requirements = read_ids()
        # A stopped or killed run has no result; the report of an earlier run must not remain.
        path.unlink(missing_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A skipped test proves nothing, so it is not counted at all.
        if report.outcome == "skipped" or (report.when != "call" and report.passed):
            return
        for key, value in report.user_properties:
            if key == PROPERTY:
                name, _, part = str(value).partition("/")
                outcomes = self.requirements[name].outcomes
                outcomes[part, report.nodeid] = outcomes.get((part, report.nodeid), True) and report.passed

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        unfinished = session.shouldstop or session.shouldfail
        if unfinished or exitstatus not in _FINISHED:
            return
        found = list(self.requirements.values())
        states = [requirement.state for requirement in found]
        totals = "\t".join(
            f"{state} {states.count(state)}" for state in ("passed", "partial", "failed", "none")
        )
        lines = [requirement.line() for requirement in found]
        lines.append(f"total {len(found)}\t{totals}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec-report", metavar="PATH", help="write the state of every requirement to PATH")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--spec-report")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SpecReport(Path(path)), "spec-report")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = read_ids()
    for item in items:
        for name, part in claims(item, known):
            item.user_properties.append((PROPERTY, f"{name}/{part}"))
