"""Every secret of the corpus goes, whole; look-alikes stay."""

from __future__ import annotations

import json
import random

import pytest

from compact.redaction import Redactor

from .secret_corpus import LOOK_ALIKES as SHAPED_LOOK_ALIKES
from .secret_corpus import SECRETS as SHAPED
from .secret_corpus import Case
from .secret_places import PLACED, PLACED_LOOK_ALIKES

SECRETS = SHAPED + PLACED
LOOK_ALIKES = SHAPED_LOOK_ALIKES + PLACED_LOOK_ALIKES

REDACTOR = Redactor()


def fragments(secret: str, length: int = 12) -> set[str]:
    """Every stretch of the secret, also as JSON would write it."""
    found = set()
    for form in (secret, json.dumps(secret)[1:-1]):
        found |= {form[i : i + length] for i in range(max(1, len(form) - length + 1))}
    return found


def leaks(case: Case, text: str) -> bool:
    return any(fragment in text for fragment in fragments(case.secret))


def test_the_corpus_is_large_enough() -> None:
    assert len(SECRETS) >= 60
    assert len({case.kind for case in SECRETS}) >= 20
    assert len(LOOK_ALIKES) >= 60


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.kind)
def test_no_fragment_remains(case: Case) -> None:
    assert leaks(case, case.text)
    wrapped = json.dumps({"content": case.text})
    call = {
        "role": "assistant",
        "tool_calls": [{"function": {"arguments": wrapped}}],
        "meta": {"note": case.text},
    }
    assert not leaks(case, REDACTOR.text(case.text))
    assert not leaks(case, REDACTOR.text(wrapped))
    assert not leaks(case, REDACTOR.text(json.dumps(wrapped)))
    assert not leaks(case, json.dumps(REDACTOR.value(call)))
    assert REDACTOR.is_secret(case.text)


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.kind)
def test_no_fragment_remains_across_chunks(case: Case) -> None:
    dice = random.Random(case.secret)
    stream, sent, position = REDACTOR.stream(), "", 0
    text = f"before {case.text} after it comes more"
    while position < len(text):
        size = dice.randint(1, 9)
        sent += stream.feed(text[position : position + size])
        position += size
    sent += stream.close()
    assert not leaks(case, sent)
    assert sent == REDACTOR.text(text)


def test_look_alikes_stay() -> None:
    touched = [text for text in LOOK_ALIKES if REDACTOR.text(text) != text or REDACTOR.value(text) != text]
    assert len(touched) <= len(LOOK_ALIKES) * 0.02, touched
