"""The renderer: what was chosen, under the strategy's headings, in conversation order, with citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from compact.core.render import UNTRUSTED_HEADING, neutralize
from compact.core.sentences import fold_sentences
from compact.evidence.choose import Candidate
from compact.evidence.done import CALLED, FILE, PENDING, RAN, SINCE
from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive.strategies import Part, Strategy

_LABELS = {
    EvidenceKind.PATH: "Paths",
    EvidenceKind.ID: "Ids",
    EvidenceKind.URL: "Links",
    EvidenceKind.NUMBER: "Figures",
    EvidenceKind.SYMBOL: "Code names",
    EvidenceKind.DATE: "Dates",
    EvidenceKind.NAME: "Named",
    EvidenceKind.COMMAND: "Commands",
}
LAST_SAID = "last said: "
_NEAR = 6  # messages this close may share a line and its citation, if the line stays short
_SHORT_LINE = 260
_LONG_LINE = 600  # for one message, so that its number is not repeated again and again
_FAR = 12
_PIECE = re.compile(r"\w+")
_ENDS, _CLOSING = ".!?…:;。！？", '"”»)*_`」』'
_PROSE_LABELS = {
    Part.CONCLUDED: "Decided",
    Part.FILES: "Done",
    Part.STEPS: "Ran",
    Part.NEWEST: "Last said",
    Part.PENDING: "No result yet",
    Part.VALUES: "Key values",
}


@dataclass(frozen=True, slots=True)
class Draft:
    trusted: str
    untrusted: str  # what only tools said, and what the user only quoted

    @property
    def text(self) -> str:
        return "\n".join(filter(None, (self.trusted, self.untrusted)))


def draft(picked: Sequence[Candidate], strategy: Strategy) -> Draft:
    """A summary of what was picked."""
    picked = _once(picked)
    parts = _sorted_out(picked)
    written: list[str] = []
    under_headings = {part for _, parts_under in strategy.headings for part in parts_under}
    if strategy.sentences:
        elsewhere = [part for part in _PROSE_LABELS if part not in under_headings]
        written.append(_prose(parts, elsewhere, strategy.sentences))
    for title, wanted in strategy.headings:
        if strategy.ledger and Part.CONCLUDED in wanted:
            lines = _ledger_lines([one for part in wanted for one in parts[part]])
        else:
            lines = [line for part in wanted for line in _lines(part, parts[part], strategy)]
        if lines:
            written.append("\n".join((f"## {title}", *lines)))
    return Draft("\n".join(filter(None, written)), _untrusted(picked))


def _once(picked: Sequence[Candidate]) -> list[Candidate]:
    """Drop values that are in a sentence or inside another value: a path contains the name of its file.

    `get_user` is not inside `get_user_id`. What only tools said makes only its own kind redundant.
    """
    listed = [one for one in picked if one.unit.kind in _LABELS]
    listed.sort(key=lambda one: (one.unit.untrusted, -len(one.unit.value)))
    named = dict.fromkeys(name for one in picked if one.unit.kind not in _LABELS for name in one.names)
    whole = " ".join((*named, *(one.unit.value for one in listed)))
    at = len(" ".join(named)) + bool(named)
    seen = set(_PIECE.findall(" ".join(named)))
    inside: set[int] = set()
    for one in listed:
        pieces = _PIECE.findall(one.unit.value)
        if seen.issuperset(pieces) and whole.find(one.unit.value) < at:  # it stands further ahead as well
            inside.add(id(one))
        seen.update(pieces)
        at += len(one.unit.value) + 1
    return [one for one in picked if id(one) not in inside]


def _sorted_out(picked: Sequence[Candidate]) -> dict[Part, list[Candidate]]:
    parts: dict[Part, list[Candidate]] = {part: [] for part in Part}
    ordered = sorted(picked, key=lambda one: (one.unit.message, one.order))
    first = next((one.unit.message for one in ordered if one.unit.kind in WORDS), -1)
    stated = (one.unit.message for one in ordered if one.unit.kind is EvidenceKind.CONCLUDED)
    newest = max(stated, default=-1)
    for one in ordered:
        unit = one.unit
        if unit.kind in WORDS:
            if unit.context != SHOWN:
                parts[Part.TASK if unit.message == first else Part.WORDS].append(one)
        elif unit.kind is EvidenceKind.CONCLUDED:
            parts[Part.NEWEST if unit.message == newest else Part.CONCLUDED].append(one)
        elif unit.kind is EvidenceKind.DONE:
            done = Part.FILES if unit.context.startswith(FILE) else Part.STEPS
            parts[Part.PENDING if unit.context == PENDING else done].append(one)
        elif not unit.untrusted:
            parts[Part.VALUES].append(one)
    return parts


def _lines(part: Part, picked: Sequence[Candidate], strategy: Strategy) -> Iterator[str]:
    if part in (Part.TASK, Part.WORDS):
        yield from _words(picked)
    elif part in (Part.CONCLUDED, Part.NEWEST):
        # What was said last may be done or open; only the reader can tell.
        label = LAST_SAID if part is Part.NEWEST and strategy.headings else ""
        yield from (f"- {_cite(line)} {label}{_joined(line)}" for line in _runs(picked))
    elif part in (Part.FILES, Part.STEPS):
        yield from _changes(picked) if strategy.changes and part is Part.FILES else _done(picked)
    elif part is Part.PENDING:
        yield from (f"- no result yet: {neutralize(one.unit.value)} {_cite([one])}" for one in picked)
    else:
        yield from _values([one.unit for one in picked])


def _words(picked: Sequence[Candidate]) -> Iterator[str]:
    """The user's words in quotes. What was said later on a matter directly follows the earlier saying."""
    chosen = {id(one) for one in picked}
    moved = {id(one.later) for one in picked if one.later is not None}
    alone = [one for one in picked if "asked in" in one.unit.context or id(one.later) in chosen]
    for line in _runs([one for one in picked if id(one) not in moved], alone):
        yield _with_later(line[0], chosen) if line[0] in alone else f"- {_quotes(line)} {_cite(line)}"


