"""The choice under a budget: shares, diminishing returns, and which words stay where not all fit."""

from __future__ import annotations

import pytest

from compact.evidence import Choice, Shares
from compact.evidence.choose import Group
from compact.evidence.done import CALLED
from compact.evidence.said import SHOWN
from compact.model.summary import Evidence, EvidenceKind


def said(text: str, at: int, rank: float = 1.2) -> Evidence:
    return Evidence(EvidenceKind.SAID, text, at, "", rank)


def concluded(text: str, at: int) -> Evidence:
    return Evidence(EvidenceKind.CONCLUDED, text, at, "", 1.0)


def value(text: str, at: int, rank: float = 1.0, untrusted: bool = False) -> Evidence:
    return Evidence(EvidenceKind.ID, text, at, "", rank, untrusted)


def texts(choice: Choice, room: int, shares: Shares | None = None) -> list[str]:
    return [one.unit.value for one in choice.take(room, shares or Shares())]


def test_all_words_stay_where_they_fit_their_part_though_values_are_worth_more() -> None:
    words = [
        said(f"The {name} must stay closed on weekends.", at) for at, name in enumerate(("gate", "dock"))
    ]
    values = [value(f"AB-{number:04d}", 9, rank=30.0) for number in range(100)]
    chosen = texts(Choice([*words, *values]), 160)
    assert {unit.value for unit in words} <= set(chosen)


def test_no_kind_starves_where_the_room_is_small() -> None:
    ledger = [
        *(
            said(f"Rule {n} of the {name} harbor is new to all of us.", n)
            for n, name in enumerate("abcdefghij")
        ),
        *(concluded(f"The {name} pump fails because of sand.", 20) for name in ("old", "new", "third")),
        *(value(f"PX-{number:03d}", 30) for number in range(40)),
    ]
    choice = Choice(ledger)
    choice.take(600, Shares())
    spent = {one.group for one in choice.picked}
    assert {Group.OWN, Group.CONCLUDED, Group.VALUE} <= spent


def test_what_only_tools_said_takes_at_most_its_share() -> None:
    ledger = [value(f"TT-{number:04d}", 3, rank=9.0, untrusted=True) for number in range(200)]
    choice = Choice([said("Count the crates.", 0), *ledger])
    chosen = choice.take(1_000, Shares())
    assert sum(one.cost for one in chosen if one.group is Group.TOOL) <= 250


def test_asked_again_for_a_larger_room_it_goes_on() -> None:
    ledger = [
        said(f"The {name} lamp is broken.", at) for at, name in enumerate(("red", "blue", "green", "gray"))
    ]
    choice = Choice(ledger)
    first = list(choice.take(90, Shares()))
    assert choice.take(400, Shares())[: len(first)] == first
    assert len(choice.picked) == 4


def test_the_older_of_two_words_on_a_matter_never_stays_without_the_newer() -> None:
    older = said("The Larsen crate goes to the Odense warehouse.", 2)
    newer = said(
        "Correction: the Larsen crate goes to the Aarhus warehouse, ask Signe there first please.", 9
    )
    for room in range(60, 400, 7):
        chosen = texts(Choice([said("Hello there.", 0), older, newer]), room)
        assert newer.value in chosen or older.value not in chosen


def test_a_number_in_a_place_that_every_message_numbers_says_little() -> None:
    routine = [said(f"Check basin {number} next.", number) for number in range(3, 60)]
    told = said("My sister Maren takes over on Sunday.", 30)
    chosen = texts(Choice([said("Let us begin.", 0), told, *routine]), 500)
    assert chosen.index(told.value) <= 2


def test_one_name_of_a_series_does_not_outrank_a_rule() -> None:
    asked = [said(f"What does part_{n}.py do with row {n * 37}?", n + 2, rank=0.6) for n in range(60)]
    rules = [said("Meat is out, we cook for monks.", 0), said("Write to the abbot only on Mondays.", 1)]
    values = [value(f"part_{n}.py", n + 2, rank=8.0) for n in range(60)]
    chosen = texts(Choice([*rules, *asked, *values]), 600)
    assert {rule.value for rule in rules} <= set(chosen[:3])


