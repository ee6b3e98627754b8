"""Strategies with a form of their own: the list of changed files, the brief."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compact.core.evidence import Step
from compact.core.evidence.block import cite
from compact.core.evidence.patches import Change, Effect
from compact.core.evidence.reading import split_sentences
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive import blocks, pending, steps
from compact.summarizers.extractive.choosing import Chooser
from compact.summarizers.extractive.material import Material

if TYPE_CHECKING:
    from compact.summarizers.extractive.strategies import Draft

_KEY_VALUES = 8
_KEY_KINDS = frozenset({EvidenceKind.ID, EvidenceKind.PATH, EvidenceKind.DATE, EvidenceKind.SYMBOL})
_BRIEF_CHARS = 1_500
_TOLD_UNITS = 4
_PURPOSE_CHARS = 130
_JUST_NOW = 6
_SAID_OPEN = re.compile(r"(?<=\] )(?:still )?open: ", re.IGNORECASE)
_SAID_DECIDED = re.compile(r"^decided[^:]{0,20}: ", re.IGNORECASE)


def changes(material: Material, room: int) -> list[str]:
    """`- path: what changed`, one line a file, in the order of first change."""
    edits: dict[str, list[tuple[int, str]]] = {}
    purpose = _purposes(material)
    scratch = steps.scratch_files(material)
    for step in material.ledger.steps:
        for change in step.changes:
            if change.path in scratch:
                continue
            what = _change_told(step, change, purpose.get(step.index, ""))
            if change.effect is Effect.REMOVED and change.done:
                edits.pop(change.path, None)  # what was done to it before is gone with it
            elif change.effect is Effect.MOVED and change.done and change.origin in edits:
                edits[change.path] = edits.pop(change.origin)
            edits.setdefault(change.path, []).append((material.positions[step.index], what))
    lines = blocks.take((blocks.one_line(f"- {line}") for line in material.earlier), room // 3)
    room -= sum(len(line) + 1 for line in lines)
    share = max(160, room // max(1, len(edits)))
    for path, found in edits.items():
        told = _told_edits([f"{what} [m{position}]" for position, what in found], share - len(path))
        line = f"- {blocks.one_line(path)}: {blocks.one_line('; '.join(dict.fromkeys(told)))}"
        if len(line) + 1 <= room:
            room -= len(line) + 1
            lines.append(line)
    return lines


def _change_told(step: Step, change: Change, purpose: str) -> str:
    """What was done to a file: as it was meant, and the line that it brings in or the command."""
    what = steps.change_of(change) if step.patches else steps.edit_of(step.arguments)
    written = dict(step.writes).get(change.path) if step.writes_its_text else None
    if written is not None:
        what = steps.edit_of({"new": written})
    elif step.command and not step.patches:
        what = f"`{blocks.one_line(step.command, 100)}`"
    if not (change.effect is Effect.EDITED or (step.command and (change.writes or not change.done))):
        origin = f" from {change.origin}" if change.origin else ""
        brings = what and not origin and not step.command
        what = f"{change.effect}{origin}" + (f": {what}" if brings else "")
    elif what and step.writes_whole_file:
        what = f"{'wrote' if change.done else 'writing'} {what}"
    if purpose and change.writes:
        what = f"{purpose} ({what})" if what and written is None else purpose
    return (what or step.tool) + ("" if change.done else " (failed)")


def _told_edits(pieces: list[str], room: int) -> list[str]:
    """How a file began and what was done to it last; how many edits lie between."""
    first, *later = pieces
    room -= len(first)
    newest: list[str] = []
    for piece in reversed(later):
        room -= len(piece) + 2
        if room < 0:
            break
        newest.insert(0, piece)
    left_out = len(later) - len(newest)
    return [first, *([f"and {left_out} more edits"] if left_out else []), *newest]


def _purposes(material: Material) -> dict[int, str]:
    """What the assistant said with each of its calls, in a few words: it tells more than the first line."""
    found: dict[int, str] = {}
    acted = {step.index for step in material.ledger.steps}
    for unit in material.units:
        if unit.index in acted and unit.weight and unit.role is Role.ASSISTANT:
            found.setdefault(unit.index, blocks.one_line(unit.told, _PURPOSE_CHARS).rstrip("."))
    return found


def brief(material: Material, room: int) -> Draft:
    """At most five sentences: what was wanted, the rules, what was done or decided, key values, what is open.

    Each is short: more room makes no longer sentences, for who wants more takes another strategy.
    """
    from compact.summarizers.extractive.strategies import Draft

    told: list[str] = []
    whole = min(room, _BRIEF_CHARS)
    left = whole

    def add(head: str, pieces: Sequence[str]) -> None:
        nonlocal left
        flat = blocks.one_line(head + "; ".join(piece.rstrip(" .;") for piece in pieces))
        if pieces and len(flat) + 2 <= left and len(told) < 5:
            told.append(flat if flat[-1] in "?!…。！？" else flat + ".")
            left -= len(flat) + 2

    add("Goal: ", _wanted(material, whole // 3))
    wording = [f"{_quoted(rule.value)} [m{rule.message}]" for rule in material.rules]
    # The newest ones stand in the newest request; what holds for everything was said first.
    ruling = blocks.take(wording, whole // 4)
    add("Rules: " if ruling else "Answers: ", [*ruling, *_answered(material, whole // 5)])
    add(*_achieved(material, whole // 4))
    waiting = [_clauses(_SAID_OPEN.sub("", line[2:])) for line in pending.open_items(material, whole // 4)]
    open_size = sum(len(line) + 2 for line in waiting) + 8 if waiting else 0
    shown: list[Evidence] = []
    size = len("Key values: [m000-m000]")
    for item in material.evidence:
        if item.untrusted or item.kind not in _KEY_KINDS or len(shown) == _KEY_VALUES:
            continue
        if size + len(item.value) + 2 > min(left - open_size - 2, whole // 6):
            break
        shown.append(item)
        size += len(item.value) + 2
    if shown:
        add("Key values: ", [", ".join(blocks.one_line(item.value) for item in shown) + cite(shown)])
    add("Open: ", waiting)
    if not told:
        told = [_clauses(line.removeprefix("- ")) for line in blocks.said_last(material, whole)[-1:]]
    return Draft(" ".join(told), "", ())


def _clauses(text: str) -> str:
    """Sentences as parts of one: a full stop between them becomes a semicolon, and no other mark changes."""
    return "; ".join(sentence.rstrip(" .;") for sentence in split_sentences(blocks.one_line(text)))


def _quoted(text: str) -> str:
    """Each sentence word for word in quotes of its own: nothing inside is rewritten."""
    return " ".join(f"“{sentence.rstrip(' .')}”" for sentence in split_sentences(blocks.one_line(text)))


def _wanted(material: Material, room: int) -> list[str]:
    """The first request and the newest, each in a few words."""
    lines = [line[2:] for line in blocks.goal(material, room)]
    share = room // max(1, len(lines))
    return [_clauses(blocks.clip(line, share)) for line in lines]


def _answered(material: Material, room: int) -> list[str]:
    """What the user answered just now, with its question; what was answered long ago has been acted on."""
    recent = material.positions[-_JUST_NOW:]
    found = [item for item in material.evidence if item.kind is EvidenceKind.APPROVAL]
    newest = max(found, key=lambda item: item.message, default=None)
    if newest is None or newest.message not in recent:
        return []
    said = f"{_quoted(blocks.clip(newest.value, 100))} [m{newest.message}]"
    return blocks.take([f"{said}, {_clauses(blocks.one_line(newest.context, 190))}"], room)


def _achieved(material: Material, room: int) -> tuple[str, list[str]]:
    """What came of it: the newest reports, else the newest steps, else what was decided or told."""
    if material.ledger.steps:
        done = steps.steps(material, room)
        return "Done: ", blocks.take((_clauses(line[2:]) for line in reversed(done)), room)[::-1]
    where = material.positions
    untold = [unit for unit in material.units if unit.number not in material.told and unit.weight]
    untold = [unit for unit in untold if material.is_dialogue or not unit.offers]
    decided = blocks.decided_last(material)
    chosen = decided or Chooser(untold, material.weights, 2).choose(room)[:_TOLD_UNITS]
    telling = sorted(blocks.with_grounds(material, chosen)[0], key=lambda unit: unit.number)
    pieces = (
        f"{unit.speaker and unit.speaker + ': '}{_SAID_DECIDED.sub('', unit.told).rstrip('.!')} "
        f"[m{where[unit.index]}]"
        for unit in telling
    )
    return ("Decided: " if decided else ""), blocks.take(pieces, room)
