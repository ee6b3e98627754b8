"""What the user said, verbatim, and what the assistant stated: the units that outrank all others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compact.evidence.reading import Whose, pieces, sentences
from compact.evidence.remembered import remembered
from compact.evidence.words import clip, content_words, is_about, says_something
from compact.model.prose import prose_of
from compact.model.summary import Evidence, EvidenceKind

SHOWN = "shown"  # context of what the user quoted, pasted or forwarded: not the user's word
STATED = 1.2  # a plain statement's rank; short questions, mostly answered, and thanks rank lower
WHOLE = 100  # a message of at most that many characters stays one unit, so that no answer is split
_ANSWER = 160  # an answer that begins with yes or no may be that long
_BEGINS, _JOINED = 25, 60
_SHOWN_CHARS, _QUESTION_CHARS, _LONG_SENTENCE = 240, 160, 420
_DATA = 100  # no word is longer: more without a blank are an address, an encoded file or a dump
_MOST_PIECES = 60  # a longer message keeps its head, its tail and the orders in between
_FEW_WORDS, _TELLING = 4, 3
_BOLD = re.compile(r"(?<![\w/])\*\*(\S|\S.*?\S)\*\*(?![\w/])")
_ASKING, _CLOSING = ("?", "？", "؟"), '"”»)*_`'
NO_GAP = re.compile("(?<=[。！？]) ")  # no space parts sentences of these scripts
_TAG = re.compile(r"(?:\s\S+|\S{4,})[,，、،]\s*[^\s,，、،]{1,12}\s?[?？؟]$")  # "…, okay?" ends a statement
_OPTION = re.compile(r"^\W*(?:option |variante? |plan )?([a-h]|\d{1,2})\b[\s.):,]", re.IGNORECASE)
_OPTION_LINE = re.compile(
    r"^\s*(?:[-*]\s*)?\W{0,2}(?:option )?([A-Ha-h]|\d{1,2})[.):]\W{0,2}\s+(\S.*)$", re.MULTILINE
)


def said_in(text: str, at: int, asked: str) -> list[Evidence]:
    """The units of a user's message; `asked` is what the assistant asked before it, if anything."""
    answers, units = _sayings(text)
    found = []
    context = asked if answers else ""
    for said, whose, rank in units:
        if whose is Whose.SHOWN:
            found.append(Evidence(EvidenceKind.SAID, said, at, SHOWN, rank, untrusted=True))
        else:
            doubtful = whose is Whose.DOUBTFUL
            found.append(Evidence(EvidenceKind.SAID, said, at, context, rank, untrusted=doubtful))
            context = ""
    return found


@remembered
def _sayings(text: str, _: bool) -> tuple[bool, tuple[tuple[str, Whose, float], ...]]:
    """Whether it is short enough to be an answer; and its units, whose words they are, and their rank."""
    blocks = _blocks(text, WHOLE if len(text) <= WHOLE else _JOINED)
    own = sum(len(block) for whose, block in blocks if whose is not Whose.SHOWN)
    if len(blocks) > _MOST_PIECES:
        spoken = [block for block in blocks[20:-20] if is_about(block[1].split(), "orders")]
        blocks = [*blocks[:20], *spoken[: _MOST_PIECES - 40], *blocks[-20:]]
    answers = own <= WHOLE or (own <= _ANSWER and is_about(text[:_BEGINS].split(), "ack"))
    units: list[tuple[str, Whose, float]] = []
    for whose, block in blocks:
        runs = block.split()
        if len(blocks) > 1 and not says_something(runs):
            continue  # "Okay, great." before the actual statement
        flat = " ".join(runs) if block.isascii() else NO_GAP.sub("", " ".join(runs))
        if whose is Whose.SHOWN:
            units.append((clip(flat, _SHOWN_CHARS), whose, 0.2))
        else:
            units.append((flat, whose, _standing(flat, runs)))
    return answers, tuple(units)


