"""The baselines' summaries, and phrases that come up again."""

from __future__ import annotations

import pytest

from compact.evaluation.baselines import SUMMARIES
from compact.evaluation.phrases import said_again, score_phrases
from compact.formats import decode_all, recognize
from compact.model.message import Message, Role
from compact.model.summary import SummaryRequest


def messages(*turns: tuple[str, str]) -> list[Message]:
    raw = [{"role": role, "content": text} for role, text in turns]
    return decode_all(raw, recognize(raw))


TALK = messages(
    ("user", "Plan the garden with me."),
    *(
        ("assistant" if number % 2 else "user", f"Bed {number} gets {plant} beside the northern wall.")
        for number, plant in enumerate(("roses", "lilies", "beans", "thyme", "asters", "leeks"))
    ),
)


@pytest.mark.parametrize("name", sorted(SUMMARIES))
def test_a_baseline_fits_its_room_and_repeats_itself(name: str) -> None:
    request = SummaryRequest(messages=tuple(TALK), prompt="", max_tokens=40, strategy="task_state")
    text = SUMMARIES[name](request)
    assert text and len(text) <= 160
    assert text == SUMMARIES[name](request)


def test_lexrank_prefers_what_many_sentences_are_like() -> None:
    talk = messages(
        ("user", "The weather was odd. " + " ".join(f"The pump of basin {n} leaks oil." for n in range(6)))
    )
    request = SummaryRequest(messages=tuple(talk), prompt="", max_tokens=24, strategy="task_state")
    assert "leaks oil" in SUMMARIES["lexrank"](request)
    assert "weather" not in SUMMARIES["lexrank"](request)


def test_phrases_that_come_up_again_are_told_by_role() -> None:
    filler = [(role, f"Filler number {n} of nothing.") for n in range(4) for role in ("user", "assistant")]
    before = messages(
        ("user", "Hello."),
        ("user", "The copper kettle is mine."),
        ("assistant", "The boiler pressure drops at night."),
        *filler,
    )
    after = messages(("assistant", "So the copper kettle stays, and boiler pressure is next."))
    words, concluded = (said_again(before, after, role) for role in (Role.USER, Role.ASSISTANT))
    assert words == {("copper", "kettle")} and concluded == {("boiler", "pressure")}
    assert score_phrases(words, "Your copper kettle.").share == 1.0
    assert score_phrases(words, "Your kettle of copper.").share == 0.0
