"""A summary's text as sections that a page can show."""

from __future__ import annotations

from compact.model.sections import SectionItem, SectionKind, sections_of

TEXT = """The story so far [m2].
## Goals
- “Move the feed to 06:00.” [m0]
## Decisions
- The cause is the stale lock [m4, m9]
## Key entities
- Paths: src/a.py, src/b.py [m3-m7]
## Something else
- A line of a model's own.
"""


def test_headings_give_the_kind_and_lines_their_citations() -> None:
    found = sections_of(TEXT)
    assert [(section.title, section.kind) for section in found] == [
        ("", SectionKind.OTHER),
        ("Goals", SectionKind.WORDS),
        ("Decisions", SectionKind.CONCLUSIONS),
        ("Key entities", SectionKind.VALUES),
        ("Something else", SectionKind.OTHER),
    ]
    assert found[1].items == (SectionItem("“Move the feed to 06:00.”", (0,)),)
    assert found[2].items == (SectionItem("The cause is the stale lock", (4, 9)),)
    assert found[3].items == (SectionItem("Paths: src/a.py, src/b.py", (3, 7), "Paths"),)


def test_an_empty_text_has_no_sections() -> None:
    assert sections_of("") == ()
    assert sections_of("## Goals\n\n## Done\n") == ()
