"""A value that another line already contains is not listed again."""

from __future__ import annotations

from compact.evidence.choose import Candidate, Group
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive.render import draft
from compact.summarizers.extractive.strategies import strategy_for


def listed(*values: tuple[EvidenceKind, str]) -> str:
    units = [Evidence(kind, value, at, "", 1.0) for at, (kind, value) in enumerate(values)]
    picked = [Candidate(unit, at, len(unit.value), Group.VALUE) for at, unit in enumerate(units)]
    return draft(picked, strategy_for("task_state")).text


def test_the_name_of_a_file_is_inside_its_path() -> None:
    text = listed((EvidenceKind.PATH, "config.py"), (EvidenceKind.PATH, "src/app/config.py"))
    assert text.count("config.py") == 1


def test_a_name_that_only_begins_another_is_listed() -> None:
    text = listed((EvidenceKind.SYMBOL, "get_user"), (EvidenceKind.SYMBOL, "get_user_id"))
    assert "get_user," in text or "get_user " in text
