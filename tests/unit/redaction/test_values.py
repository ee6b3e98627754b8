"""What is a value and what only stands where one could: below a name, under a heading, in a declaration."""

from __future__ import annotations

import pytest

from compact.redaction import REDACTED, Redactor

SECRETS = {
    "alone on the line below, deeper": "db:\n  client_secret:\n    Kite-marl-48x2\n  port: 1\n",
    "below a weaker name": "token:\n  q8Fz71LmWw02ppx\n",
    "below an underlined heading": "API key\n-------\nr7Gk20QvbZt41mXa\n",
    "below an underlined password": "Password\n========\nGr4vel-hinge2\n",
    "behind a blank, where the client wants none": "mysql -h db1 -u root -p Slate7-cove shop",
    "a PIN with words between": "PIN for the side door: 7731",
}
LOOK_ALIKES = {
    "a type": "def login(user: str, password: str) -> Token:",
    "an optional type": "password: Optional[str] = None",
    "a default": "connect(host, password=None, timeout=30)",
    "no value in YAML": "password: null\nuser: bob",
    "a verb": "PIN the version: 8264",
    "a placeholder of several words": "password: <your password here>",
    "a database": "mysql -u root -p shop",
    "a mapping below": "secret:\n  name: database\n  key: password\n",
    "a list below": "secret_key:\n  - first\n",
    "a statement below": "if not client_secret:\n    count += 1\n",
    "a heading without a value": "Secret key\n----------\nmust be changed every month",
}


@pytest.mark.spec("S4.15")
@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_a_value_goes(text: str) -> None:
    redacted = Redactor().text(text)
    assert REDACTED in redacted and not any(
        word in redacted for word in ("48x2", "ppx", "mXa", "hinge2", "Slate7", "7731")
    )


@pytest.mark.spec("S4.15")
@pytest.mark.parametrize("text", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_what_is_none_stays(text: str) -> None:
    assert Redactor().text(text) == text
