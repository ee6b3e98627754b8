from __future__ import annotations

import pytest

from compact.core.evidence.lexicon import RUN, TIMES, classify, trim
from compact.core.evidence.reading import split_sentences
from compact.model.summary import EvidenceKind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("src/app/fields.py", EvidenceKind.PATH),
        ("/var/log/mail.log", EvidenceKind.PATH),
        ("~/notes/plan.md", EvidenceKind.PATH),
        ("schema.sql", EvidenceKind.PATH),
        ("src/old.py.backup", EvidenceKind.PATH),
        (".github/workflows", EvidenceKind.PATH),
        (".env.local", EvidenceKind.PATH),
        (".gitignore", EvidenceKind.PATH),
        ("https://example.org/a?b", EvidenceKind.URL),
        ("github.com/owner/tool/pkg", EvidenceKind.URL),
        ("ada@example.org", EvidenceKind.ID),
        ("HAT112", EvidenceKind.ID),
        ("credit_card_4196779", EvidenceKind.ID),
        ("#W9583042", EvidenceKind.ID),
        ("555-123-2002", EvidenceKind.ID),
        ("286422338955", EvidenceKind.ID),
        ("v5.3.0", EvidenceKind.ID),
        ("2026-05-20", EvidenceKind.DATE),
        ("12/05/2026", EvidenceKind.DATE),
        ("$622.12", EvidenceKind.NUMBER),
        ("$7,908.85", EvidenceKind.NUMBER),
        ("15%", EvidenceKind.NUMBER),
        ("350ms", EvidenceKind.NUMBER),
        ("get_object", EvidenceKind.SYMBOL),
        ("RawDataElement", EvidenceKind.SYMBOL),
        ("Subquery.as_sql", EvidenceKind.SYMBOL),
        ("q.as_sql", EvidenceKind.SYMBOL),
        ("m.searchQuery", EvidenceKind.SYMBOL),
        ("MIGRATION_MODULES", EvidenceKind.SYMBOL),
        ("--dry-run", EvidenceKind.SYMBOL),
        ("NATO", EvidenceKind.NAME),
        ("Node.js", EvidenceKind.NAME),
        ("COVID-19", EvidenceKind.ID),
    ],
)
def test_what_a_value_is(value: str, kind: EvidenceKind) -> None:
    assert classify(value) is kind


@pytest.mark.parametrize(
    "word",
    ["word", "Word", "a", "42", "and/or", "e.g", "os.path.join", "ValueError", "12:30", "/dev/null", "2550p",
     "console.log", "response.json",
     "well-known", "f.read", "__init__", "s/foo/bar.baz"],
)  # fmt: skip
def test_ordinary_words_and_noise_are_no_values(word: str) -> None:
    assert classify(word) is None


def test_runs_keep_inner_punctuation_and_lose_the_sentence() -> None:
    text = "See src/a.py, table_ref.raw; paid $7,908.85 (order #W12345). Closed </output>"
    values = [trim(run) for run in RUN.findall(text)]
    assert {"src/a.py", "table_ref.raw", "$7,908.85", "#W12345"} <= set(values)
    assert "/output" not in values


def test_a_dot_is_kept_where_it_belongs_to_the_name() -> None:
    text = "Read `.data/graph/node.json` and .gitignore. rows().length/2 and items().map are code."
    values = [trim(run) for run in RUN.findall(text)]
    assert {".data/graph/node.json", ".gitignore", "length/2", "map"} <= set(values)


def test_times_that_people_name() -> None:
    text = (
        "At 3:05 pm or 11 am, doors at 18:30, until the 5th of this month; log 12:30:05, ratio 4:10, I am 7."
    )
    assert TIMES.findall(text) == ["3:05 pm", "11 am", "18:30", "5th of this month"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ("One.", "Two!", "Three?")),
        ("Use tools, e.g. Make. Then stop.", ("Use tools, e.g. Make.", "Then stop.")),
        ("a wrapped\nline goes on\nNew line", ("a wrapped\nline goes on", "New line")),
        ("(See above.) Next.", ("(See above.)", "Next.")),
        ("会议在周三。预算是五百元！", ("会议在周三。", "预算是五百元！")),
        ("", ()),
    ],
)
def test_sentences(text: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text) == sentences