def _blocks(text: str, joined: int) -> list[tuple[Whose, str]]:
    """Sentences; neighbors of the same kind are joined up to `joined` characters."""
    found: list[tuple[Whose, str]] = []
    for piece in pieces(text):
        if piece.whose is Whose.SHOWN:
            found.append((piece.whose, piece.text))
            continue
        for sentence in sentences(piece.text):
            last = found[-1] if found else (Whose.SHOWN, "")
            if last[0] is piece.whose and len(last[1]) + len(sentence) < joined:
                found[-1] = (piece.whose, f"{last[1]} {sentence}")
            else:
                found.append((piece.whose, sentence))
    return found


def _standing(text: str, runs: Sequence[str]) -> float:
    """How much it matters if not all words fit: orders and corrections before wishes, thanks last."""
    if is_about(runs, "orders", "corrects"):
        return 1.6
    if len(text) < 40 and is_about(runs, "ack") and all(is_about([w], "ack") for w in content_words(text)):
        return 0.3
    if not any(map(text.__contains__, _ASKING)) or _TAG.search(text):
        return STATED
    return 0.6 if len(text) <= WHOLE and all(map(_is_question, sentences(text))) else STATED


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(_CLOSING).rstrip().endswith(_ASKING)


def question_in(text: str) -> str:
    """The last question in an assistant's message, to list next to a short answer.

    "Which do you prefer?" says too little: then with its paragraph, which says what there is to choose from.
    """
    asked = _statements(text, True)[1] if any(map(text.__contains__, _ASKING)) else ""
    if asked and len(content_words(asked)) < _TELLING:
        parts = (" ".join(part.split()) for part in reversed(prose_of(text).split("\n\n")))
        whole = next((part for part in parts if asked in part), asked)
        return whole if len(whole) <= _QUESTION_CHARS else asked
    return asked


def option_of(answer: str, text: str) -> str:
    """The line of an assistant's list that an answer such as "b" or "2, please" picks."""
    chosen = _OPTION.match(f"{answer} ") if len(answer) <= WHOLE else None
    if chosen is None:
        return ""
    for label, line in _OPTION_LINE.findall(text):
        if label.lower() == chosen[1].lower():
            return clip(" ".join(f"{label}: {line}".split()), _QUESTION_CHARS)
    return ""


def concluded_in(text: str, at: int, *, closes: bool) -> list[Evidence]:
    """The sentences of an assistant's message. `closes`: it ends a turn, so it reports."""
    stated, _ = _statements(text, closes)
    return [Evidence(EvidenceKind.CONCLUDED, value, at, "", rank) for value, rank in stated]


def _is_data(flat: str, runs: Sequence[str]) -> bool:
    """Whether it is a bare name, or mostly encoded files and dumps; a sentence may name one long address."""
    is_long = _FEW_WORDS * len(flat) > _DATA * len(runs)  # enough to have that many
    dumps = sum(len(run) > _DATA for run in runs) if is_long else 0
    return flat.isascii() and (len(runs) < 2 or len(runs) < _FEW_WORDS * dumps)


@remembered
def _statements(text: str, closes: bool) -> tuple[tuple[tuple[str, float], ...], str]:
    """The sentences with their ranks, and the last question among them."""
    found = []
    question = ""
    for sentence in sentences(prose_of(text)):
        runs = sentence.split()
        flat = " ".join(runs)
        asks = _is_question(flat)
        question = flat if asks else question
        if "**" in flat:
            flat = _BOLD.sub(r"\1", flat)
            runs = flat.split()
        is_data = _is_data(flat, runs)
        flat = flat.strip("*")
        if len(flat) < 12 or flat[0] == "|" or (flat[0] == '"' and '":' in flat) or is_data:
            continue
        rank = 1.3 if closes else 1.0
        if is_about(runs, "concludes"):
            rank *= 1.5
        if asks or flat[-1] in ":：" or is_about(runs, "announces"):
            rank *= 0.3  # it was answered, leads in what stands on other lines, or was then done
        found.append((clip(flat, _LONG_SENTENCE), rank))
    return tuple(found), clip(question, _QUESTION_CHARS)