def test_the_first_message_comes_first_even_what_it_shows() -> None:
    task = Evidence(
        EvidenceKind.SAID, "Rename the column in the ledger table.", 0, SHOWN, 0.2, untrusted=True
    )
    other = [said(f"And look at the {name} again, please do.", 5) for name in ("gate", "dock", "pier")]
    assert texts(Choice([task, *other]), 400)[0] == task.value


def test_the_whole_task_stays_where_it_fits_half_of_what_words_may_take() -> None:
    task = [said(f"The {name} of the town must work again.", 0) for name in ("old mill", "town clock")]
    later = [said(f"Never open {word} {word}s {word}ly before noon!", 5, 1.6) for word in "abcdefghij"]
    assert {unit.value for unit in task} <= set(texts(Choice([*task, *later]), 290))


def test_what_nobody_answered_yet_stays_though_orders_weigh_more() -> None:
    orders = [
        said(f"Never open {word} {word}s {word}ly before noon!", n, 1.6)
        for n, word in enumerate("abcdefghij")
    ]
    open_request = said("Tell me what is left.", 30, 0.6)
    assert open_request.value in texts(
        Choice([*orders, concluded("The gate is open.", 20), open_request]), 200
    )
    assert open_request.value not in texts(
        Choice([*orders, concluded("The gate is open.", 40), open_request]), 200
    )


def test_what_changed_something_goes_before_commands_and_values() -> None:
    calls = [Evidence(EvidenceKind.DONE, f"cancel(order=A-{n})", n, "called", 1.0) for n in range(2)]
    runs = [Evidence(EvidenceKind.DONE, f"make {n} check-{n}", n, "ran exit 1", 1.4) for n in range(20)]
    values = [value(f"A-{n}", 9, rank=9.0) for n in range(60)]
    chosen = Choice([said("Go.", 0), *runs, *values, *calls]).take(800, Shares())
    done = [one.unit.value for one in chosen if one.group is Group.DONE]
    assert set(done[:2]) == {unit.value for unit in calls}


def test_a_repeated_conclusion_adds_nothing() -> None:
    ledger = [
        said("Go.", 0),
        *(concluded("The pump fails because of sand in the filter.", at) for at in (1, 2)),
    ]
    choice = Choice([*ledger, concluded("The valve is sound.", 3)])
    order = [one.unit.message for one in choice.take(500, Shares()) if one.group is Group.CONCLUDED]
    assert order.index(3) < max(order.index(at) for at in (1, 2) if at in order)


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_tiny_room_is_not_overrun(room: int) -> None:
    choice = Choice([said("A rather long saying that does not fit anywhere.", 0), value("AB-12", 1)])
    assert sum(one.cost for one in choice.take(room, Shares())) <= room


def test_of_sayings_that_are_equally_alike_the_newest_is_followed() -> None:
    """Whatever the hash seed of the process: the same conversation gives the same summary everywhere."""
    places = [f"{first}{second}ville" for first in "BDFGKLM" for second in ("ar", "el", "or")]
    days = ("one", "two", "six")
    ledger = [
        said(f"{place} dock{place} {place}{day}.", 3 * number + turn)
        for number, place in enumerate(places)
        for turn, day in enumerate(days)
    ]
    known = {one.unit.value: one for one in Choice(ledger).take(100_000, Shares())}
    for place in places:
        first, second, third = (known[f"{place} dock{place} {place}{day}."] for day in days)
        assert first.later is second and second.later is third


QUESTION = "asked in [m3]: Could you give me your customer number and the number of the invoice?"


def answered(text: str) -> Evidence:
    return Evidence(EvidenceKind.SAID, text, 4, QUESTION, 1.2)


