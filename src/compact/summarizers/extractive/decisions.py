"""The decision ledger: what was decided, why, on what grounds, with what outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compact.core.evidence import Step, StepKind
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive import blocks, steps
from compact.summarizers.extractive.labels import DECIDED, OPEN
from compact.summarizers.extractive.material import Material
from compact.summarizers.extractive.sentences import Unit
from compact.summarizers.extractive.weighing import CORRECTION

_NONE = "-"
_DECISION_CHARS = 260
_REASON_CHARS = 170
_QUESTION_CHARS = 200
_LEAST_CHARS = 28
_SHORTEST_DECISION = 8
_SHORT_ANSWER = 160
_MOST_OF_ONE = 4
"""So many decisions of one message that does not list them."""

_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|due to|otherwise|the reason|that way|as the|therefore|"
    r"to (?:avoid|keep|make|fix|ensure|allow|see|check))\b",
    re.IGNORECASE,
)
_REASON_INSIDE = re.compile(
    r"(?:[,;:]? |^)(?=(?:because|since|so that (?!could|would|is|was|might)|otherwise|"
    r"due to|in order to)\b)",
    re.IGNORECASE,
)
_REASON_AFTER = re.compile(
    r"(?:because|otherwise|else|that way|this way|the reason|(?:it|that|this|\w+ing it[\w ]*) would)\b",
    re.IGNORECASE,
)
_DECIDED_BY_USER = re.compile(
    r"^(?:so|then),? (?:no\b|(?:the )?[$€]?\d)|"
    r"\b(?:decided|settled|agreed|promised|it is(?=[,.!]|$)|then\b[.!]?$|no \w+ then|"
    r"(?:i|we)(?:['’]ll| will)\b|let['’]s|we (?:stay|keep|pay|go|take|use|move|do not)|"
    r"(?:limit|ceiling|budget|deadline) (?:is|stays)|"
    r"is my limit|(?:do not|don['’]t) agree|disagree|"
    r"changed my mind|take (?:it|that) back|back to|plan [a-c]\b|stays? (?:at|open|as))|"
    r"^(?:yes|no|ok(?:ay)?|right|good|flat|plain|keep|leave|split|accept|make|add|use|drop|put|allow|mark)\b",
    re.IGNORECASE,
)
_DECIDED_BY_ASSISTANT = re.compile(
    r"\b(?:decided|settled|agreed|that['’]s fixed|then it['’]s|noted as|as conditions|stays an? )\b",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"\b(?:(?:have|has|had|is|are|was)(?:n['’]?t| not)(?: yet)? (?:been )?(?:decided|settled|agreed)|"
    r"undecided|(?:must|to|should|can|could|will|would) be (?:decided|settled|agreed)|not sure|whether|"
    r"if you (?:want|like))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r":|\b(?:please|wants?|need|should|must|only|no|not|don['’]?t|instead|per|also|too|each|every|with)\b",
    re.I,
)
_NAMES_THING = re.compile(r"\d|\w[A-Z]|(?<=[\w,] )[A-Z]\w{2}")
_OFFERS_HELP = re.compile(r"\bhow (?:can|may) i (?:help|assist)\b", re.IGNORECASE)
_ASKS_WHAT = re.compile(
    r"\b(?:what|which|when|where|who|whose|why|how|was|welche\w*|wann|wo|wer|wie|quel\w*|quand|où|comment|combien)\b",
    re.IGNORECASE,
)
_SAYS_WHICH = re.compile(
    r"(?:yes|no|not|yep|nope|sure|ok(?:ay)?|both|neither|ja|nein|oui|non)\b", re.IGNORECASE
)
_POINTS_BACK = re.compile(r"^(?:\W*\w+\W+){0,4}?(?:that|thats|that['’]s|it|this|both)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Entry:
    weight: float
    index: int
    order: int
    """Where in its message it stands."""
    text: str

    @property
    def decision(self) -> str:
        return self.text.split(" :: ", 1)[0].removesuffix(".")


def decisions(material: Material, room: int) -> list[str]:
    """`[m12] decision :: rationale :: inputs :: outputs`, oldest first.

    What the user answered and ordered and what the assistant says was decided come first; then steps, each
    a decision to act whose reason is what the assistant said with it. Outputs give the status only: what a
    tool returned stands with the untrusted facts.
    """
    said: dict[int, list[Unit]] = {}
    for unit in material.units:
        said.setdefault(unit.index, []).append(unit)
    acted = {step.index for step in material.ledger.steps}
    answered = _answered(material)
    entries = [_Entry(5.0, index, -1, _answer(item)) for index, items in answered.items() for item in items]
    for index, units in said.items():
        if index not in acted:
            values = "\n".join(item.value for item in answered.get(index, ()))
            entries += _said(material, [unit for unit in units if unit.text not in values], bool(values))
    if not entries and not material.ledger.steps:
        wanted = [unit for unit in material.units if unit.role is Role.USER] or material.units
        entries = [_entry(1.0, unit, unit.told, "") for unit in wanted if unit.text[-1] not in "?:"]
    entries += [_step(step, said.get(step.index, ())) for step in material.ledger.steps]
    kept: list[tuple[int, int, str]] = []
    lines = blocks.take((blocks.one_line(line) for line in material.earlier), room // 2)
    room -= sum(len(line) + 1 for line in lines)
    for entry in sorted(entries, key=lambda entry: (-entry.weight, -entry.index, entry.order)):
        line = f"[m{material.positions[entry.index]}] {entry.text}"
        if len(line) + 1 <= room:
            room -= len(line) + 1
            kept.append((entry.index, entry.order, line))
    return lines + list(dict.fromkeys(line for _, _, line in sorted(kept)))


def _answered(material: Material) -> dict[int, list[Evidence]]:
    """What the user said to questions, by the message that says it."""
    at = {position: index for index, position in enumerate(material.positions)}
    found: dict[int, list[Evidence]] = {}
    for item in material.evidence:
        if item.kind is EvidenceKind.APPROVAL and item.message in at:
            found.setdefault(at[item.message], []).append(item)
    return found


def _answer(item: Evidence) -> str:
    decision = blocks.one_line(item.value, _DECISION_CHARS)
    return f"“{decision}” :: {blocks.one_line(item.context, _QUESTION_CHARS)} :: said by user :: {_NONE}"


def _said(material: Material, units: Sequence[Unit], answered: bool) -> list[_Entry]:
    listed = [unit for unit in units if unit.label is DECIDED and not unit.text.endswith(":")]
    if listed or not units:
        return [_listed(group) for group in _lines_of(listed)]
    by_user = units[0].role is Role.USER
    cue = _DECIDED_BY_USER if by_user else _DECIDED_BY_ASSISTANT
    reply = _reply(material, units[0]) if by_user and not answered else None
    found = [reply] if reply else []
    numbers = [unit.number for unit in units]
    for sentence in _sentences_of(units):
        text = "".join(unit.joint + unit.text for unit in sentence)
        if sentence[0].label is OPEN or text[-1] in "?:" or _UNDECIDED.search(text):
            continue
        if reply and sentence[0] is units[0]:
            continue
        strong = cue.search(text) is not None or (by_user and CORRECTION.search(text) is not None)
        if not any(unit.weight for unit in sentence) and not (
            strong and by_user and (len(text) > _LEAST_CHARS or _NAMES_THING.search(text))
        ):
            continue
        # In a run with reports, what the user says in between is what is to be done.
        ordered = by_user and (
            blocks.category(sentence[0]) in ("decision", "preference")
            or (bool(material.reports) and _ORDER.search(text) is not None)
        )
        # Without such a word it may be: "Count the rows", "The header is wrong".
        asked_for = by_user and bool(material.reports) and any(unit.weight for unit in sentence)
        if strong or ordered or asked_for:
            weight = (4.0 if by_user else 3.0) if strong else 2.6 if ordered else 2.3
            place = numbers.index(sentence[0].number)
            before = units[place - 1] if place else None
            found.append(_stated(weight, sentence, before, units[place + len(sentence) :]))
    found = [
        entry
        for entry in found
        if not any(entry.decision in other.text for other in found if other is not entry)
    ]
    found.sort(key=lambda entry: (-entry.weight, entry.order))
    return found[: _MOST_OF_ONE if by_user else 1]


def _reply(material: Material, first: Unit) -> _Entry | None:
    """The first words of a user after a question: "Flat, and for one year only" decides something."""
    reading = material.ledger.reading
    if reading is None or len(first.text) > _SHORT_ANSWER or first.text.endswith("?") or not first.weight:
        return None
    before = first.index - 1
    if before < 0 or reading.messages[before].role is not Role.ASSISTANT:
        return None
    questions = [text for text in reading.sentences(before) if text.endswith("?")]
    if not questions:
        return None
    if not _answers(first, questions, reading.sentences(first.index)[0]):
        return None
    ground = f"asked in [m{material.positions[before]}]: {blocks.one_line(questions[-1], _QUESTION_CHARS)}"
    decision, reason = _parted(first.told)
    fields = (
        f"{blocks.one_line(reason, _REASON_CHARS)} :: said by user, {ground}"
        if reason
        else f"{ground} :: said by user"
    )
    return _Entry(3.5, first.index, first.number, f"{_told(decision)} :: {fields} :: {_NONE}")


def _answers(first: Unit, questions: Sequence[str], opening: str) -> bool:
    """True where the unit opens its message and answers the last question: it says yes, no or a word of the
    question, or that asks for something else than yes or no."""
    if first.text[:20] not in opening or _OFFERS_HELP.search(questions[-1]):
        return False
    asked = set(re.findall(r"\w{4,}", questions[-1].lower()))
    if not asked.isdisjoint(first.words):
        return True
    return len(questions) == 1 and bool(_ASKS_WHAT.search(questions[-1]) or _SAYS_WHICH.match(first.text))


def _listed(units: Sequence[Unit]) -> _Entry:
    """An item of a list of decisions: what stands in its line from the first reason on is why."""
    first, *rest = _sentences_of(units)
    decision, reason = _parted(blocks.sentences(first))
    for sentence in rest:
        text = blocks.sentences(sentence)
        if reason or _REASON_AFTER.match(text):
            reason = f"{reason} {text}".strip()
        else:
            more, reason = _parted(text)
            decision = f"{decision} {more}"
    return _entry(4.0, units[0], decision, reason)


def _stated(weight: float, sentence: Sequence[Unit], before: Unit | None, after: Sequence[Unit]) -> _Entry:
    text = "".join(unit.joint + (unit.told if not unit.joint else unit.text) for unit in sentence)
    decision, reason = _parted(text)
    if before is not None and _POINTS_BACK.match(decision) and not before.text.endswith("?"):
        decision = f"{blocks.sentence(before)} {decision}"
    if not reason and after and _REASON_AFTER.match(after[0].text) and not after[0].text.endswith("?"):
        reason = after[0].told
    return _entry(weight, sentence[0], decision, reason)


def _entry(weight: float, unit: Unit, decision: str, reason: str) -> _Entry:
    who = unit.speaker or ("user" if unit.role is Role.USER else "assistant")
    why = blocks.one_line(reason, _REASON_CHARS) or _NONE
    return _Entry(weight, unit.index, unit.number, f"{_told(decision)} :: {why} :: said by {who} :: {_NONE}")


def _told(decision: str) -> str:
    first = decision.split(" ", 1)[0].rstrip(",;:")
    named = any(mark in first for mark in "._/`-") or first.isdigit()
    text = decision if named else decision[:1].upper() + decision[1:]
    return blocks.one_line(text, _DECISION_CHARS)


def _parted(text: str) -> tuple[str, str]:
    """A sentence before and from its "because"."""
    inside = next(
        (found for found in _REASON_INSIDE.finditer(text) if found.start() > _SHORTEST_DECISION), None
    )
    return (text[: inside.start()], text[inside.end() :]) if inside else (text, "")


def _lines_of(units: Sequence[Unit]) -> list[list[Unit]]:
    lines: list[list[Unit]] = []
    for unit in units:
        if lines and not unit.opens:
            lines[-1].append(unit)
        else:
            lines.append([unit])
    return lines


def _sentences_of(units: Sequence[Unit]) -> list[list[Unit]]:
    """Units whose clauses are put together again."""
    found: list[list[Unit]] = []
    for unit in units:
        if found and unit.joint and found[-1][-1].number == unit.number - 1:
            found[-1].append(unit)
        else:
            found.append([unit])
    return found


def _step(step: Step, units: Sequence[Unit]) -> _Entry:
    telling = [unit for unit in units if unit.weight]
    reason = next((unit for unit in telling if _REASON.search(unit.text)), telling[0] if telling else None)
    rationale = blocks.one_line(reason.told, _REASON_CHARS) if reason else _NONE
    change = steps.edit_of(step.arguments) if step.kind is StepKind.WROTE and step.subject else ""
    given = "" if step.patches else step.command or change or steps.brief_arguments(step.arguments)
    inputs = blocks.one_line(given, 110) or _NONE
    weight = 1.5 if step.kind is StepKind.WROTE else 1.4 if step.failed else 1.0
    text = f"{_verb(step)} :: {rationale} :: {inputs} :: {step.status or 'returned'}"
    return _Entry(weight + (1.0 if reason else 0.0), step.index, 1 << 30, text)


def _verb(step: Step) -> str:
    name = blocks.one_line(step.tool, 50)
    if step.patches:
        return blocks.one_line(steps.changes_told(step), 160)
    if step.subject and (step.kind is StepKind.READ or (step.edits and not step.command)):
        return blocks.one_line(f"{steps.verb_of(step)} {step.subject}", 110)
    return f"call {name}"
