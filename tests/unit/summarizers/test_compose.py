from __future__ import annotations

import pytest

from compact.core.render import UNTRUSTED_HEADING
from compact.core.sentences import limit_sentences
from compact.counters.chars4 import CharsCounter
from compact.errors import SummaryRefused
from compact.model.summary import EvidenceKind, RefusalReason, Summary, SummaryRequest
from compact.summarizers._beside import EVIDENCE_HEADING, RULES_HEADING
from compact.summarizers.callable import CallableSummarizer
from compact.summarizers.compose import Composer
from support.conversations import asking, assistant, lighthouse, user

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


def test_prose_comes_first_then_rules_then_evidence_then_tool_data() -> None:
    summary = composed()
    order = [
        summary.text.index(part)
        for part in (PROSE, RULES_HEADING, "“Never switch the lamp off at night.” [m0]", EVIDENCE_HEADING,
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
    assert allowed[0] >= 20, "evidence takes half at most"


def test_what_the_prose_says_is_not_repeated() -> None:
    summary = composed(
        PROSE + " See lamp/schedule.toml. The user said: “Never switch the lamp off at night.”"
    )
    assert summary.text.count("lamp/schedule.toml") == 1
    assert summary.text.count("Never switch the lamp off at night.") == 1


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


def test_prose_that_takes_the_room_of_the_evidence_is_refused() -> None:
    with pytest.raises(SummaryRefused) as refused:
        composed("The lamp went on late again. " * 60, max_tokens=400)
    assert refused.value.reason == RefusalReason.TOO_LONG.value


@pytest.mark.parametrize("strategy", ["task_state", "brief"])
def test_prose_that_pushes_out_the_rules_is_refused(strategy: str) -> None:
    rules = "Never ship on Sundays. Always weigh twice. Do not call before nine."
    talk = (user(rules), assistant("Noted."))
    wordy = "They spoke of parcels and of the old scale " * 9 + "."
    with pytest.raises(SummaryRefused) as refused:
        composed_of(wordy, asking(*talk, max_tokens=110, strategy=strategy))
    assert refused.value.reason == RefusalReason.TOO_LONG.value
    assert "standing rules" in str(refused.value)
    roomy = composed_of(wordy, asking(*talk, max_tokens=200, strategy=strategy))
    assert roomy.survival["rule"] == 1.0


def test_survival_is_reported_by_kind() -> None:
    summary = composed()
    assert summary.survival["rule"] == 1.0
    assert summary.survival["all"] > 0.8
    assert set(summary.survival) == {"all", *(item.kind.value for item in summary.evidence)}


def test_under_the_floor_the_room_that_prose_left_over_goes_to_evidence() -> None:
    many = user("Orders: " + " ".join(f"ORD-{number:04d}" for number in range(300)))
    request = asking(many, max_tokens=700)
    lean = Composer(CallableSummarizer(Scribe("Many orders were named.")), COUNTER, survival_floor=0.0)
    repaired = Composer(CallableSummarizer(Scribe("Many orders were named.")), COUNTER, survival_floor=0.9)
    before, after = lean.summarize(request), repaired.summarize(request)
    assert before.survival["all"] < 0.5 < after.survival["all"]
    assert before.tokens < after.tokens <= 700


FIVE = (
    "The keeper asked why the lamp is late [m0]. The zone was wrong [m3]. It was set in one place [m4]. "
    "The crew said “It blinks. Leave it.” at noon [m5]! The check still fails [m7]."
)


@pytest.mark.parametrize("prose", [PROSE, FIVE])
@pytest.mark.spec("S4.5")
def test_a_brief_keeps_rules_and_values_within_five_sentences(prose: str) -> None:
    summary = composed(prose, strategy="brief")
    assert "“Never switch the lamp off at night.” [m0]" in summary.text
    assert "lamp/schedule.toml" in summary.text
    assert summary.survival["rule"] == 1.0
    assert summary.survival["all"] >= 0.8
    assert limit_sentences(summary.text, 5) == summary.text
    assert "#" not in summary.text and "\n-" not in summary.text, "a brief has no headings and no bullets"
    for words in ("keeper asked", "zone was wrong", "one place [m4]", "It blinks. Leave it.", "still fails"):
        assert words in summary.text or prose is PROSE, "nothing that the model said is cut"
    assert "E17" in summary.untrusted, "what only a tool said stands apart here as well"
    assert "lamp off" not in summary.untrusted


def test_a_brief_without_a_floor_gets_the_rules_alone() -> None:
    composer = Composer(CallableSummarizer(Scribe()), COUNTER, survival_floor=0.0)
    summary = composer.summarize(asking(*lighthouse(), strategy="brief"))
    assert summary.text == f"{PROSE}\nRules: “Never switch the lamp off at night.” [m0]."


def test_a_kind_that_is_lost_is_repaired_though_the_whole_is_above_the_floor() -> None:
    kitchen = asking(
        user("Always answer in English. Never write more than two lines."),
        user("Please plan the kitchen for the Hoffmann family, budget 9,000 euros. Never use glossy fronts."),
        assistant("I have two layouts. Layout A costs 8,700 euros, layout B 9,400."),
        max_tokens=600,
    )
    summary = Composer(CallableSummarizer(Scribe("They compared two layouts.")), COUNTER).summarize(kitchen)
    assert summary.survival_before_repair["all"] >= 0.8 > summary.survival_before_repair["number"]
    assert min(summary.survival.values()) >= 0.8
    for value in ("Layout A costs 8,700 euros", "layout B 9,400", "Hoffmann"):
        assert value in summary.text


def test_a_repair_by_kind_takes_what_the_floor_asks_for_and_no_more() -> None:
    orders = " ".join(f"ORD-{number:04d}" for number in range(200))
    request = asking(
        user(f"Never ship on Sundays. Mr. Kowalski is in Gdynia. Orders: {orders}"), max_tokens=900
    )
    told = "Orders " + orders + " came in."
    summary = Composer(CallableSummarizer(Scribe(told)), COUNTER).summarize(request)
    assert summary.tokens < COUNTER.count(told) + 60
    lean = Composer(CallableSummarizer(Scribe("Orders came in.")), COUNTER, survival_floor=0.5)
    shown = lean.summarize(request).text.count("ORD-")
    assert 100 <= shown <= 130


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


@pytest.mark.parametrize(
    ("min_chars", "reason"), [(1, RefusalReason.EMPTY), (5_000, RefusalReason.TOO_SHORT)]
)
def test_an_embedded_summary_that_is_too_short_is_refused(min_chars: int, reason: RefusalReason) -> None:
    messages = () if reason is RefusalReason.EMPTY else lighthouse()
    with pytest.raises(SummaryRefused) as refused:
        Composer(None, COUNTER, min_chars=min_chars).summarize(asking(*messages))
    assert refused.value.reason == reason.value


def test_secrets_are_not_evidence() -> None:
    composer = Composer(
        CallableSummarizer(Scribe("A key was set.")), COUNTER, is_secret=lambda value: "sk_live" in value
    )
    summary = composer.summarize(asking(user("Set the key sk_live_4711aa for order OR-5512.")))
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
    assert "“Never switch the lamp off at night.” [m0]" in second.text
    assert "lamp/schedule.toml" in second.text
    kinds = {item.kind for item in second.evidence}
    assert {EvidenceKind.RULE, EvidenceKind.PATH, EvidenceKind.ID} <= kinds


def test_below_the_floor_the_embedded_summary_gives_evidence_more_room() -> None:
    talk = [user("Tell me about the parts of the harbor crane, please.")]
    for number in range(60):
        said = (
            f"Part CR-{4000 + number} sits near the mast and the old crew liked its quiet steady sound a lot."
        )
        talk += [assistant(said), user("I see, and what else is there to know about this beautiful machine?")]
    plain = Composer(None, COUNTER, survival_floor=0.0).summarize(asking(*talk, max_tokens=400))
    repaired = Composer(None, COUNTER, survival_floor=0.9).summarize(asking(*talk, max_tokens=400))
    assert repaired.survival["all"] > plain.survival["all"]
    assert repaired.tokens <= 400
