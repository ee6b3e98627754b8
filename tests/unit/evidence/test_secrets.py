"""What a field's name revealed as secret leaves a sentence; the sentence stays."""

from __future__ import annotations

import json

from compact import CompactConfig, CompactManager
from compact.evidence import extract
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
