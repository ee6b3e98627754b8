"""What is open at the end of the span, and what the user answered on the way."""

from __future__ import annotations

import re

from compact.core.evidence.reading import indexes_holding
from compact.model.message import Role
from compact.model.summary import EvidenceKind
from compact.summarizers.extractive.blocks import one_line, sentence, sentences, take
from compact.summarizers.extractive.labels import OPEN
from compact.summarizers.extractive.material import Material
from compact.summarizers.extractive.sentences import Unit
from compact.summarizers.extractive.steps import describe

_OPEN = re.compile(
    r"\b(?:todo|next step|next,|remaining|still (?:need|fail|have|to|open)|open(?=:)|not yet|pending|blocked|"
    r"later|unresolved|open question|follow[- ]up|"
    r"waiting|will (?:need|have) to|need to|have to|should (?:also|still|now)|plan to|going to)\b",
    re.IGNORECASE,
)
_GUESSED_SHARE = 0.6
"""Plans that nobody called open get less room."""
_ROOMY_ANSWERS = 500
_SAID_OPEN = re.compile(r"^open: ", re.IGNORECASE)
_ASKED = re.compile(r"\basked in \[m(\d+)\]: (.*)", re.DOTALL)
_OPEN_CUES = (
    "todo", "next", "remaining", "still ", "not yet", "pending", "blocked", "later", "unresolved",
    "open question", "follow", "waiting", "will ", "open:", "need to", "have to", "should ", "plan to",
    "going to",
)  # fmt: skip
"""What stands in every text that the pattern finds; far cheaper to look for."""


def open_items(material: Material, room: int) -> list[str]:
    """What is not finished: the newest step if it failed, what the assistant's last words leave open, and
    where they name nothing so, plans said in the last fifth, newest first."""
    lines: list[str] = []
    where = material.positions
    steps = material.ledger.steps
    if steps and steps[-1].failed and steps[-1].index > max(material.reports, default=-1):
        step = material.ledger.steps[-1]
        lines.append(f"- [m{where[step.index]}] last step did not succeed: {describe(step, 100)}")
    lines += in_progress(material, room)
    left_open = _left_open(material, room - sum(len(line) + 1 for line in lines))
    if left_open:
        return lines + left_open
    room = int(room * _GUESSED_SHARE)
    late = len(material.messages) * 0.8
    size = sum(len(line) + 1 for line in lines)
    recent = [unit for unit in material.units if unit.index >= late]
    for at in reversed(indexes_holding([unit.text for unit in recent], _OPEN_CUES)):
        unit = recent[at]
        if size > room:
            break
        if unit.number in material.told or not unit.weight or unit.text.endswith("?"):
            continue
        if _OPEN.search(unit.text):
            lines.append(f"- [m{where[unit.index]}] {one_line(sentence(unit), 240)}")
            size += len(lines[-1]) + 1
            if size <= room:
                material.told.add(unit.number)
    return take(dict.fromkeys(lines), room)


def _left_open(material: Material, room: int) -> list[str]:
    """What the last words say is open, a line for each of their lines."""
    last = max((unit.index for unit in material.units), default=0)
    lines: list[list[Unit]] = []
    for unit in material.units:
        if unit.index != last or unit.label is not OPEN or unit.text.endswith(":"):
            continue
        if lines and not unit.opens:
            lines[-1].append(unit)
        else:
            lines.append([unit])
    told: list[str] = []
    for units in lines:
        text = one_line(sentences(units))
        line = f"- [m{material.positions[last]}] {_SAID_OPEN.sub('', text)}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        told.append(line)
        material.told.update(unit.number for unit in units)
    return told


def in_progress(material: Material, room: int) -> list[str]:
    """Calls that have no result yet."""
    if not material.ledger.steps:
        return []
    answered = {result.call_id for message in material.messages for result in message.results}
    waiting = (step for step in material.ledger.steps if step.call_id not in answered)
    return take(
        (f"- [m{material.positions[step.index]}] no result yet: {describe(step)}" for step in waiting), room
    )


def open_questions(material: Material, room: int) -> list[str]:
    """What the user asked and nobody has answered: the newest questions, and plans not carried out."""
    last = len(material.messages) - 1
    where = material.positions
    lines = [
        f"- [m{where[unit.index]}] {one_line(unit.text, 200)}"
        for unit in material.units
        if unit.text.endswith("?")
        and unit.role is Role.USER
        and unit.index >= last - 1
        and unit.number not in material.told
    ]
    return take(dict.fromkeys([*lines, *open_items(material, room)]), room)


def answers(material: Material, room: int) -> list[str]:
    """What the user approved or turned down, newest kept; no other section asks these questions again."""
    found = [item for item in material.evidence if item.kind is EvidenceKind.APPROVAL]
    found.sort(key=lambda item: item.message)
    asked, said = (260, 180) if room > _ROOMY_ANSWERS else (190, 100)
    lines = [
        f"- [m{item.message}] {one_line(item.context, asked)} — “{one_line(item.value, said)}”"
        for item in found
    ]
    kept = take(reversed(lines), room)[::-1]
    shown: dict[int, str] = {}
    for item in found[len(found) - len(kept) :]:
        shown[item.message] = f"{shown.get(item.message, '')}\n{item.value[:said]}"
        question = _ASKED.search(item.context[:asked])
        if question:
            at = int(question.group(1))
            shown[at] = f"{shown.get(at, '')}\n{question.group(2)}"
    for unit in material.units if shown else ():
        if unit.text in shown.get(material.positions[unit.index], ""):
            material.told.add(unit.number)
    return kept
