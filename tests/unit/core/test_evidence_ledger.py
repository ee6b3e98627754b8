from __future__ import annotations

import json

import pytest

from compact.core.evidence import Ledger, StepKind, extract, merge
from compact.model.message import Message
from compact.model.summary import Evidence, EvidenceKind
from support.conversations import assistant, call, lighthouse, result, user


def found(ledger: Ledger) -> dict[str, Evidence]:
    return {item.value: item for item in ledger.items}


def test_files_carry_what_was_done_to_them_and_where() -> None:
    items = found(
        extract(
            (
                call("c1", "read_file", {"path": "src/read.py", "offset": 10, "limit": 20}),
                result("c1", "def a(): ..."),
                call("c2", "edit_file", {"path": "src/edited.py", "old_string": "a", "new_string": "b"}),
                result("c2", "ok"),
                call("c3", "bash", {"command": "sed -n '5,9p' src/shell.py"}),
                result("c3", "x = 1"),
                call("c4", "bash", {"command": "cat > src/made.py << 'EOF'\nprint(1)\nEOF"}),
                result("c4", "<returncode>0</returncode>"),
            )
        )
    )
    assert items["src/read.py"].context == "read 10-29"
    assert items["src/edited.py"].context == "edited"
    assert items["src/shell.py"].context == "read 5-9"
    assert items["src/made.py"].context == "edited"


def test_a_short_form_of_a_path_counts_for_the_whole() -> None:
    items = found(
        extract((user("Look at fields.py"), assistant("It is src/app/fields.py. In fields.py I see")))
    )
    assert "src/app/fields.py" in items
    assert "fields.py" not in items


@pytest.mark.parametrize(
    ("output", "status", "failed"),
    [
        ("<returncode>1</returncode>\nboom", "exit 1", True),
        ("all good\nexit code: 0", "exit 0", False),
        ("Process exited with code 127", "exit 127", True),
        ('{"error": "no such booking"}', "failed", True),
        ("three files", "", False),
    ],
)
def test_commands_carry_how_they_ended(output: str, status: str, failed: bool) -> None:
    ledger = extract((call("c1", "bash", {"command": "cd /app && make ship"}), result("c1", output)))
    [step] = ledger.steps
    assert (step.command, step.status, step.failed) == ("make ship", status, failed)
    assert found(ledger)["make ship"].context == status


def test_errors_and_failing_tests_are_untrusted_evidence() -> None:
    output = "E   NameError: name 'zones' is not defined\nFAILED tests/test_a.py::test_b\n1 failed"
    ledger = extract((call("c1", "bash", {"command": "pytest"}), result("c1", output)))
    errors = {item.value: item for item in ledger.items if item.kind is EvidenceKind.ERROR}
    assert set(errors) == {"NameError: name 'zones' is not defined", "tests/test_a.py::test_b"}
    assert all(item.untrusted and item.message == 1 for item in errors.values())


def test_a_key_that_names_a_file_is_a_value() -> None:
    hits = json.dumps({"src/login/pool.ts": ["12: const size = 4"], "matched_files": 1})
    items = found(extract((call("c1", "search", {"query": "size"}), result("c1", hits))))
    assert items["src/login/pool.ts"].kind is EvidenceKind.PATH
    assert "matched_files" not in items


def test_a_few_words_under_a_key_are_one_value() -> None:
    place = json.dumps({"street": "12457 Mill Lane", "note": "order W-88121 paid"})
    items = found(extract((call("c1", "find", {"name": "mill"}), result("c1", place))))
    assert items["12457 Mill Lane"].context == "street"
    assert "12457" not in items and "W-88121" in items


def test_how_much_a_call_wants_to_see_is_no_fact() -> None:
    items = found(extract((call("c1", "read", {"path": "a/b.py", "offset": 1180, "price": 1190}),)))
    assert "1180" not in items and "1190" in items


def test_a_time_is_told_with_its_words_and_the_stamp_of_a_message_is_none() -> None:
    items = found(extract((user("[22 May, 9:55 am] Ada: the bus leaves at 10:40 am"),)))
    assert items["10:40 am"].context == "bus leaves at …"
    assert "9:55 am" not in items


def test_json_values_carry_their_key_and_keys_are_no_values() -> None:
    output = json.dumps(
        {
            "booking_id": "NF-77120",
            "trip_kind": "one_way",
            "cards": {"card_88213": {"amount": 232.5}},
            "extras": ["EX-1044", "EX-1045"],
        }
    )
    items = found(extract((call("c1", "get_booking", {"booking_id": "NF-77120"}), result("c1", output))))
    assert items["NF-77120"].context == "booking_id"
    assert items["card_88213"].context == "cards"
    assert items["EX-1045"].context == "extras"
    assert items["232.5"].context == "amount"
    assert not {"booking_id", "trip_kind", "one_way"} & set(items)


def test_only_what_tools_alone_say_is_untrusted() -> None:
    items = found(
        extract(
            (
                call("c1", "list", {}),
                result("c1", "order ZX-1001 and order ZX-1002"),
                assistant("I take ZX-1002."),
            )
        )
    )
    assert items["ZX-1001"].untrusted
    assert not items["ZX-1002"].untrusted


