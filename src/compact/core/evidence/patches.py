"""What became of a file, and what a patch does to the files that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    EDITED = "edited"
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    COPIED = "copied"
    REVERTED = "reverted"
    """Put back to what the version control holds of it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a step did to one file, or was to do where it is not `done`."""

    path: str
    effect: Effect
    origin: str = ""
    """Where a file that was moved or copied comes from."""
    old: str = ""
    new: str = ""
    """What a patch takes out and puts in."""
    done: bool = True

    @property
    def writes(self) -> bool:
        """True when the file's own text changed; to move, copy or remove a file changes none of it."""
        return self.effect is Effect.EDITED or self.effect is Effect.ADDED


_BEGINS = "*** Begin Patch"
_SECTION = re.compile(
    r"^[ \t]*\*\*\* (?:(Update|Add|Delete|Move) File: ([^\n]+)|End Patch[^\n]*)$"
    r"|^--- (\S+)[^\n]*\n\+\+\+ (\S+)[^\n]*$",
    re.MULTILINE,
)
_MOVED_TO = re.compile(r"^[ \t]*\*\*\* Move to: ([^\n]+)$", re.MULTILINE)
_ARROW = re.compile(r"\s+(?:->|=>|→|to)\s+")
_SIDE = re.compile(r"[ab]/(?=.)")
_EFFECTS = {"Update": Effect.EDITED, "Add": Effect.ADDED, "Delete": Effect.REMOVED, "Move": Effect.MOVED}
_NOWHERE = "/dev/null"


def is_patch(text: str) -> bool:
    """True for a text that says what to change in which files, by `*** Update File:` or as a diff."""
    return _BEGINS in text or ("\n+++ " in text and "\n@@" in text and "--- " in text)


def patched(text: str) -> tuple[Change, ...]:
    """What a patch is to do, file by file."""
    return tuple(change for change, _ in sections(text))


def sections(text: str) -> Iterator[tuple[Change, str]]:
    """Each file that the patch names, and what the patch says of it."""
    heads = list(_SECTION.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : following.start() if following else len(text)]
        verb, name, before, after = head.groups()
        if verb is None and before is None:
            continue
        origin = ""
        if verb is None:
            before, after = _SIDE.sub("", before, count=1), _SIDE.sub("", after, count=1)
            effect = (
                Effect.ADDED if before == _NOWHERE else Effect.REMOVED if after == _NOWHERE else Effect.EDITED
            )
            path = before if after == _NOWHERE else after
        else:
            effect, path = _EFFECTS[verb], name.strip()
            parted = _ARROW.split(path, maxsplit=1)
            moved = _MOVED_TO.search(body)
            if moved or (effect is Effect.MOVED and len(parted) == 2):
                origin, path = (path, moved.group(1).strip()) if moved else (parted[0], parted[1])
                effect = Effect.MOVED
        lines = body.splitlines()
        old = "\n".join(line[1:] for line in lines if line[:1] == "-")
        new = "\n".join(line[1:] for line in lines if line[:1] == "+")
        yield Change(path, effect, origin, old, new), body
