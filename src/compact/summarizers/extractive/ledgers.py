"""Strategies with a form of their own: the decision ledger, the list of changed files, the brief."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compact.core.evidence import Step, StepKind
from compact.core.evidence.block import cite
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive import blocks, pending, steps
from compact.summarizers.extractive.choosing import Chooser
from compact.summarizers.extractive.material import Material
from compact.summarizers.extractive.sentences import Unit

if TYPE_CHECKING:
    from compact.summarizers.extractive.strategies import Draft

_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|due to|as the|to (?:avoid|keep|make|fix|ensure|allow|see|"
    r"check)|therefore)\b",
    re.I,
)
_NONE = "-"
_KEY_VALUES = 14
_SAID_OPEN = re.compile(r"(?<=\] )(?:still )?open: ", re.IGNORECASE)
_INNER_STOP = re.compile(r"(?<=\S)[.!?…]+(?=\s)")


def decisions(material: Material, room: int) -> list[str]:
    """`[m12] decision :: rationale :: inputs :: outputs`, oldest first.

    A step is a decision to act; what the assistant said with it is its reason. Outputs give the status
    only: what a tool returned stands with the untrusted facts.
    """
    said: dict[int, list[Unit]] = {}
    for unit in material.units:
        if unit.weight:
            said.setdefault(unit.index, []).append(unit)
    entries: list[tuple[float, int, str]] = []
    acted: set[int] = set()
    for step in material.ledger.steps:
        acted.add(step.index)
        entries.append((_weight(step), step.index, _step_entry(step, said.get(step.index, ()))))
    for index, units in said.items():
        if index in acted:
            continue
        deciding = [unit for unit in units if blocks.category(unit) in ("decision", "preference")]
        if deciding:
            best = max(
                deciding,
                key=lambda unit: (unit.weight * unit.gain, -unit.number),
            )
            entries.append((2.0, index, _said_entry(best, units)))
    kept: list[tuple[int, str]] = []
    lines = blocks.take((blocks.one_line(line) for line in material.earlier), room // 2)
    room -= sum(len(line) + 1 for line in lines)
    for _, index, entry in sorted(entries, key=lambda entry: (-entry[0], -entry[1])):
        line = f"[m{material.positions[index]}] {entry}"
        if len(line) + 1 <= room:
            room -= len(line) + 1
            kept.append((index, line))
    return lines + [line for _, line in sorted(kept)]


def _weight(step: Step) -> float:
    return 3.0 if step.kind is StepKind.WROTE else 1.5 if step.failed else 1.0


def _step_entry(step: Step, units: Sequence[Unit]) -> str:
    reason = next((unit for unit in units if _REASON.search(unit.text)), units[0] if units else None)
    rationale = blocks.one_line(reason.told, 140) if reason else _NONE
    change = steps.edit_of(step.arguments) if step.kind is StepKind.WROTE and step.subject else ""
    inputs = blocks.one_line(step.command or change or steps.brief_arguments(step.arguments), 110) or _NONE
    return f"{_verb(step)} :: {rationale} :: {inputs} :: {step.status or 'returned'}"


def _verb(step: Step) -> str:
    name = blocks.one_line(step.tool, 50)
    if step.subject and (step.kind is StepKind.READ or (step.kind is StepKind.WROTE and not step.command)):
        verb = (
            f"tried to {'edit' if step.kind is StepKind.WROTE else 'read'}"
            if step.failed
            else step.kind.value
        )
        return blocks.one_line(f"{verb} {step.subject}", 110)
    return f"call {name}"


def _said_entry(best: Unit, units: Sequence[Unit]) -> str:
    reason = next((unit for unit in units if unit is not best and _REASON.search(unit.text)), None)
    who = best.speaker or ("user" if best.role is Role.USER else "assistant")
    rationale = blocks.one_line(reason.told, 140) if reason else _NONE
    return f"{blocks.one_line(best.told, 200)} :: {rationale} :: said by {who} :: {_NONE}"


def changes(material: Material, room: int) -> list[str]:
    """`- path: what changed`, one line a file, in the order of first change."""
    edits: dict[str, list[tuple[int, str]]] = {}
    for step in material.ledger.steps:
        if step.kind is not StepKind.WROTE or not step.subject:
            continue
        what = steps.edit_of(step.arguments) or (
            f"`{blocks.one_line(step.command, 100)}`" if step.command else step.tool
        )
        failed = " (failed)" if step.failed else ""
        edits.setdefault(step.subject, []).append((material.positions[step.index], what + failed))
    lines = blocks.take((blocks.one_line(f"- {line}") for line in material.earlier), room // 3)
    room -= sum(len(line) + 1 for line in lines)
    share = max(160, room // max(1, len(edits)))
    for path, found in edits.items():
        told: list[str] = []
        size = len(path) + 4
        for position, what in found:
            piece = f"{what} [m{position}]"
            if told and size + len(piece) > share:
                told.append(f"and {len(found) - len(told)} more edits")
                break
            told.append(piece)
            size += len(piece) + 2
        line = f"- {blocks.one_line(path)}: {blocks.one_line('; '.join(dict.fromkeys(told)))}"
        if len(line) + 1 <= room:
            room -= len(line) + 1
            lines.append(line)
    return lines


def brief(material: Material, room: int) -> Draft:
    """At most five sentences: what was wanted, what was decided, what was done, the key values, what is "
    "open."""
    from compact.summarizers.extractive.strategies import Draft

    told: list[str] = []

    def add(sentence: str) -> None:
        nonlocal room
        flat = _INNER_STOP.sub(";", blocks.one_line(sentence)).rstrip(" .;")
        if flat and len(flat) + 2 <= room and len(told) < 5:
            told.append(flat if flat[-1] in "?!" else flat + ".")
            room -= len(flat) + 2

    whole = room
    aim = blocks.goal(material, whole // 3)
    if aim:
        add("Goal: " + "; then ".join(line[2:].rstrip(".") for line in aim))
    wording = [f"“{blocks.one_line(rule.value).rstrip('.')}” [m{rule.message}]" for rule in material.rules]
    quoted = blocks.take(reversed(wording), whole // 3)[::-1]
    if quoted:
        add("Rules: " + ", ".join(quoted))
    untold = [unit for unit in material.units if unit.number not in material.told]
    if untold and not material.ledger.steps:
        telling = sorted(
            Chooser(untold, material.weights, 2).choose(whole // 3)[:6], key=lambda unit: unit.number
        )
        add(
            "; ".join(f"{unit.told.rstrip('.!')} [m{material.positions[unit.index]}]" for unit in telling[:6])
        )
    elif material.ledger.steps:
        done = steps.steps(material, whole // 4)
        if done:
            add("Done: " + "; ".join(line[2:] for line in done))
    waiting = pending.open_items(material, whole // 6)
    values = [
        item
        for item in material.evidence
        if not item.untrusted
        and item.kind in (EvidenceKind.ID, EvidenceKind.PATH, EvidenceKind.DATE, EvidenceKind.SYMBOL)
    ]
    open_size = sum(map(len, waiting)) + 8 if waiting else 0
    shown: list[Evidence] = []
    size = len("Key values: [m000-m000]")
    for item in values[:_KEY_VALUES]:
        if size + len(item.value) + 2 > room - open_size - 2:
            break
        shown.append(item)
        size += len(item.value) + 2
    if shown:
        add("Key values: " + ", ".join(blocks.one_line(item.value) for item in shown) + cite(shown))
    if waiting:
        add("Open: " + "; ".join(_SAID_OPEN.sub("", line[2:]).rstrip(".") for line in waiting))
    return Draft(" ".join(told), "", ())
