"""Tool steps as lines: what was done, to what, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from compact.core.evidence import Step, StepKind
from compact.core.evidence.patches import Change, Effect
from compact.summarizers.extractive.blocks import clip, one_line, sentences
from compact.summarizers.extractive.labels import DECIDED, OPEN
from compact.summarizers.extractive.material import Material
from compact.summarizers.extractive.sentences import Unit

_MIN_ROOM = 40
_MAX_CITES = 4
_LEAD_SENTENCES = 2
_LEAD_CHARS = 120
_THIN_LEAD = 60
"""After "Done; all tests pass." the first decision tells what was done."""
_IMPORTS = ("`import ", "`from ", "`use ", "`#include ", "`require")
_TESTS = re.compile(
    r"\b(?:pytest|unittest|runtests|npm (?:run )?test|jest|vitest|cargo test|go test|tox|make test|check|"
    r"build|tsc)\b"
)


def steps(material: Material, room: int, *, reported: bool = True) -> list[str]:
    """What was done, in order: what the assistant reported, if that is wanted, and the steps after it.

    Of steps changes come first, one line a file, then checks and failures, then the newest.
    """
    lines = _reported(material, room * 2 // 3) if reported else []
    room -= sum(len(line) + 1 for _, line in lines)
    if lines:
        edited = _edited_before(material, max(material.reports), room)
        lines += edited
        room -= sum(len(line) + 1 for _, line in edited)
    since = max(material.reports, default=-1) if lines else -1
    steps = [step for step in material.ledger.steps if step.index > since]
    ranked = sorted(_alike(steps), key=lambda entry: (-entry[0], -entry[1][-1].index))
    for _, done in ranked:
        newest = done[-1]
        more = len({step.call_id for step in done}) - 1
        again = f" (and {more} more edits)" if more and newest.kind is StepKind.WROTE else ""
        line = f"- {_cite(material, [step.index for step in done])} {describe(_telling(done))}{again}"
        if len(line) + 1 > room:
            if room < _MIN_ROOM:
                break
            continue
        room -= len(line) + 1
        lines.append((newest.index, line))
    return [line for _, line in sorted(lines)]


def _reported(material: Material, room: int) -> list[tuple[int, str]]:
    """What came of each turn, in the words with which the assistant reported it; the newest stay."""
    leads: dict[int, list[Unit]] = {}
    for unit in material.units:
        if unit.index not in material.reports or not unit.weight or unit.label is OPEN:
            continue
        told = leads.get(unit.index, ())
        enough = _THIN_LEAD if unit.label is DECIDED else _LEAD_CHARS
        if len(told) < _LEAD_SENTENCES and sum(len(one.text) for one in told) < enough and not unit.offers:
            leads[unit.index] = [*told, unit]
    lines: list[tuple[int, str]] = []
    for index in sorted(leads, reverse=True):
        line = f"- [m{material.positions[index]}] {one_line(sentences(leads[index]))}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append((index, line))
        material.told.update(unit.number for unit in leads[index])
    return lines


def _edited_before(material: Material, until: int, room: int) -> list[tuple[int, str]]:
    """Which files were changed up to the last report, and how often; how, the reports tell."""
    edits: dict[str, list[int]] = {}
    verbs: dict[str, str] = {}
    scratch = scratch_files(material)
    for step in material.ledger.steps:
        for change in step.changes if step.index < until else ():
            if not change.done or change.path in scratch:
                continue
            if change.effect is Effect.REMOVED:
                edits.pop(change.path, None)
                verbs[change.path] = change.effect.value
            elif change.writes:
                whole = step.writes_whole_file or change.effect is Effect.ADDED
                whole = whole and verbs.get(change.path) != "edited"
                verbs[change.path] = "wrote" if whole else "edited"
            else:
                continue
            edits.setdefault(change.path, []).append(step.index)
    told: dict[str, list[str]] = {"edited": [], "wrote": [], "removed": []}
    at: list[int] = []
    room -= len("- [m000-m000] edited ; wrote ; removed ")
    for path in sorted(edits, key=lambda path: (-len(edits[path]), path)):
        times = len(edits[path])
        piece = one_line(path) + (f" ({times} times)" if times > 1 else "")
        if len(piece) + 2 > room:
            break
        room -= len(piece) + 2
        told[verbs[path]].append(piece)
        at += edits[path]
    done = "; ".join(f"{verb} {', '.join(files)}" for verb, files in told.items() if files)
    return [(until, f"- {_cite(material, at)} {done}")] if done else []


def scratch_files(material: Material) -> set[str]:
    """Files that were made in these steps and removed again; what was written to them is of no use."""
    made: set[str] = set()
    known: set[str] = set()
    gone: set[str] = set()
    for step in material.ledger.steps:
        for change in step.changes:
            if not change.done:
                continue
            if change.effect is Effect.REMOVED:
                gone.add(change.path)
                continue
            gone.discard(change.path)
            new = step.writes_whole_file or change.effect is not Effect.EDITED or bool(step.command)
            if change.path not in known and new and change.effect is not Effect.REVERTED:
                made.add(change.path)
            known.add(change.path)
        known.add(step.subject)
    return made & gone


def _alike(steps: Sequence[Step]) -> list[tuple[int, list[Step]]]:
    """Steps that one line can tell: edits of one file, and the same thing done again."""
    groups: dict[tuple[bool, str], list[Step]] = {}
    for step in steps:
        told_together = step.edits and not step.failed and not step.command and len(step.changes) == 1
        edited = step.subject if told_together else ""
        groups.setdefault((bool(edited), edited or describe(step)), []).append(step)
    return [(max(map(_step_weight, done)), done) for done in groups.values()]


def _telling(done: Sequence[Step]) -> Step:
    """The newest of these steps that brings in more than an import."""
    changes = (step for step in reversed(done) if not edit_of(step.arguments).startswith(_IMPORTS))
    return next(changes, done[-1])


def _cite(material: Material, indexes: Sequence[int]) -> str:
    at = [f"m{material.positions[index]}" for index in sorted(set(indexes))]
    return f"[{at[0]}-{at[-1]}]" if len(at) > _MAX_CITES else f"[{', '.join(at)}]"


def _step_weight(step: Step) -> int:
    if step.kind is StepKind.WROTE:
        return 3
    if step.command and _TESTS.search(step.command):
        return 2
    return 1 if step.failed or step.kind is not StepKind.READ else 0


def describe(step: Step, limit: int = 150) -> str:
    """One step in words: `edited src/a.py: …`, `ran \\`pytest\\` → exit 1`, `book_flight(HAT041) failed`."""
    ending = f" → {step.status}" if step.status and step.status != "exit 0" else ""
    if step.patches:
        return one_line(changes_told(step), limit + 60) + ending
    if step.writes_its_text and step.changes:
        return one_line(f"{verb_of(step)} {step.subject}", limit) + ending
    if step.command:
        verb = "read" if step.kind is StepKind.READ else "ran"
        return f"{verb} `{one_line(step.command, limit)}`{ending}"
    if step.edits and step.subject:
        change = edit_of(step.arguments)
        told = f"{verb_of(step)} {step.subject}" + (f": {change}" if change else "")
        return one_line(told, limit + 60) + ending
    if step.kind is StepKind.READ and step.subject:
        lines = f":{step.lines}" if step.lines else ""
        return one_line(f"read {step.subject}{lines}", limit) + ending
    return f"{one_line(step.tool, 60)}({one_line(brief_arguments(step.arguments), limit)}){ending}"


def changes_told(step: Step) -> str:
    """What a patch did, file by file."""
    told = []
    for change in step.changes:
        what = change_of(change)
        verb = change.effect.value if change.done else f"tried to {_INFINITIVES[change.effect]}"
        told.append(f"{verb} {change.path}" + (f": {what}" if what else ""))
    return "; ".join(told)


def change_of(change: Change) -> str:
    """What a change says of itself: the line that it brings in, or where the file came from."""
    if change.origin:
        return f"from {change.origin}"
    if change.effect is Effect.REMOVED or not (change.old or change.new):
        return ""
    return edit_of({"old": change.old, "new": change.new})


_INFINITIVES = {
    Effect.EDITED: "edit",
    Effect.ADDED: "add",
    Effect.REMOVED: "remove",
    Effect.MOVED: "move",
    Effect.COPIED: "copy",
    Effect.REVERTED: "revert",
}


def verb_of(step: Step) -> str:
    """What it did to its file, or tried to."""
    if step.kind is StepKind.READ:
        return "tried to read" if step.failed else "read"
    verb, did = ("write", "wrote") if step.writes_whole_file else ("edit", "edited")
    return did if any(change.done for change in step.changes) else f"tried to {verb}"


def brief_arguments(arguments: Mapping[str, Any]) -> str:
    """Argument values without their keys' noise: ids and names tell what a call was about."""
    return ", ".join(_flat(value, 3) for value in arguments.values() if value not in ("", None, [], {}))


