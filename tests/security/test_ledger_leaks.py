"""No secret of the corpus reaches the ledger, wherever in a conversation it stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from compact.evidence import extract
from compact.model.message import Message
from compact.redaction.redactor import Redactor
from support.conversations import assistant, call, result, user

from .secret_corpus import SECRETS
from .secret_places import PLACED

REDACTOR = Redactor()


def run(command: str, output: str = "done") -> list[Message]:
    return [call("call_1", "bash", json.dumps({"command": command})), result("call_1", output)]


def words(text: str) -> list[str]:
    """As a shell passes one line; a block of several lines is one argument."""
    return [text] if "\n" in text else text.split()


PLACES: dict[str, Callable[[str], Sequence[Message]]] = {
    "user": lambda text: [user(f"Please note this:\n{text}\nThanks.")],
    "user alone": lambda text: [user(text)],
    "assistant": lambda text: [assistant(text)],
    "output": lambda text: run("make deploy", text),
    "error": lambda text: run("make deploy", f"exit code: 1\nfatal: it was refused\n{text}\n"),
    "failing tests": lambda text: run("make test", f"FAILED tests/test_gate.py\n{text}\n3 failed in 2s"),
    "failed call": lambda text: [call("call_1", "post", '{"id": 4}'), result("call_1", f"Error:\n{text}")],
    "command": lambda text: run(f"deploy --to harbor\n{text}\nmake"),
    "heredoc": lambda text: run(f"cat > conf/app.env <<'END'\n{text}\nEND"),
    "argument": lambda text: [call("call_1", "create_user", json.dumps({"note": text, "id": "U-4711"}))],
    "nested argument": lambda text: [call("call_1", "create_users", json.dumps({"users": [{"note": text}]}))],
    "short list": lambda text: [call("call_1", "run", json.dumps({"argv": ["login", *words(text)]}))],
    "long list": lambda text: [
        call("call_1", "run", json.dumps({"argv": [*(f"-v{n}" for n in range(70)), *words(text), "."]}))
    ],
    "name of an argument": lambda text: [call("call_1", "post", json.dumps({"headers": {text: "1"}}))],
    "written file": lambda text: [call("call_1", "write", json.dumps({"path": "a/b.env", "content": text}))],
    "edit in prose": lambda text: [
        assistant(f"conf/app.env\n<<<<<<< SEARCH\n\n=======\n{text}\n>>>>>>> REPLACE")
    ],
    "arguments that are no object": lambda text: [call("call_1", "bash", text)],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.spec("S4.15")
def test_no_secret_is_in_a_unit(place: str) -> None:
    leaked = []
    for case in (*SECRETS, *PLACED):
        units = extract(PLACES[place](case.text), redactor=REDACTOR)
        shown = "\n".join(f"{unit.value} {unit.context}" for unit in units)
        if case.secret in shown or " ".join(case.secret.split()) in shown:
            leaked.append((case.kind, case.text, shown))
    assert leaked == []


def test_what_is_left_of_a_text_keeps_its_place() -> None:
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
    units = extract([user(f"Use {secret} for staging only, never for the harbor.")], redactor=REDACTOR)
    assert units[0].value == "Use … for staging only, never for the harbor."


@pytest.mark.parametrize("mark", ["…", "<REDACTED>"])
@pytest.mark.spec("S4.15")
def test_what_stands_in_a_secrets_place_is_no_secret(mark: str) -> None:
    """Else a summary would lose its quotes and the next words when it is archived."""
    for case in (*SECRETS, *PLACED):
        text = case.text
        for start, end in reversed(REDACTOR.secret_spans(text)):
            text = text[:start] + mark + text[end:]
        assert REDACTOR.secret_spans(f"- “{text}” [m3]") == []