def test_a_question_goes_before_words_do_where_the_answer_repeats_it() -> None:
    answer = answered("My customer number is 5512, the invoice has the number 88-31.")
    other = said("And the gate on the northern side stays locked until the painters are through.", 6)
    wide, narrow = (Choice([answer, other]).take(room, Shares()) for room in (500, 210))
    assert {one.unit.value for one in narrow} == {answer.value, other.value}
    assert [any(one.unit.context for one in taken) for taken in (wide, narrow)] == [True, False]


def test_a_question_stays_with_an_answer_that_means_nothing_without_it() -> None:
    answer = answered("Then we take the other one, with the green lid.")
    other = said("And the gate on the northern side stays locked until the painters are through.", 6)
    for room in range(100, 400, 10):
        assert all(
            one.unit.context for one in Choice([answer, other]).take(room, Shares()) if one.unit.message == 4
        )


def test_an_answer_is_worth_what_it_answers() -> None:
    """By its own words "the second one" says less than any other line, and would be the first to go."""
    asked = "asked in [m3]: Spot instances or the reserved pool for the nightly batch?"
    answer = Evidence(EvidenceKind.SAID, "The second one.", 4, asked, 1.2)
    talk = [said(f"The second shelf of rack {at} is one of the old ones.", 10 + at) for at in range(30)]
    assert answer.value in texts(Choice([said("Plan the batch.", 0), answer, *talk]), 900)


def test_no_question_is_a_later_word_on_a_matter() -> None:
    older = said("Draft the paragraph on the Larsen crate and the Odense warehouse.", 2)
    asks = said("Does the Larsen crate still stand in the Odense warehouse?", 9, rank=0.6)
    assert [one.later for one in Choice([older, asks]).take(2_000, Shares())] == [None, None]


def test_a_number_of_few_digits_needs_its_sentence() -> None:
    numbers = [
        Evidence(EvidenceKind.NUMBER, number, 3, "", 1.0)
        for number in ("155", "7:30", "15th", "10.5", "0.997", "12.50", "$12", "30ms", "1157.92")
    ]
    assert texts(Choice(numbers), 400) == ["$12", "30ms", "12.50", "1157.92"]


def test_what_a_call_changed_stays_beside_words_and_conclusions_that_fill_the_room() -> None:
    words = [
        said(f"The {name} must stay closed on weekends.", 0) for name in ("gate", "dock", "pier", "quay")
    ]
    stated = [
        concluded(f"Report number {n} says that the {n}th crane lifts too slowly.", n) for n in range(1, 9)
    ]
    failed = Evidence(EvidenceKind.DONE, "move_crane(crane=4) → failed", 3, CALLED, 0.8)
    called = Evidence(EvidenceKind.DONE, "move_crane(crane=7)", 5, CALLED, 1.2)
    chosen = texts(Choice([*words, *stated, failed, called]), 400)
    assert "move_crane(crane=7)" in chosen
    assert chosen.index("move_crane(crane=7)") < min(
        chosen.index(unit.value) for unit in stated if unit.value in chosen
    )


def test_what_is_corrected_in_one_message_never_stays_without_its_correction() -> None:
    text = "Petra should lead the harbor day. No wait, with 7,500 in all I'd rather take Lukas for all of it."
    corrected = ["Petra should lead the harbor day.", text.removeprefix("Petra should lead the harbor day. ")]
    words = [said(f"Remark {n} is about gate {n} of the harbor.", n) for n in range(4)]
    for room in range(60, 500, 10):
        chosen = texts(Choice([*words, *(said(part, 4) for part in corrected)]), room)
        assert corrected[0] not in chosen or corrected[1] in chosen


def test_the_task_stays_whatever_its_own_message_corrects() -> None:
    """The first sentence names the task; a "rather" after it seldom takes the task back."""
    task = [said("Mend the gate.", 0), said("No wait, rather mend the northern gate of the harbor first.", 0)]
    assert "Mend the gate." in texts(Choice(task), 60)