def _flat(value: Any, depth: int) -> str:
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return " ".join(_flat(inner, depth - 1) for inner in value.values())
    if isinstance(value, list):
        return " + ".join(_flat(inner, depth - 1) for inner in value)
    return str(value)


def edit_of(arguments: Mapping[str, Any]) -> str:
    """The first line that an edit brings in, which is where it differs from what it replaces."""
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], Mapping):
        more = f" (and {len(edits) - 1} more)" if len(edits) > 1 else ""
        return edit_of(edits[0]) + more
    new = next((arguments[key] for key in _NEW_TEXT if isinstance(arguments.get(key), str)), None)
    if new is None:
        return ""
    old = next((arguments[key] for key in _OLD_TEXT if isinstance(arguments.get(key), str)), "")
    before = {line.strip() for line in old.splitlines()}
    fresh = [line.strip() for line in new.splitlines() if line.strip() and line.strip() not in before]
    if not old:
        count = len(new.splitlines())
        return f"{count} lines" if count > 1 else clip(new.strip(), 80)
    if not any(char.isalnum() for line in fresh for char in line):
        after = new.strip()
        gone = old.strip().replace(after, "") if after else old
        left_out = next((line.strip() for line in gone.splitlines() if line.strip()), "")
        return f"took out `{clip(left_out, 90)}`" if left_out else "took out lines"
    more = f" (+{len(fresh) - 1} lines)" if len(fresh) > 1 else ""
    return f"`{clip(fresh[0], 90)}`{more}"


_NEW_TEXT = (
    "new_string",
    "new_str",
    "newText",
    "new_source",
    "new_text",
    "new",
    "replacement",
    "content",
    "file_text",
    "text",
    "insert_text",
)
_OLD_TEXT = ("old_string", "old_str", "oldText", "old_text", "old", "search", "original")
