"""What was done, as units: files with their newest state, each command's newest result, other calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compact.evidence.steps import Step
from compact.evidence.values import values_in
from compact.evidence.words import clip
from compact.model.summary import Evidence, EvidenceKind

FILE, RAN, CALLED, PENDING = "file", "ran", "called", "pending"  # first words of such a unit's context
SINCE = "since m"  # stands before the position of the first of several changes
_LONGEST_COMMAND, _LOOKED_AT = 140, 4_000


def done_in(steps: Sequence[Step]) -> Iterator[Evidence]:
    """Each file once, each command with its newest result, and calls that act."""
    yield from _files(steps)
    for step in steps:
        if step.pending:
            command = f"`{clip(step.command, _LONGEST_COMMAND)}`"
            what = command if step.command else f"{step.tool}({step.given})"
            yield Evidence(EvidenceKind.DONE, what, step.position, PENDING, 1.5)
        elif step.acts and not step.changes and not step.command:
            called = f"{step.tool}({step.given})" + (f" → {step.status}" if step.failed else "")
            yield Evidence(EvidenceKind.DONE, called, step.position, CALLED, 0.8 if step.failed else 1.2)
    yield from _commands(steps)
    yield from _errors(steps)


def _files(steps: Sequence[Step]) -> Iterator[Evidence]:
    files: dict[str, list[tuple[Step, str]]] = {}
    for step in steps:
        for path, effect in step.changes:
            files.setdefault(path, []).append((step, effect))
    for path, done in files.items():
        last, effect = done[-1]
        count = sum(then.startswith(("edited", "wrote")) for _, then in done)
        if count > 1 and effect in ("edited", "wrote"):
            effect = f"{'edited' if any(then == 'edited' for _, then in done) else effect} {count} times"
        line = _telling_line(last.added)
        since = f" {SINCE}{done[0][0].position}" if len(done) > 1 else ""
        context = f"{FILE} {effect}{since} | {line}" if line else f"{FILE} {effect}{since}"
        yield Evidence(EvidenceKind.DONE, path, last.position, context, 1.2)


def _telling_line(added: str) -> str:
    """The line with the most names, of what was written to a file."""
    lines = (" ".join(line.split()) for line in added[:_LOOKED_AT].split("\n"))
    able = [line for line in lines if 8 <= len(line) <= _LONGEST_COMMAND]
    return max(able, key=lambda line: (len(values_in(line)), len(line)), default="")


def _commands(steps: Sequence[Step]) -> Iterator[Evidence]:
    """Lines with a command that no later line has; those that only show or only change files say nothing."""
    later: set[str] = set()
    newest = []
    for step in reversed(steps):
        tells = step.failed or step.result or not step.changes
        if tells and not step.pending and not step.doing <= later:
            later |= step.doing
            newest.append(step)
    for step in reversed(newest):
        command, weight = clip(step.command, _LONGEST_COMMAND), 1.4 if step.failed or step.result else 0.5
        yield Evidence(EvidenceKind.DONE, command, step.position, f"{RAN} {step.status}".strip(), weight)


def _errors(steps: Sequence[Step]) -> Iterator[Evidence]:
    """What went wrong and how tests ended, in the tools' own words."""
    found: dict[str, Evidence] = {}
    for step in steps:
        failing = ((test, "failing test") for test in step.failing)
        error = clip(" ".join(step.error.split()), 240)
        for line, label in ((step.result, "test run"), (error, ""), *failing):
            if line:
                at = step.result_position
                found[line] = Evidence(EvidenceKind.ERROR, line, at, label, 1.0, untrusted=True)
    yield from found.values()