def test_what_is_used_ranks_above_what_is_only_listed() -> None:
    listing = " ".join(f"HAT{number:03d}" for number in range(200))
    messages: list[Message] = [call("c1", "search", {}), result("c1", listing)]
    messages += [
        assistant("HAT150 fits."),
        call("c2", "book", {"flight": "HAT150"}),
        result("c2", "HAT150 ok"),
    ]
    ranked = [item.value for item in extract(messages).items if item.value.startswith("HAT")]
    assert ranked[0] == "HAT150"


def test_secrets_are_never_evidence() -> None:
    ledger = extract((user("The key is sk_live_4711aa."),), is_secret=lambda value: value.startswith("sk_"))
    assert all("sk_live" not in item.value for item in ledger.items)


def test_positions_are_those_of_the_session() -> None:
    ledger = extract(lighthouse(), range(40, 48))
    assert {item.message for item in ledger.items} <= set(range(40, 48))
    assert found(ledger)["lamp/schedule.toml"].message == 41


def test_steps_know_their_kind() -> None:
    kinds = [(step.tool, step.kind, step.failed) for step in extract(lighthouse()).steps]
    assert kinds == [("read_file", StepKind.READ, False), ("run", StepKind.RAN, True)]


def test_merging_keeps_each_value_once_and_the_better_rank() -> None:
    old = (
        Evidence(EvidenceKind.ID, "A-100", 3, "order", 4.0),
        Evidence(EvidenceKind.ID, "B-200", 5, "order", 1.0, untrusted=True),
    )
    new = (
        Evidence(EvidenceKind.ID, "B-200", 40, "", 2.0),
        Evidence(EvidenceKind.ID, "C-300", 41, "order", 9.0, untrusted=True),
    )
    merged = merge(old, new)
    assert [item.value for item in merged] == ["C-300", "A-100", "B-200"]
    again = merged[2]
    assert (again.message, again.context, again.untrusted) == (40, "order", False)


def test_merging_keeps_rules_but_not_those_taken_back() -> None:
    old = tuple(
        Evidence(EvidenceKind.RULE, text, at, "user", 100.0)
        for at, text in enumerate(("Answer in English.", "Never push to main."))
    )
    new = (Evidence(EvidenceKind.RULE, "From now on, answer in French.", 50, "user", 100.0),)
    kept = [item.value for item in merge(old, new) if item.kind is EvidenceKind.RULE]
    assert kept == ["Never push to main.", "From now on, answer in French."]


def test_a_label_cites_the_message_that_gave_it() -> None:
    order = json.dumps({"order_id": "A-99812", "items": [{"sku": "BL-220", "price": 129.99}], "zip": "85701"})
    ledger = extract(
        (
            call("c1", "get_order", {"order_id": "A-99812"}),
            result("c1", order),
            call("c2", "refund", {"amount": 129.99}),
            result("c2", "done"),
        )
    )
    [price] = [item for item in ledger.items if item.value == "129.99"]
    assert (price.context, price.message) == ("price", 1)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("京都グランドは一泊18,000円です。4月12日に行きます。", {"18,000円", "4月12日"}),
        ("予算は20万円、注文はINV-4711です。", {"20万円", "INV-4711"}),
        ("请看docs/plan_2.md，2025年5月1日前付500元。", {"docs/plan_2.md", "2025年5月1日", "500元"}),
        ("회의는 5월 3일, 비용은 30,000원입니다.", {"30,000원"}),
    ],
)
def test_without_blanks_values_are_found_whole_and_sentences_are_none(text: str, values: set[str]) -> None:
    assert {item.value for item in extract((user(text),)).items} == values


def test_german_articles_and_interjections_are_no_names() -> None:
    said = "Mm-hmm. Die Datei fehlt. Der Abgabetermin bleibt, und Sie wissen es. Die Firma Karl Becker zahlt."
    names = [item.value for item in extract((user(said),)).items if item.kind is EvidenceKind.NAME]
    assert names == ["Firma Karl Becker"]


def test_words_that_are_counted_step_back() -> None:
    words = " ".join(f"word{number}" for number in range(90))
    items = extract((user(f"{words} and order KX4711"),)).items
    assert {item.value for item in items if item.rank > 0.05} <= {"word0", "word89", "word10", "KX4711"}


def test_nothing_gives_nothing() -> None:
    assert extract(()) == Ledger(reading=extract(()).reading)
    assert merge((), ()) == ()


def names_password(text: str) -> bool:
    return "password" in text


@pytest.mark.parametrize("key", ["password", "dbPassword", "client_secret", "cookie", "connection_string"])
def test_what_a_secret_field_holds_is_neither_evidence_nor_shown(key: str) -> None:
    secret = "MoonRiver2291x"
    ledger = extract(
        (
            call("c1", "configure", {"host": "db-1.example.org", key: secret, "more": [{key: [secret]}]}),
            result("c1", json.dumps({key: secret, "state": "ready-77"})),
            assistant(f"It answers to {secret} on db-1.example.org now."),
        ),
        is_secret=names_password,
    )
    assert secret not in repr(ledger.steps) and not [item for item in ledger.items if secret in item.value]
    assert "db-1.example.org" in repr(ledger.steps) and "ready-77" in found(ledger)


def test_without_is_secret_nothing_is_hidden() -> None:
    ledger = extract((call("c1", "configure", {"password": "MoonRiver2291x"}),))
    assert "MoonRiver2291x" in repr(ledger.steps)
