"""A command line: which files it changes, how, and what the shell's own words say came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from compact.core.evidence.lexicon import classify, trim
from compact.core.evidence.patches import Change, Effect, is_patch, patched
from compact.model.summary import EvidenceKind

COMMAND_HEAD = 2_000
"""What a command does stands at its start; what follows is the text that it writes."""
_CD = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;|\n)\s*)+")
HEREDOC = re.compile(r"(<<-?\s*)['\"]?(\w+)['\"]?([^\n]*)\n(.*?)(?:^\s*\2\s*$|\Z)", re.S | re.M)
_INTO = re.compile(r"(?:^|[;&|]|\n)\s*(?:cat|tee)\b([^|;&\n]*)$")
_TOKEN = re.compile(
    r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|(&&|\|\||[;&|\n()]|\d?>{1,2}(?:&\d)?|<<?-?)|((?:\\.|[^\s;&|<>'\"()])+)",
    re.S,
)
_INNER = re.compile(r"\s*(?:\S*/)?(?:ba|z|da)?sh\s+-\w*c\s+(?:'([^']*)'|\"((?:\\.|[^\"\\])*)\")", re.S)
_PASSING = re.compile(r"\$|^/tmp/|^/dev/|\.(?:log|out|err|tmp)$")
"""What a command's output goes to for a moment is no file that was worked on."""
_ENDS = frozenset({"&&", "||", ";", "&", "\n", "(", ")"})
_BEFORE_A_COMMAND = re.compile(r"\w+=.*|sudo|time|then|do|else|command|exec|env|!|\{", re.S)
_PLAIN_WRITERS = frozenset("cat echo printf tee".split())
_SHELLS = r"-?(?:ba|z|da|k)?sh"
_ERRNO = (
    "Permission denied|No such file or directory|Operation not permitted|Is a directory|Not a directory|"
    "Directory not empty|File exists|Read-only file system|No space left on device|Device or resource busy|"
    "Disk quota exceeded|Text file busy|command not found|not found|Keine Berechtigung|"
    "Datei oder Verzeichnis nicht gefunden|Permission non accordée|"
    "Aucun fichier ou dossier de ce (?:type|nom)|"
    "Permiso denegado|No existe el (?:archivo|fichero) o el directorio"
)
_SAID = re.compile(
    rf"^(?:(?:\S*/)?({_SHELLS})(?:: line \d+|:\d+|: \d+)?: [^\n]{{0,200}}?"
    rf"(?:(?i:{_ERRNO})|cannot overwrite|syntax error)"
    rf"|(?:\S*/)?([\w.+-]{{2,24}}): (?:[^\n]{{0,200}}?(?:{_ERRNO})\b|(?:cannot|can['’]t|could not|unable to|"
    r"failed to|invalid|unrecognized|unknown|illegal|missing|omitting|-e expression|no input files|"
    r"target|error)\b)"
    r"|(error): pathspec)[^\n]{0,200}",
    re.MULTILINE,
)
"""`cp: cannot create …`, `bash: x: command not found`: how a shell and its commands say that they failed."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One command of a line."""

    program: str
    words: tuple[str, ...]
    targets: tuple[str, ...]
    """Where its output goes to."""
    last: bool = False


def bare(command: str) -> str:
    """A command without the folder that it goes to first."""
    return _CD.sub("", command).strip()


def unwrapped(command: str) -> str:
    """What a `bash -c '…'` runs, else the command itself."""
    inner = _INNER.match(bare(command[:40])) and _INNER.match(bare(command))
    return (inner.group(1) or inner.group(2) or "").replace('\\"', '"') if inner else command


def texts_written(command: str) -> tuple[str, list[tuple[str, str]]]:
    """A command without the texts that it writes to files, and those texts, each after its file's name."""
    if "<<" not in command:
        return command, []
    found: list[tuple[str, str]] = []

    def cut(heredoc: re.Match[str]) -> str:
        into = _INTO.search(command[max(0, heredoc.start() - 300) : heredoc.start()])
        line = f"{into.group(1)} {heredoc.group(3)}" if into else ""
        named = [trim(word) for word in line.replace(">", " ").split() if word[0] != "-"]
        path = next((name for name in named if name and _is_file(name)), "")
        if not path:
            return heredoc.group()
        found.append((path, heredoc.group(4)))
        return f"{heredoc.group(1)}{heredoc.group(2)}{heredoc.group(3)}\n"

    return HEREDOC.sub(cut, command), found


def errors_said(output: str, command: str) -> list[tuple[str, str]]:
    """What the shell or a program of the command says went wrong: the program, and its words.

    A line that begins with any other name is of what the programs print.
    """
    if ": " not in output:
        return []
    found: list[tuple[str, str]] = []
    for line in _SAID.finditer(output[-4_000:]):
        shell, program, git = line.groups()
        if shell or git or program in command:
            found.append(("" if shell else "git" if git else program, line.group()))
    return found


