"""Text in chunks is redacted as the whole would be."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.redaction import REDACTED, Redactor

DASHES = "-" * 5
PIECES = [
    "api_key = sk-abc123\nnext",
    "Authorization: Bearer abcdef123456 and more\n",
    f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n"
    + "MIIEpAIBAAKC0123abcdefABCDEFgh+/\n" * 5
    + f"{DASHES}END RSA PRIVATE KEY{DASHES}\n",
    "MIIEpAIBAAKC0123abcdefABCDEFgh+/\n" * 4 + f"{DASHES}END RSA PRIVATE KEY{DASHES}\n",
    "pass: |",
    "curl -u bob:hunter22 http://x\n",
    "plain words here and there. ",
    "postgres://u:p4ss@h/db ",
    '{"token": "abcd1234efgh", "x": 1}\n',
    "--password hunter2x ",
    "Cookie: a=b; c=d\n",
    "AK" + "IAABCDEFGHIJKL2345 " + "a1B2" * 10 + " ",
    'password: "x y z" ',
    "the password is hunter2x. ",
    "è ü 漢字 ",
    "\nuser,password,role\nbob,horse battery,admin\nal, two words,x\n",
    "\n| who | secret |\n|---|---|\n| bob | horsestaple |\n",
    "\nUSER   PASSWORD   ROLE\nbob    horse1     x\n",
    "\npassword: |2-  # note\n    horse battery\n    staple\nnext: 1\n",
    "Das Passwort für den Server lautet Sommer24! und mehr\n",
    "the password for the box is:\n\nhorse24staple\n",
    "login('me', 'horse') ",
    "mongosh -u bob -p horsey db\n",
    "--client-secret horsey ",
    "pass\x1b[0mword: horse \u200bapi\u200b_key=x ",
    '"pass\\u0077ord": "horse battery" ',
    "\nset psksecret horse\n",
    "PIN for the door is 8264 ",
    "\ndb:\n  client_secret:\n    kkP93mz-LQw8xx21\n  port: 1\n",
    "\nAPI key\n-------\nzx81QWErty00pLmN55ab\n",
    "mysql -u root -p Basalt7-ridge shop\n",
    "PIN the version: 8264 ",
    "def f(password: str, token=None)\n",
    "a,b,c\n",
    "\n",
    '"',
    "=",
]


def in_chunks(text: str, redactor: Redactor, dice: random.Random, longest: int = 12) -> str:
    stream, sent, position = redactor.stream(), [], 0
    while position < len(text):
        size = dice.randint(1, longest)
        sent.append(stream.feed(text[position : position + size]))
        position += size
    return "".join(sent) + stream.close()


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.integers())
def test_any_split_gives_what_the_whole_gives(text: str, seed: int) -> None:
    redactor = Redactor()
    assert in_chunks(text, redactor, random.Random(seed)) == redactor.text(text)


def test_words_go_out_before_the_end() -> None:
    stream = Redactor().stream()
    assert stream.feed("hello wor") == "hello "
    assert stream.feed("ld and ") == "world and "
    assert stream.close() == ""


def test_a_secret_without_end_takes_bounded_memory() -> None:
    stream = Redactor().stream()
    sent = stream.feed("api_key=")
    for _ in range(200):
        sent += stream.feed("A1b2C3d4" * 512)
        assert stream.held_back < 140_000
    sent += stream.feed(" done ") + stream.close()
    assert sent.startswith(f"api_key={REDACTED}")
    assert "A1b2C3d4A1b2" not in sent
    assert sent.endswith(" done ")


def test_a_word_without_end_takes_bounded_memory_and_stays() -> None:
    picture = "iVBORw0KGgo" + "Qm9vbTEy" * 40_000
    stream, sent = Redactor().stream(), ""
    for start in range(0, len(picture), 1_000):
        sent += stream.feed(picture[start : start + 1_000])
        assert stream.held_back < 100_000
    assert sent + stream.close() == picture


def test_user_patterns_see_across_white_space() -> None:
    redactor = Redactor(patterns=[r"order\s+\d+\s+for\s+\w+"])
    text = "the order 12 for bob, then order 7 for eve. " * 300
    assert in_chunks(text, redactor, random.Random(1), 40) == redactor.text(text)


def test_switched_off_passes_chunks_through() -> None:
    stream = Redactor(enabled=False).stream()
    assert stream.feed("password=") == "password="
    assert stream.close() == ""


@pytest.mark.parametrize("unit", ["pass: |", "token = ", "password\n", "curl ", "ABCDEFGH+/12\n", '"key": '])
def test_hostile_text_is_looked_at_a_fixed_number_of_times(unit: str) -> None:
    looked_at = []

    class Counting(Redactor):
        def spans(self, data: bytes) -> list[tuple[int, int]]:
            looked_at.append(len(data))
            return super().spans(data)

    text = unit * (400_000 // len(unit))
    stream = Counting().stream()
    for start in range(0, len(text), 100):
        stream.feed(text[start : start + 100])
        assert stream.held_back < 140_000
    stream.close()
    assert sum(looked_at) < 2 * len(text)
