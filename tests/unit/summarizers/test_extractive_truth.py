"""What the embedded summarizer may leave out of a sentence, and what it must not."""

from __future__ import annotations

import re

import pytest

from compact.core.evidence.figures import label_beside
from compact.counters.chars4 import CharsCounter
from compact.model.message import Message
from compact.model.summary import EvidenceKind
from compact.summarizers.extractive import ExtractiveSummarizer
from compact.summarizers.extractive.sentences import tidy
from support.conversations import asking, assistant, user


def written(*messages: Message, max_tokens: int = 400, strategy: str = "task_state") -> str:
    request = asking(*messages, max_tokens=max_tokens, strategy=strategy)
    return ExtractiveSummarizer(CharsCounter()).summarize(request).text


@pytest.mark.parametrize(
    "kept",
    [
        "I think the ferry leaves from pier 9.",
        "I guess the roof was mended in 2021.",
        "Then we sell the mill at Torvik.",
        "Or we lease two more trucks.",
        "Yes, but only the drawings of floor 3.",
        "Sure, if it costs less than 70 a week.",
        "Okay, unless Hanne says no.",
        "Yeah, only after the audit.",
        "It's kind of finished, the eastern wing.",
        "It's basically the same lock.",
        "So far, three of nine samples arrived.",
        "Well above 300 people came.",
        "Actually, make it nine.",
        "Do you know the harbor master?",
        "Right after the storm we called them.",
    ],
)
def test_what_changes_the_claim_is_no_interjection(kept: str) -> None:
    assert tidy(kept) == kept


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Hello there, um, the crane is back.", "The crane is back."),
        ("Well, you know, the crane is back.", "The crane is back."),
        ("Okay, the crane, uh, lifts 12 tons.", "The crane lifts 12 tons."),
        ("And the crane is, I mean, old.", "The crane is old."),
    ],
)
def test_interjections_go(said: str, told: str) -> None:
    assert tidy(said) == told


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


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("The rent is not much over 2,340 here.", "2,340", ""),
        ("That leaves 2,340 to 3,100 euros for panels.", "2,340", "leaves … to 3,100 euros"),
        ("That leaves 2,340 to 3,100 euros for panels.", "3,100", "leaves 2,340 to … euros"),
        ("Unless she objects, we transfer 45,500 euros.", "45,500", "… euros"),
        ("Did the town really pay 45,500 euros?", "45,500", "… euros"),
        ("Pay 45,500 euros if the roof holds.", "45,500", "… euros"),
        ("The town paid about 45,500 euros in May.", "45,500", "town paid about … euros"),
        ("The gateway listens on port 18977.", "18977", "port"),
    ],
)
def test_the_words_beside_a_figure_keep_its_sense(text: str, value: str, told: str) -> None:
    assert label_beside(text, value, EvidenceKind.NUMBER) == told
