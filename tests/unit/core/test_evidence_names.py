"""Names, dates, telephone numbers and file numbers, in several languages."""

from __future__ import annotations

import json

import pytest

from compact.core.evidence import extract
from compact.core.evidence.block import Coverage
from compact.core.evidence.values import spaced_values
from compact.model.summary import EvidenceKind
from support.conversations import assistant, call, result, user


def values(kind: EvidenceKind, *texts: str) -> list[str]:
    messages = [user(text) if number % 2 == 0 else assistant(text) for number, text in enumerate(texts)]
    return [item.value for item in extract(messages).items if item.kind is kind]


GERMAN = (
    "Guten Abend, wir suchen für die Hochzeit einen Saal in Regensburg und das Essen soll nicht schwer sein.",
    "Gern. Der Saal am Domplatz 3 ist frei, Ansprechpartner ist Herr Öztürk, und dort spielt Prof. Weiß.",
    "Bitte klären Sie mit Frau Dr. Großmann die Blumen. Huber & Partner ist zu teuer, das meint auch meine "
    "Schwester, die Sängerin Käthe Vogl.",
)


def test_of_german_nouns_only_names_are_names() -> None:
    found = values(EvidenceKind.NAME, *GERMAN)
    assert {"Regensburg", "Domplatz 3", "Herr Öztürk", "Prof. Weiß", "Frau Dr. Großmann"} <= set(found)
    assert any("Huber & Partner" in name for name in found) and any("Käthe Vogl" in name for name in found)
    told = " ".join(found).split()
    assert not {
        "Guten",
        "Abend",
        "Hochzeit",
        "Saal",
        "Essen",
        "Ansprechpartner",
        "Band",
        "Blumen",
        "Angebot",
    } & set(told)


def test_a_word_is_never_cut() -> None:
    found = values(
        EvidenceKind.NAME, "Ma belle-sœur Éloïse et mon frère Łukasz vont à Œuilly chez l'oncle Ångström."
    )
    assert not [name for name in found if name[0].islower()]
    assert {"Éloïse", "Łukasz", "Œuilly", "Ångström"} <= {word for name in found for word in name.split()}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (
            "Der Vertrag läuft bis 31. Dezember 2026, die Prüfung ist am 4. Mai.",
            ["31. Dezember 2026", "4. Mai"],
        ),
        ("La visite est le 2 août, le paiement avant le 1er février 2027.", ["2 août", "1er février 2027"]),
        ("La entrega es el 9 de enero, no el 12 de marzo de 2027.", ["9 de enero", "12 de marzo de 2027"]),
        ("The lease ends on 7 October 2027.", ["7 October 2027"]),
    ],
)
def test_days_are_days_in_other_languages(text: str, days: list[str]) -> None:
    assert sorted(values(EvidenceKind.DATE, text)) == sorted(days)


@pytest.mark.parametrize(
    "number",
    [
        "0221 998 7654",
        "+44 20 7946 0018",
        "(030) 901 820 77",
        "04 76 88 21 09",
        "0911/2345-678",
        "+81 3-1234-5678",
    ],
)
def test_a_telephone_number_stays_whole(number: str) -> None:
    [item] = [
        item
        for item in extract([user(f"Reach me at {number}, after nine.")]).items
        if item.kind.value == "id"
    ]
    assert (item.value, item.context) == (number, "phone")


@pytest.mark.parametrize(
    "text", ["on 05/03/2024", "01.04.2025", "rows 001 002 003 004", "at 09:30", "0.15 100 200"]
)
def test_other_digits_are_no_telephone_number(text: str) -> None:
    assert spaced_values(text) == (text, [])


def test_amounts_with_blanks_stay_whole() -> None:
    assert set(values(EvidenceKind.NUMBER, "Le devis est de 12 480 €, soit 1 040,50 € par mois.")) == {
        "12 480 €",
        "1 040,50 €",
    }


@pytest.mark.parametrize("number", ["BV-1187/25", "AZ-22/2031", "RX-90417"])
def test_file_numbers_are_ids_amid_any_letters(number: str) -> None:
    assert number in values(EvidenceKind.ID, f"Das Aktenzeichen ist {number}.")
    assert number in values(EvidenceKind.ID, f"申請番号は{number}です。")


def test_fillers_name_nobody() -> None:
    text = (
        "so we can, Basically, ask, Mmm, Cuz Dana said it and, Incidentally, then Oskar Oskar went to Leiden"
    )
    assert set(values(EvidenceKind.NAME, text)) == {"Oskar", "Leiden"}
    assert set(values(EvidenceKind.NAME, "we met Emily and, of course, Kelly there")) == {"Emily", "Kelly"}


def test_what_prose_says_in_several_words_is_said() -> None:
    said = Coverage("- [m3] Herr Öztürk kommt am 4. Mai.")
    assert said.says("Herr Öztürk") and said.says("4. Mai") and not said.says("5. Mai")


def test_amounts_are_told_as_those_of_their_object() -> None:
    rows = [{"name": "Desk Lamp", "id": "lamp_20417", "price": 31.5}, {"name": "Stool", "price": 48.25}]
    items = extract([call("c1", "list_goods", {}), result("c1", json.dumps({"goods": rows}))]).items
    contexts = {item.value: item.context for item in items}
    assert contexts["31.5"] == "price of Desk Lamp" and contexts["48.25"] == "price of Stool"


def test_keys_types_and_running_times_are_no_values() -> None:
    answer = '{"needs_a_choice": "the oak one", "asked_by": "Mira", } and more'
    output = "rows float64 int32\n3 passed in 0.42s"
    items = extract(
        [assistant(answer), call("c1", "bash", {"command": "pytest"}), result("c1", output)]
    ).items
    assert not {"needs_a_choice", "asked_by", "float64", "int32", "0.42s"} & {item.value for item in items}
