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
from compact.summarizers.extractive.strategies import STRATEGIES
from support.conversations import asking, assistant, call, result, user

ALL = [*STRATEGIES, "brief"]


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


def test_the_newest_reports_come_before_older_ones() -> None:
    talk = [user("Bring the ticket shop over to the new host, please.")]
    reports = (
        "The copy is done: 812 tickets arrived on the new host.",
        "Rolled back. The copy had lost 44 tickets.",
        "Copied again with 856 tickets, the host name is set.",
    )
    for number, said in enumerate(reports):
        talk += [
            call(f"c{number}", "bash", {"command": f"make copy-{number}"}),
            result(f"c{number}", "exit 0"),
        ]
        talk += [assistant(said), user(f"Look at the count of day {number} and go on.")]
    for max_tokens in range(60, 260, 10):
        text = written(*talk, max_tokens=max_tokens)
        if "812 tickets arrived" in text:
            assert "Rolled back." in text and "856 tickets" in text


def test_an_answer_stands_with_a_question_that_it_answers() -> None:
    talk = [
        user("Clean up the importer for the tide tables."),
        assistant("Shall I rename the column, or keep both names for a while?"),
        user("Keep the column. The gauge of Nordvik reports in feet, so convert it."),
        assistant("How can I help you further?"),
        user("The harbor of Ekvik has moved its gauge to the pier."),
    ]
    ledger = written(*talk, max_tokens=600, strategy="decision_log").splitlines()
    joined = [line for line in ledger if "asked in" in line]
    assert all("Keep the column" in line.split(" :: ")[0] for line in joined)
    assert not any("help you" in line for line in ledger)


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


def test_a_brief_quotes_rules_sentence_by_sentence() -> None:
    rule = "Never ship before 30. April besides No. 7. I'd rather wait than ship twice."
    text = written(user(f"Plan the shipping of the parts. {rule}"), strategy="brief")
    assert "; April" not in text and "No; 7" not in text
    assert "30. April besides No. 7" in text


def test_an_answer_that_is_not_quite_json_is_told_by_its_strings() -> None:
    said = '{"note": "A refund goes to the card that was charged on 3 May.", "status": "open for two weeks",'
    text = written(user("Where does my refund for the lamp go?"), assistant(said))
    assert "A refund goes to the card that was charged on 3 May." in text
    assert '"note"' not in text and '"status"' not in text
