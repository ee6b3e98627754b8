"""Lines of an earlier summary that come back: each once, and cited where it was said."""

from __future__ import annotations

from compact.counters.chars4 import CharsCounter
from compact.evidence import fold
from compact.model.message import Message
from compact.model.summary import Evidence, EvidenceKind, Summary
from compact.summarizers.extractive import ExtractiveSummarizer
from support.conversations import asking, assistant, user

NO_END = "With the change the run takes 6 min 20 s, down from 51."
"""Reads as if it went on: a number and a full stop may begin a list."""


def folded(rounds: int) -> Summary:
    summary = None
    for number in range(rounds):
        first = 3 * number
        messages: list[Message] = [
            user(f"Go on with part {number}."),
            assistant(NO_END if number == 1 else f"Opened the folder of the lamp number {number}"),
            assistant(f"The relay of lamp number {number} burned, because the fuse was too strong."),
        ]
        request = asking(
            *messages,
            positions=range(first, first + 3),
            max_tokens=2_000,
            previous_summary=summary.text if summary else None,
            previous_evidence=summary.evidence if summary else (),
        )
        summary = ExtractiveSummarizer(CharsCounter()).summarize(request)
    assert summary is not None
    return summary


def test_what_was_said_last_once_does_not_come_back_with_that_label() -> None:
    found = folded(4)
    assert found.text.count("last said:") == 1
    assert not any(unit.value.startswith("last said") for unit in found.evidence)


def test_sentences_that_share_a_line_do_not_multiply() -> None:
    text = folded(8).text
    assert text.count(NO_END) == 1
    assert all(text.count(f"Opened the folder of the lamp number {n}") <= 1 for n in range(8))


def test_an_answer_finds_its_question_in_the_span_before() -> None:
    asked = "Shall I keep the old relay of the cellar lamp?"
    first = ExtractiveSummarizer(CharsCounter()).summarize(
        asking(user("Mend the lamp."), assistant(asked), positions=(0, 1), max_tokens=400)
    )
    request = asking(
        user("nope"),
        assistant("It is out."),
        positions=(2, 3),
        max_tokens=400,
        previous_summary=first.text,
        previous_evidence=first.evidence,
    )
    assert f"asked in [m1]: {asked} — “nope”" in ExtractiveSummarizer(CharsCounter()).summarize(request).text


def test_a_listing_does_not_push_conclusions_out_of_the_ledger() -> None:
    stated = [Evidence(EvidenceKind.CONCLUDED, f"Cause {n} is the fuse.", n, "", 1.0) for n in range(90)]
    listed = [Evidence(EvidenceKind.ID, f"nurse-{n}", n, "", 2.0, untrusted=True) for n in range(3_000)]
    kept = fold((), (*stated, *listed), "The lamp is dark. " * 20)
    assert set(stated) <= set(kept) and len(kept) < 2_000


def test_a_sentence_that_holds_a_known_one_stays_whole() -> None:
    known = ("The tests pass.", "use Redis for the queue", "Opened lamp 1")
    retold = [
        "The tests pass on Linux but fail on Windows.",
        "We decided not to use Redis for the queue because of its cost.",
        "Opened lamp 12 and found the relay burned.",
    ]
    request = asking(
        user("Go on."),
        assistant("The ferry leaves at nine in the morning."),
        positions=(9, 10),
        max_tokens=2_000,
        previous_summary="## Decisions\n" + "\n".join(f"- {line} [m3]" for line in retold),
        previous_evidence=[Evidence(EvidenceKind.CONCLUDED, value, 3, "", 1.0) for value in known],
    )
    summary = ExtractiveSummarizer(CharsCounter()).summarize(request)
    assert [line for line in retold if line not in {unit.value for unit in summary.evidence}] == []