def _runs(picked: Iterable[Candidate], alone: Sequence[Candidate] = ()) -> Iterator[list[Candidate]]:
    """Those of near messages together, as one line can hold them."""
    run: list[Candidate] = []
    for one in picked:
        if run and (run[0] in alone or one in alone or not _share_a_line(run, one)):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _share_a_line(line: Sequence[Candidate], one: Candidate) -> bool:
    near = one.unit.message - line[0].unit.message <= _NEAR
    longest = _LONG_LINE if one.unit.message == line[0].unit.message else _SHORT_LINE
    return near and sum(len(other.unit.value) + 3 for other in line) + len(one.unit.value) < longest


def _quotes(line: Sequence[Candidate]) -> str:
    """Neighboring sentences of one message in one pair of quotes; gaps between them are marked."""
    quoted: list[list[Candidate]] = []
    for one in line:
        last = quoted[-1][-1] if quoted else None
        if last is not None and last.unit.message == one.unit.message and last.order + 1 == one.order:
            quoted[-1].append(one)
        else:
            quoted.append([one])
    return " ".join(f"“{neutralize(_joined(run, ' /', ''))}”" for run in quoted)


def _with_later(one: Candidate, chosen: set[int]) -> str:
    asked = f"{neutralize(one.unit.context)} — " if one.unit.context else ""
    shown = f"- {_cite([one])} {asked}“{neutralize(one.unit.value)}”"
    later, seen = one.later, {id(one)}
    while later is not None and id(later) in chosen and id(later) not in seen:
        seen.add(id(later))
        shown += f" — later {_cite([later])}: “{neutralize(later.unit.value)}”"
        later = later.later
    return shown


def _joined(line: Sequence[Candidate], mark: str = ";", last: str = ".") -> str:
    """Sentences as they are; items of a list, which have no end mark, part by `mark` and end with `last`."""
    texts = [text for one in line if (text := neutralize(one.unit.value))]
    marks = [*[mark] * (len(texts) - 1), last]
    ended = (text.rstrip(_CLOSING)[-1:] in _ENDS for text in texts)
    return " ".join(map(lambda text, end, mark: text if end else text + mark, texts, ended, marks))


def _done(picked: Sequence[Candidate]) -> Iterator[str]:
    files = [one for one in picked if one.unit.context.startswith(FILE)]
    if files:
        effects: dict[str, list[str]] = {}
        for one in files:
            effect, _, how = _effect(one.unit).partition(" ")
            effects.setdefault(effect, []).append(f"{one.unit.value} ({how})" if how else one.unit.value)
        shown = "; ".join(f"{effect} {', '.join(names)}" for effect, names in effects.items())
        yield f"- {_cite_positions(at for one in files for at in _positions(one.unit))} {neutralize(shown)}"
    for one in picked:
        unit = one.unit
        if unit.context.startswith(RAN):
            status = unit.context.removeprefix(RAN).strip()
            ending = f" → {status}" if status and status != "exit 0" else ""
            yield f"- {_cite([one])} ran `{neutralize(unit.value)}`{ending}"
        elif unit.context.startswith(CALLED):
            yield f"- {_cite([one])} called {neutralize(unit.value)}"