def test_thousands_of_corrections_in_a_row_are_no_deeper_than_one() -> None:
    ledger = [said(f"No wait, rather gate {n}.", 1 + n // 2_000) for n in range(4_000)]
    chosen = Choice([said("Mend a gate.", 0), *ledger]).take(200_000, Shares())
    assert len(chosen) == 4_001


@pytest.mark.parametrize("others", [0, 3, 8])
def test_of_a_matter_that_came_up_many_times_the_newest_word_never_lacks(others: int) -> None:
    """Six sayings share their words, so none of the words is rare."""
    names = "alpha bravo charlie delta echo foxtrot".split()
    ledger = [said("Let us tidy the importer.", 0)]
    for place, name in enumerate(names):
        ledger.append(said(f"Name the new cache module {name} from now on.", 2 + 4 * place))
        for other in range(others):
            thing = f"The {'red blue gray old tall late wet dry'.split()[other]} pump {place}"
            ledger.append(
                said(f"{thing} wants {'oil paint sand glue rope tar wax tin'.split()[other]}.", 3 + 4 * place)
            )
    for room in range(60, 700, 20):
        chosen = " ".join(texts(Choice(ledger), room))
        there = [name for name in names if name in chosen]
        assert not there or there[-1] == names[-1]


def test_requests_in_one_form_are_separate_matters() -> None:
    requests = [said(f"Write block {number} of the report now.", number + 1) for number in range(30)]
    assert all(
        one.later is None for one in Choice([said("Let us begin.", 0), *requests]).take(9_000, Shares())
    )


def test_a_task_too_long_for_the_room_keeps_head_and_tail() -> None:
    task = said(f"Mend the relay of the old mill, {'as we said before, ' * 60}and report to Signe.", 0)
    later = [
        said(f"And look at the {name} again, please do.", at) for at, name in enumerate(("gate", "dock"), 2)
    ]
    chosen = Choice([task, *later]).take(300, Shares())
    assert sum(one.cost for one in chosen) <= 300
    assert chosen[0].unit.value.startswith("Mend the relay of the old mill,")
    assert chosen[0].unit.value.endswith("and report to Signe.")


@pytest.mark.parametrize("room", [200, 300, 600, 900, 1_400])
@pytest.mark.parametrize("length", [120, 800, 1_500])
def test_a_task_and_its_correction_are_both_there_whatever_their_length(room: int, length: int) -> None:
    what = "build the payment gateway adapter for {} webhooks with keys, retries and signature verification"
    task = said(f"{what.format('Stripe').capitalize()}.", 0)
    correction = said(
        f"No wait, {what.format('Adyen')} {'in the harbor ' * (length // 14)}for Signe.", 4, 1.6
    )
    odd = [said(f"The fixture {n} of vendor{n} has odd dates.", 6 + n) for n in range(12)]
    chosen = Choice([task, correction, *odd]).take(room, Shares())
    assert sum(one.cost for one in chosen) <= room
    by_message = {one.unit.message: one.unit.value for one in chosen}
    assert by_message[0].startswith("Build the") and by_message[4].startswith("No wait")
    assert len(by_message[0]) <= len(task.value) and len(by_message[4]) <= len(correction.value)


def test_a_task_and_its_correction_stay_whole_where_all_words_fit() -> None:
    what = "build the payment gateway adapter for {} webhooks with keys, retries and signature verification"
    task = said(f"{what.format('Stripe')} {'as agreed ' * 28}.", 0)
    correction = said(f"No wait, {what.format('Adyen')} {'in the harbor ' * 18}.", 4, 1.6)
    cost = len(task.value) + len(correction.value) + 16
    assert {task.value, correction.value} <= set(texts(Choice([task, correction]), int(cost / 0.79)))
    # One that is in place already takes no room.
    alone = Choice([task, correction], before=f"They said: {correction.value}")
    assert texts(alone, int((len(task.value) + 8) / 0.7)) == [task.value]


def test_a_task_goes_before_later_sayings_as_a_whole_where_words_leave_room() -> None:
    task = said("Rewrite the import of the harbor ledger so that a broken row no longer stops it.", 0)
    later = [said(f"And look at the {name} again, please do.", at) for at, name in enumerate("abcdef", 2)]
    assert texts(Choice([task, *later]), 160)[0] == task.value
