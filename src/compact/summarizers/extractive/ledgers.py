"""Strategies with a form of their own: the list of changed files, the brief."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compact.core.evidence import StepKind
from compact.core.evidence.block import cite
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive import blocks, pending, steps
from compact.summarizers.extractive.choosing import Chooser
from compact.summarizers.extractive.material import Material

if TYPE_CHECKING:
    from compact.summarizers.extractive.strategies import Draft

_KEY_VALUES = 14
_SAID_OPEN = re.compile(r"(?<=\] )(?:still )?open: ", re.IGNORECASE)
_INNER_STOP = re.compile(r"(?<=\S)[.!?…]+(?=\s)")


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
