"""Folder names: ordinary ids as they are, all others encoded without collision."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.archives.naming import aside_name, safe_name
from compact.errors import ArchiveError
from compact.testing.archives import HOSTILE_IDS


@pytest.mark.parametrize("session_id", ["demo", "S1", "user_7.run-3", "0b7f9c1e-1111-4222-8333-444455556666"])
def test_ordinary_ids_stay(session_id: str) -> None:
    assert safe_name(session_id) == session_id


@pytest.mark.parametrize("session_id", HOSTILE_IDS)
def test_hostile_ids_are_encoded(session_id: str) -> None:
    assert safe_name(session_id) != session_id
    assert re.fullmatch(r"~[A-Za-z0-9-]{1,70}", safe_name(session_id))


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_ids_never_share_a_folder(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
    assert re.fullmatch(r"~?[A-Za-z0-9][A-Za-z0-9._-]*", safe_name(one))


def test_empty_is_refused_and_a_hidden_one_gives_no_hint() -> None:
    with pytest.raises(ArchiveError, match="empty"):
        safe_name("")
    assert "demo" not in safe_name("demo", hide=True)


def test_aside_keeps_the_kind_of_file() -> None:
    assert aside_name("summary-001.json", "ab" * 32) == "summary-001.aside-abababababababab.json"