def changed_by(command: str, output: str | None, failed: bool, went_on: bool) -> tuple[Change, ...]:
    """What the command changed, or tried to; `output` is None while there is none yet.

    `went_on`: it did not succeed, but it ran, so that what stood before the last part of it was done.
    """
    planned = list(_planned(command))
    refused: set[int] = set()
    for program, line in errors_said(output, command) if output else ():
        own = [at for at, (_, piece) in enumerate(planned) if program in (piece.program, "")]
        named = [at for at in own if _is_named(planned[at][0], line)]
        # A program that says what went wrong and names no file speaks of all that it was to do.
        refused.update(named or (own if program else ()))
    return tuple(
        replace(change, done=at not in refused and (not failed or (went_on and _came_first(piece))))
        for at, (change, piece) in enumerate(planned)
    )


def _is_named(change: Change, line: str) -> bool:
    return any(name.rpartition("/")[2] in line for name in (change.path, change.origin) if name)


def _came_first(piece: _Piece) -> bool:
    """True for a part that was over when a later one failed; what a program failed to print is unknown."""
    return not piece.last and (not piece.targets or piece.program in _PLAIN_WRITERS)


def _planned(command: str) -> Iterator[tuple[Change, _Piece]]:
    if is_patch(command) and ("apply_patch" in command or "patch " in command or "git apply" in command):
        piece = _Piece("apply_patch", (), (), last="\n" not in HEREDOC.sub("", command).strip())
        yield from ((change, piece) for change in patched(command))
        return
    pieces = _pieces(HEREDOC.sub(r"\1\2\3\n", unwrapped(command)[: 4 * COMMAND_HEAD])[:COMMAND_HEAD])
    found: list[tuple[Change, _Piece]] = []
    for number, piece in enumerate(pieces):
        # After "cp -r src try && cd try" the names are those of other files.
        if piece.program == "cd" and number:
            break
        for change in _changes_of(piece):
            path = _OWN_FOLDER.sub("", change.path)
            if _PASSING.search(path) or not _is_file(path):
                continue
            before = [entry for entry in found if entry[0].path == path]
            found = [entry for entry in found if entry[0].path != path]
            # What is written and removed again by one command was for that moment only.
            if not before or change.effect is not Effect.REMOVED:
                found.append((replace(change, path=path), piece))
    yield from found


def _changes_of(piece: _Piece) -> Iterator[Change]:
    for target in piece.targets:
        yield Change(trim(target) or target, Effect.EDITED)
    program, words = piece.program, list(piece.words[1:])
    options = [word for word in words if word[:1] == "-"]
    names = [word for word in words if word[:1] != "-"]
    if program == "git" and names:
        program, names = names[0], names[1:]
        if program == "checkout" and ("-b" in options or "-B" in options):
            return
        if program in ("checkout", "restore") and options != ["--staged"]:
            yield from (Change(name, Effect.REVERTED) for name in names)
        if program not in ("mv", "rm") or "--cached" in options:
            return
    if program in ("rm", "unlink"):
        yield from (Change(name, Effect.REMOVED) for name in names)
    elif program in ("mv", "cp") and len(names) > 1:
        effect = Effect.MOVED if program == "mv" else Effect.COPIED
        *sources, target = names
        yield from (Change(_within(target, source, len(sources)), effect, source) for source in sources)
    elif program == "touch":
        yield from (Change(name, Effect.ADDED) for name in names)
    elif program in ("tee", "patch"):
        yield from (Change(name, Effect.EDITED) for name in names)
    elif program in ("sed", "perl") and any(_IN_PLACE.match(option) for option in options):
        yield from (
            Change(name, Effect.EDITED) for name in names[0 if _SCRIPTED & set(options) else 1 :] or names
        )


_OWN_FOLDER = re.compile(r"^\./(?=.)")
_IN_PLACE = re.compile(r"-[a-zA-Z0]*i|--in-place")
_SCRIPTED = frozenset({"-e", "-f", "--expression", "--file"})


def _within(target: str, source: str, sources: int) -> str:
    """Where a file ends up that goes to a folder: `mv a.py lib/` makes it `lib/a.py`."""
    name = source.rstrip("/").rpartition("/")[2]
    if target in (".", "./"):
        return name
    ended = "." in target.rpartition("/")[2].strip(".")
    folder = target.endswith("/") or sources > 1 or ("." in name.strip(".") and not ended)
    return f"{target.rstrip('/')}/{name}" if folder else target


def _pieces(line: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    words: list[str] = []
    targets: list[str] = []
    awaited = ""

    def close() -> None:
        while words and _BEFORE_A_COMMAND.fullmatch(words[0]):
            words.pop(0)
        if words or targets:
            program = words[0].rpartition("/")[2] if words else ""
            pieces.append(_Piece(program, tuple(words), tuple(targets)))
        words.clear()
        targets.clear()

    for single, double, mark, plain in _TOKEN.findall(line):
        if mark in _ENDS or mark == "|":
            close()
            awaited = ""
        elif mark:
            awaited = "" if "&" in mark else mark
        else:
            word = single or double.replace('\\"', '"') or plain.replace("\\", "")
            if awaited[:1] == ">":
                targets.append(word)
            elif not awaited:
                words.append(word)
            awaited = ""
    close()
    return [replace(piece, last=piece is pieces[-1]) for piece in pieces]


def _is_file(name: str) -> bool:
    ended = "." in name.rpartition("/")[2].strip(".")
    return ended and "*" not in name and classify(name) is EvidenceKind.PATH
