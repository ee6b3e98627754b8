"""What the embedded summarizer may leave out of a sentence, and what it must not."""

from __future__ import annotations

import re

import pytest

from compact.counters.chars4 import CharsCounter
from compact.model.message import Message
from compact.summarizers.extractive import ExtractiveSummarizer
from compact.summarizers.extractive.strategies import STRATEGIES
from support.conversations import asking, assistant, user

ALL = [*STRATEGIES, "brief"]


def written(*messages: Message, max_tokens: int = 400, strategy: str = "task_state") -> str:
    request = asking(*messages, max_tokens=max_tokens, strategy=strategy)
    return ExtractiveSummarizer(CharsCounter()).summarize(request).text


CONDITION = (
    "Provided that the harbor authority in Vardal signs the permit for the new breakwater before the end of "
    "this quarter, which nobody at the office takes for granted, we order 40 steel piles from Hellevik."
)
CLAIM = (
    "Mrs. Aune told me on the phone that the old breakwater was checked by divers in the autumn of last "
    "year, and they found no cracks in any pile, and it can carry another 30 tons of load without a repair."
)
ASKED = (
    "The old breakwater was checked by divers in the autumn of last year from end to end, and they found no "
    "cracks in any of the piles, and it can carry another 30 tons of load without a repair this year?"
)


@pytest.mark.parametrize("sentence", [CONDITION, CLAIM, ASKED])
@pytest.mark.parametrize("strategy", ["task_state", "decision_log", "rolling", "brief"])
@pytest.mark.parametrize("max_tokens", [40, 60, 90, 130, 400])
def test_a_long_sentence_under_a_condition_is_told_whole_or_not_at_all(
    sentence: str, strategy: str, max_tokens: int
) -> None:
    talk = [
        user("Plan the repair of the Vardal harbor with me, piece by piece."),
        assistant("Gladly. The budget of the town is 900,000 for it."),
        user(sentence),
        assistant("Noted, the drawings are in the archive of the town."),
        user("The town wants the first report on 3 June."),
    ]
    text = written(*talk, max_tokens=max_tokens, strategy=strategy)
    for piece in (r"we order 40 steel piles", r"found no cracks", r"30 tons of load"):
        # A figure may stand alone; a clause stands with its sentence, or shows that it was cut.
        if re.search(piece, text):
            assert sentence.rstrip(".?") in text or "…" in text


def test_an_alternative_and_a_consequence_stand_with_what_they_belong_to() -> None:
    talk = [
        user("Plan the repair of the Vardal harbor with me, piece by piece."),
        assistant("What happens if the divers from Bodin cannot come in May?"),
        user("Then we hire the crew of the Solvik yard for 1,900 a day. Or we close pier 4 for the summer."),
        assistant("Both are possible, the yard has a free week."),
        user("The town wants the first report on 3 June."),
        assistant("The report is planned for 3 June."),
    ]
    for max_tokens in range(40, 200, 5):
        text = written(*talk, max_tokens=max_tokens)
        if "close pier 4" in text:
            assert "Or we close pier 4" in text and "Then we hire the crew" in text
        if "we hire the crew" in text:
            assert "divers from Bodin cannot come in May?" in text


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize(
    "talk",
    [
        [user("hello")],
        [assistant("Hi! How can I help you today?")],
        [user("Is gate 4 shut?"), assistant("No.")],
        [user("Ship build 5121 to the lab and tell Runa.")],
    ],
    ids=["one word", "greeting", "two short", "one order"],
)
def test_something_said_is_never_told_as_nothing(talk: list[Message], strategy: str) -> None:
    text = written(*talk, max_tokens=1_000, strategy=strategy)
    assert "[m0]" in text or "[m1]" in text


def test_a_brief_in_little_room_tells_something() -> None:
    talk = [user("Rework the " + "very " * 60 + "long plan of the pier."), assistant("Done. " * 40)]
    text = written(*talk, max_tokens=30, strategy="brief")
    assert text and len(text) <= 120
