"""The engine room reads top-down: composed, not inherited, and a quiet call passes few modules."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import compact.engine
from support.raw import Desk, assistant, pairs, system, user

ROOM = Path(compact.engine.__file__).parent
OUTSIDE = {"StrEnum", "Exception"}


def test_no_module_inherits_from_another() -> None:
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base) for base in node.bases}
                assert bases <= OUTSIDE, f"{path.name}: {node.name} inherits from {bases}"


def test_only_a_history_writes_its_state() -> None:
    """Its attributes are set in its own module, except the two marks that the session keeps on it."""
    written = {"stored", "possible", "has_originals"}
    for path in ROOM.rglob("*.py"):
        if path.name == "history.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value).endswith("history"):
                    assert path.name == "session.py" and target.attr in written, ast.unparse(node)


def test_no_two_modules_write_the_same_mark_of_a_session() -> None:
    """What a module keeps on the session between calls is its own."""
    writers: dict[str, set[str]] = {}
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for target in node.targets if isinstance(node, ast.Assign) else []:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(one, ast.Attribute) and ast.unparse(one.value).endswith("session"):
                        writers.setdefault(one.attr, set()).add(path.name)
    assert writers and all(len(files) == 1 for files in writers.values()), writers


def visited(desk: Desk, messages: list[Any]) -> set[str]:
    """The files of the package that a preflight runs through."""
    root = str(ROOM.parent)
    seen: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            seen.add(frame.f_code.co_filename[len(root) + 1 :])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        desk.preflight(messages)
    finally:
        sys.setprofile(before)
    return {name for name in seen if not name.startswith("testing/")}


def test_a_quiet_call_visits_at_most_twelve_modules() -> None:
    desk = Desk()
    history = [system(), *pairs(5), user("first")]
    desk.preflight(history)
    quiet = visited(desk, history)
    assert len(quiet) <= 12, sorted(quiet)
    # With a new message: the format, the counter and the store come in behind their ports.
    grown = visited(desk, [*history, assistant("reply"), user("second")])
    ours = {name for name in grown if name.startswith("engine/") or name == "manager.py"}
    assert len(ours) <= 12, sorted(ours)
    behind_ports = {name.split("/")[0] for name in grown - ours}
    assert behind_ports <= {"core", "counters", "formats", "model", "stores", "tracing"}, sorted(grown)
