"""Private keys go however a tool printed them, and also what is left of one."""

from __future__ import annotations

import random
import string
import urllib.parse

import pytest

from compact.redaction import Redactor

REDACTOR = Redactor()
_DICE = random.Random(11)
LINES = ["".join(_DICE.choices(string.ascii_letters + string.digits + "+/", k=64)) for _ in range(12)]
LINES.append("Qx7=")
FENCE = "-" * 5
WHOLE = [f"{FENCE}BEGIN RSA PRIVATE KEY{FENCE}", *LINES, f"{FENCE}END RSA PRIVATE KEY{FENCE}"]
TAIL = WHOLE[4:]
COLOR, PLAIN = "\x1b[32m", "\x1b[0m"

FORMS = {
    "plain": lambda lines: "\n".join(lines),
    "arrow numbers": lambda lines: "\n".join(f"{i:6}→{line}" for i, line in enumerate(lines, 1)),
    "tab numbers": lambda lines: "\n".join(f"{i:6}\t{line}" for i, line in enumerate(lines, 1)),
    "bar numbers": lambda lines: "\n".join(f"{i:4}│ {line}" for i, line in enumerate(lines, 1)),
    "grep numbers": lambda lines: "\n".join(f"{i}:{line}" for i, line in enumerate(lines, 1)),
    "diff": lambda lines: "\n".join(f"+{line}" for line in lines),
    "quote marks": lambda lines: "\n".join(f"> {line}" for line in lines),
    "bullets": lambda lines: "\n".join(f" ¦ {line}" for line in lines),
    "colors": lambda lines: "\n".join(f"{COLOR}{line}{PLAIN}" for line in lines),
    "colored numbers": lambda lines: "\n".join(f"{COLOR}{i:4}{PLAIN} {x}" for i, x in enumerate(lines, 1)),
    "escaped colors": lambda lines: "\\n".join(f"\\u001b[32m{line}\\u001b[0m" for line in lines),
    "escaped": lambda lines: "\\n".join(lines),
    "carriage returns": lambda lines: "\r\n".join(lines),
    "percent codes": lambda lines: urllib.parse.quote("\n".join(lines), safe=""),
    "form codes": lambda lines: urllib.parse.quote_plus("\n".join(lines)),
}


def left_of_the_key(text: str) -> list[str]:
    pieces = [line[i : i + 12] for line in LINES for i in range(0, len(line) - 11)]
    return [piece for piece in pieces if piece in text]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lines", [WHOLE, WHOLE[:-3], TAIL], ids=["whole", "cut at its end", "cut at its start"]
)
def test_nothing_of_the_key_remains(form: str, lines: list[str]) -> None:
    text = f"before it\n{FORMS[form](lines)}\nafter it all stays"
    assert left_of_the_key(text) or "codes" in form
    clean = REDACTOR.text(text)
    assert not left_of_the_key(clean)
    assert clean.startswith("before it")
    if lines is not WHOLE[:-3] and lines[-1] == WHOLE[-1]:
        assert clean.endswith("after it all stays")


def test_prose_before_an_end_line_stays() -> None:
    text = f"A key ends with\n{FENCE}END PRIVATE KEY{FENCE}\nand that is all."
    assert REDACTOR.text(text) == text
