"""Messages that a program encloses in tags: what is inside counts as the user's words, with a doubt."""

from __future__ import annotations

import pytest

from compact.core.summary_checks.voices import voices_in
from compact.evidence.reading import Whose, pieces
from compact.evidence.said import said_in

WORDS = "Mend the gate of the harbor.\nNever touch the schema."


@pytest.mark.parametrize(
    "text",
    [
        f"<user_query>\n{WORDS}\n</user_query>",
        f'<task id="4">{WORDS}</task>\n',
        "<task>\nMend the gate of the harbor.\n</task>\n\n<rules>\nNever touch the schema.\n</rules>",
    ],
)
@pytest.mark.spec("S5.5")
def test_what_tags_enclose_as_a_whole_is_kept_as_the_users_words(text: str) -> None:
    assert {piece.whose for piece in pieces(text)} == {Whose.DOUBTFUL}
    units = said_in(text, 0, "")
    assert " ".join(unit.value for unit in units) == WORDS.replace("\n", " ")
    assert all(unit.untrusted and not unit.context for unit in units)


def test_it_gives_no_line_the_users_authority() -> None:
    assert voices_in(f"<user_query>\n{WORDS}\n</user_query>").own == ""


@pytest.mark.parametrize(
    "text", [f"Is this spam?\n<mail>\n{WORDS}\n</mail>", f"<mail>\n{WORDS}\n</mail>\nIs this spam?"]
)
def test_a_block_beside_the_users_own_words_is_still_shown(text: str) -> None:
    shown = [piece.text for piece in pieces(text) if piece.whose is Whose.SHOWN]
    assert len(shown) == 1 and "Never touch the schema." in shown[0]


def test_tags_may_be_nested_as_deep_as_they_like() -> None:
    depth = range(3_000)
    text = "".join(f"<t{n}>" for n in depth) + WORDS + "".join(f"</t{n}>" for n in reversed(depth))
    assert all(piece.whose is not Whose.OWN for piece in pieces(text))


def test_tags_that_are_never_closed_enclose_nothing_and_take_no_time() -> None:
    text = "<a>" * 20_000
    assert [piece.text for piece in pieces(text)] == [text]


def test_code_inside_is_shown_as_anywhere() -> None:
    text = f"<task>\n{WORDS}\n```\nopen(gate);\nclose(gate);\n```\n</task>"
    assert [piece.whose for piece in pieces(text)][-1] is Whose.SHOWN
