from __future__ import annotations

import pytest

from compact.core.render import UNTRUSTED_HEADING
from compact.counters.chars4 import CharsCounter
from compact.errors import SummaryRefused
from compact.model.sections import SectionKind
from compact.model.summary import EvidenceKind, RefusalReason, Summary, SummaryRequest
from compact.redaction.redactor import Redactor
from compact.summarizers.callable import CallableSummarizer
from compact.summarizers.compose import Composer
from support.conversations import asking, lighthouse, user

COUNTER = CharsCounter()
PROSE = "The lamp schedule was repaired: the zone is Europe/Oslo now. The check still fails [m7]."


class Scribe:
    """Gives the same prose every time and remembers what it was asked."""

    def __init__(self, prose: str = PROSE) -> None:
        self.prose = prose
        self.asked: list[SummaryRequest] = []

    def __call__(self, request: SummaryRequest) -> str:
        self.asked.append(request)
        return self.prose


def composed(prose: str = PROSE, **fields: object) -> Summary:
    composer = Composer(CallableSummarizer(Scribe(prose)), COUNTER)
    return composer.summarize(asking(*lighthouse(), **fields))


def composed_of(prose: str, request: SummaryRequest) -> Summary:
    return Composer(CallableSummarizer(Scribe(prose)), COUNTER).summarize(request)


def test_prose_comes_first_then_words_then_evidence_then_tool_data() -> None:
    summary = composed()
    order = [
        summary.text.index(part)
        for part in (PROSE, "## User's words", "Never switch the lamp off at night.", "## Evidence",
                     "lamp/schedule.toml", UNTRUSTED_HEADING, "error E17")
    ]  # fmt: skip
    assert order == sorted(order)
    assert summary.text.endswith(summary.untrusted)
    assert summary.tokens == COUNTER.count(summary.text)


def test_prose_and_evidence_share_the_limit() -> None:
    scribe = Scribe()
    composer = Composer(CallableSummarizer(scribe), COUNTER)
    for limit in (40, 80, 160, 400):
        assert composer.summarize(asking(*lighthouse(), max_tokens=limit)).tokens <= limit
    allowed = [request.max_tokens for request in scribe.asked]
    assert all(given < limit for given, limit in zip(allowed, (40, 80, 160, 400), strict=True))
    assert allowed[0] >= 12, "what stands beside the prose takes seven tenths at most"


def test_what_the_prose_says_is_not_repeated() -> None:
    summary = composed(
        PROSE + " See lamp/schedule.toml. The user said: “Never switch the lamp off at night.”"
    )
    assert summary.text.count("lamp/schedule.toml") == 1


def test_citations_that_do_not_exist_are_dropped() -> None:
    text = composed("The zone is set [m4]. The relay burned [m99].").text
    assert "The zone is set [m4]. The relay burned." in text


@pytest.mark.parametrize(
    ("prose", "reason"),
    [("", RefusalReason.EMPTY), ("I'm sorry, but I can't help with that.", RefusalReason.REFUSAL)],
)
def test_prose_that_is_no_summary_is_refused(prose: str, reason: RefusalReason) -> None:
    with pytest.raises(SummaryRefused) as refused:
        composed(prose)
    assert refused.value.reason == reason.value


def test_survival_is_reported_by_kind() -> None:
    summary = composed()
    assert summary.survival["words"] == 1.0
    assert summary.survival["all"] > 0.8
    assert set(summary.survival) == {"all", "words", "conclusions", "values"}
    assert summary.kept.words.kept == summary.kept.words.total > 0
    assert all(lost.kind is not SectionKind.WORDS for lost in summary.kept.missing)


FIVE = (
    "The keeper asked why the lamp is late [m0]. The zone was wrong [m3]. It was set in one place [m4]. "
    "The crew said “It blinks. Leave it.” at noon [m5]! The check still fails [m7]."
)


async def test_async_gives_the_same() -> None:
    composer = Composer(CallableSummarizer(Scribe()), COUNTER)
    request = asking(*lighthouse())
    assert await composer.asummarize(request) == composer.summarize(request)


async def test_without_prose_the_embedded_summarizer_writes_all() -> None:
    composer = Composer(None, COUNTER)
    summary = composer.summarize(asking(*lighthouse()))
    assert summary.model == "extractive"
    assert "## Goals" in summary.text
    assert await composer.asummarize(asking(*lighthouse())) == summary


def test_an_embedded_summary_is_all_there_is_to_say_but_never_empty() -> None:
    composer = Composer(None, COUNTER, min_chars=5_000)
    assert "Write the files." in composer.summarize(asking(user("Write the files."))).text
    with pytest.raises(SummaryRefused) as refused:
        composer.summarize(asking())
    assert refused.value.reason == RefusalReason.EMPTY.value


def test_secrets_are_not_evidence() -> None:
    composer = Composer(CallableSummarizer(Scribe("A key was set.")), COUNTER, redactor=Redactor())
    summary = composer.summarize(asking(user("Set the key sk_live_4711aaBB22ccDD33 for order OR-5512.")))
    assert "OR-5512" in summary.text
    assert "sk_live" not in summary.text
    assert all("sk_live" not in item.value for item in summary.evidence)


def test_evidence_of_earlier_records_is_carried_on() -> None:
    first = composed()
    later = asking(
        user("And the fog horn FH-30?"),
        previous_summary=first.text,
        previous_evidence=first.evidence,
        first_position=8,
    )
    second = Composer(CallableSummarizer(Scribe("The fog horn came up [m8].")), COUNTER).summarize(later)
    assert "Never switch the lamp off at night.” [m0]" in second.text
    assert "lamp/schedule.toml" in second.text
    kinds = {item.kind for item in second.evidence}
    assert {EvidenceKind.SAID, EvidenceKind.PATH, EvidenceKind.ID} <= kinds
