"""Arguments of calls are read without their secrets, however long their arrays are."""

from __future__ import annotations

import json

from compact.evidence.secrets import Hiding
from compact.model.message import ToolCall
from compact.redaction.redactor import Redactor

VALUES = [f"value {number}" for number in range(10_000)]


def read(arguments: object) -> dict:
    return dict(Hiding(Redactor()).arguments(ToolCall("call_1", "add", arguments)))


def test_a_long_array_without_secrets_stays() -> None:
    assert read(json.dumps({"values": VALUES})) == {"values": VALUES}


def test_a_secret_behind_its_option_in_a_long_array_is_hidden() -> None:
    shown = read(json.dumps({"argv": [*VALUES, "--password", "hunter2Zq9xK777", "now"]}))
    assert shown["argv"][:10_001] == [*VALUES, "--password"] and shown["argv"][-1] == "now"
    assert "hunter2" not in str(shown)


def test_what_a_fields_name_reveals_is_hidden_wherever_it_is_said_again() -> None:
    hiding = Hiding(Redactor())
    hiding.arguments(ToolCall("call_1", "login", {"user": "signe", "password": "harbor-light-77"}))
    assert hiding.holds("It is harbor-light-77 for now.") and not hiding.holds("Ask signe first.")
