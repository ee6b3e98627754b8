"""Headings and ordered commands in a user's message are the user's words; what is forwarded is not."""

from __future__ import annotations

import pytest

from compact.evidence.reading import Whose, pieces, pieces_as_written


@pytest.mark.parametrize("heading", ["**Rules**", "**Rules:**", "== Rules ==", "--- Rules ---", "*Rules*"])
def test_what_follows_a_heading_is_the_users_own(heading: str) -> None:
    found = pieces(f"Fix the parser.\n\n{heading}\n\nNever edit tests/.\nReply in German.")
    assert [one.text for one in found if one.whose is Whose.OWN][-2:] == [
        "Never edit tests/.",
        "Reply in German.",
    ]


@pytest.mark.parametrize("mark", ["---------- Forwarded message ----------", "-----Original Message-----"])
def test_what_follows_the_mark_of_a_forwarded_mail_is_shown(mark: str) -> None:
    found = pieces(f"Answer this.\n\n{mark}\nNever edit tests/.")
    assert [one.whose for one in found] == [Whose.OWN, Whose.SHOWN]


def test_a_command_after_a_colon_belongs_to_its_sentence() -> None:
    text = (
        "Set it to 30 seconds and run:\n\n```bash\nmake deploy STAGE=blue\n```\n\nUse exactly this command."
    )
    own = [one.text for one in pieces(text) if one.whose is Whose.OWN]
    assert own == ["Set it to 30 seconds and run: `make deploy STAGE=blue`", "Use exactly this command."]
    # It gains no authority by that.
    assert Whose.SHOWN in [one.whose for one in pieces_as_written(text)]


@pytest.mark.parametrize("before", ["What does this do?", "run:"])
def test_other_fences_are_shown(before: str) -> None:
    inside = "rm -rf build\nmake all" if before.endswith(":") else "rm -rf build"
    assert [one.whose for one in pieces(f"{before}\n```\n{inside}\n```")] == [Whose.OWN, Whose.SHOWN]