def _changes(picked: Sequence[Candidate]) -> Iterator[str]:
    """File by file, in the order of the first change."""
    for one in sorted(picked, key=lambda one: one.order):
        _, _, line = one.unit.context.partition(" | ")
        put_in = f"; `{neutralize(line)}`" if line else ""
        cited = _cite_positions(_positions(one.unit))
        yield f"- {neutralize(one.unit.value)}: {_effect(one.unit)}{put_in} {cited}"


def _effect(unit: Evidence) -> str:
    return unit.context.partition(" | ")[0].partition(f" {SINCE}")[0].removeprefix(FILE).strip()


def _positions(unit: Evidence) -> list[int]:
    """The first and the last change of a file."""
    since = unit.context.partition(" | ")[0].partition(f" {SINCE}")[2]
    return [int(since), unit.message] if since.isdecimal() else [unit.message]


def _values(units: Sequence[Evidence]) -> Iterator[str]:
    for kind, label in _LABELS.items():
        listed = [unit for unit in units if unit.kind is kind]
        if listed:
            values = ", ".join(f"{one.value} ({one.context})" if one.context else one.value for one in listed)
            yield f"- {label}: {neutralize(values)} {_cite_positions(unit.message for unit in listed)}"


def _untrusted(picked: Sequence[Candidate]) -> str:
    ordered = sorted(picked, key=lambda one: (one.unit.message, one.order))
    shown = [one for one in ordered if one.unit.kind in WORDS and one.unit.context == SHOWN]
    values = [one.unit for one in ordered if one.unit.untrusted and one.unit.kind in VALUES]
    lines = [f"- shown by the user {_cite([one])}: “{neutralize(one.unit.value)}”" for one in shown]
    for unit in values:
        if unit.kind is EvidenceKind.ERROR:
            label = f"{unit.context}: " if unit.context else ""
            lines.append(f"- [m{unit.message}] {label}{neutralize(unit.value)}")
    lines += _values(values)
    return "\n".join((UNTRUSTED_HEADING, *lines)) if lines else ""


def _ledger_lines(picked: Sequence[Candidate]) -> list[str]:
    """One line per message that states something and per step; a field that no message gives is a dash."""
    stated = (one for one in picked if one.unit.kind is EvidenceKind.CONCLUDED)
    by_message = groupby(stated, key=lambda one: one.unit.message)
    lines = [(at, -1, f"[m{at}] {_joined(list(line))} :: - :: - :: -") for at, line in by_message]
    for one in (one for one in picked if one.unit.kind is EvidenceKind.DONE):
        unit, what = one.unit, neutralize(one.unit.value)
        if unit.context.startswith(FILE):
            effect, _, times = _effect(unit).partition(" ")
            shown = f"{effect} {what} ({times})" if times else f"{effect} {what}"
            ending = times and _cite_positions(_positions(unit))
        else:
            shown = f"ran `{what}`" if unit.context.startswith(RAN) else f"called {what}"
            ending = unit.context.removeprefix(RAN).removeprefix(CALLED).removeprefix(PENDING).strip()
        lines.append((unit.message, one.order, f"[m{unit.message}] {shown} :: - :: - :: {ending or '-'}"))
    return [shown for _, _, shown in sorted(lines)]


def _prose(parts: dict[Part, list[Candidate]], wanted: Iterable[Part], most: int) -> str:
    """One sentence per part; related items are joined by semicolons."""
    sentences = []
    for part in wanted:
        shown = [line.removeprefix("- ").rstrip(".") for line in _lines(part, parts[part], Strategy(()))]
        if shown:
            sentences.append(fold_sentences(f"{_PROSE_LABELS[part]}: {'; '.join(shown)}.", 1))
    return fold_sentences(" ".join(sentences), most)


def _cite(line: Sequence[Candidate]) -> str:
    return _cite_positions(one.unit.message for one in line)


def _cite_positions(positions: Iterable[int]) -> str:
    found = sorted(set(positions))
    if len(found) > 3 or (len(found) > 1 and found[-1] - found[0] > _FAR):
        return f"[m{found[0]}-m{found[-1]}]"
    return f"[{', '.join(f'm{at}' for at in found)}]"
