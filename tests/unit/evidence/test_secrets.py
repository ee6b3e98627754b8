"""What a field's name revealed as secret leaves a sentence; the sentence stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.evidence import extract
from compact.evidence.secrets import Hiding
from compact.model.summary import EvidenceKind
from compact.redaction.redactor import Redactor
from support.conversations import assistant, call, user

GIVEN = json.dumps({"authorization": {"roles": ["administrator"]}, "password": "harbor-light-77"})


def test_the_users_words_stay_without_the_secret_in_them() -> None:
    messages = [
        user("Build an administrator page for the harbor. Never deploy it on Fridays."),
        call("call_1", "set_permissions", GIVEN),
        assistant("The password harbor-light-77 works, so the cause is the clock."),
    ]
    units = extract(messages, redactor=Redactor())
    said = " ".join(unit.value for unit in units if unit.kind is EvidenceKind.SAID)
    assert "Never deploy it on Fridays." in said and "page for the harbor" in said
    stated = " ".join(unit.value for unit in units if unit.kind is EvidenceKind.CONCLUDED)
    assert "so the cause is the clock" in stated
    everything = " ".join(f"{unit.value} {unit.context}" for unit in units)
    assert "harbor-light-77" not in everything and "administrator" not in everything


@pytest.mark.parametrize(
    "given",
    [
        {"command": "mysql -u root --password=kkd83jsk2lsp -e 'select 1'"},
        {"headers": {"Authorization": "Bearer kkd83jsk2lsp"}},
    ],
)
def test_a_secret_inside_an_argument_is_known_where_it_stands_alone(given: dict[str, Any]) -> None:
    messages = [
        user("Ask the ledger."),
        call("call_1", "run", json.dumps(given)),
        assistant("With kkd83jsk2lsp it answers, so the cause is the clock."),
        user("kkd83jsk2lsp"),
    ]
    everything = [f"{unit.value} {unit.context}" for unit in extract(messages, redactor=Redactor())]
    assert not [unit for unit in everything if "kkd83jsk2lsp" in unit]
    assert any("so the cause is the clock" in unit for unit in everything)


@pytest.mark.parametrize(
    "command",
    [
        "export PASSWORD='kkd83jsk2lsp'",
        "PGPASSWORD=kkd83jsk2lsp; psql",
        "curl -H 'X-Api-Key: kkd83jsk2lsp' https://example.org",
    ],
)
def test_a_secret_is_known_without_what_stands_around_it(command: str) -> None:
    messages = [
        user("Go."),
        call("call_1", "run", json.dumps({"command": command})),
        user("Is it kkd83jsk2lsp?"),
    ]
    assert not [unit for unit in extract(messages, redactor=Redactor()) if "kkd83jsk2lsp" in unit.value]


@pytest.mark.parametrize(
    "given",
    [
        {"command": "grep -n 'password=' config/settings.py"},
        {"command": "curl -u admin:settings.py --password=123456 https://example.org"},
        {"text": "The password is in front. Install with --no-deps, api_key and machines, order 1234567."},
        {"password": "the production database"},
    ],
)
def test_words_that_nobody_would_take_for_a_key_stay(given: dict[str, Any]) -> None:
    said = "Put config/settings.py in front, rename api_key, use --no-deps on machines, order 1234567."
    messages = [user(said), call("call_1", "run", json.dumps(given)), user("database")]
    kept = [unit.value for unit in extract(messages, redactor=Redactor()) if unit.kind is EvidenceKind.SAID]
    assert kept == [said, "database"]


def test_thousands_of_secrets_are_not_all_remembered() -> None:
    rows = "\n".join(f"INSERT token=k{number:04d}d83jsk2lsp{number:04d};" for number in range(2_000))
    hiding = Hiding(Redactor())
    hiding.arguments(call("call_1", "write", json.dumps({"path": "seed.sql", "text": rows})).calls[0])
    assert 0 < len(hiding.revealed) <= 400


def test_an_order_is_in_the_prompt_whatever_a_call_passed() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=4_000, archive={"adapter": "none"})
    )
    messages = [
        {"role": "user", "content": "Build an administrator page for the harbor. Never deploy it on Fridays."}
    ]
    function = {"name": "set_permissions", "arguments": GIVEN}
    messages.append(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c0", "type": "function", "function": function}],
        }
    )
    messages.append({"role": "tool", "tool_call_id": "c0", "content": "ok"})
    for number in range(60):
        messages.append(
            {"role": "assistant", "content": f"Step {number} is done, the page has one more field."}
        )
        messages.append(
            {
                "role": "user",
                "content": f"Go on with field {number}, in the way that we did the one before it.",
            }
        )
    assert "Fridays" in json.dumps(manager.preflight("harbor", messages))
