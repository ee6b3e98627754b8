"""The part of the ledger that a prompt shows: grouped, with a word of context, bounded, delimiter-safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compact.core.evidence.lexicon import EASTERN_AMOUNT, EASTERN_DAY, RUN, trim
from compact.core.render import neutralize
from compact.model.summary import Evidence, EvidenceKind

NEWEST_SHARE = 0.4
"""So much of the room goes to the newest span first, or old favorites would crowd it out over ten rounds."""
_LONG_KINDS_SHARE = 0.10
_ROUNDS = 4
_SLIVER = 16
_MAX_PIECES = 12
_MAX_CITES = 2
_CITE_CHARS = 9
PLACE = "…"
"""Stands for the value in a context that has the words around it."""
_LENGTH_POWER = 0.3
_LEAST_CITED = 900
_LEAST_CITED_CROWDED = 6_000
_LEAST_NUMBERED = 3_000
"""From so many characters on, files get their line numbers: in less room one more value is worth more."""
_LEAST_TOGETHER = 3
"""Where room is scarce, fewer values than this of one file do not pay for a line of their own."""

_TITLES = {
    EvidenceKind.PATH: "Paths",
    EvidenceKind.ID: "Ids",
    EvidenceKind.URL: "Links",
    EvidenceKind.NUMBER: "Figures",
    EvidenceKind.SYMBOL: "Code names",
    EvidenceKind.DATE: "Dates",
    EvidenceKind.NAME: "Named",
    EvidenceKind.COMMAND: "Commands",
    EvidenceKind.ERROR: "Errors",
    EvidenceKind.APPROVAL: "Answers by the user",
}
_FILES = {
    "edited": "Files written",
    "read": "Files read",
    "failed": "Files failed",
    "removed": "Files removed",
    "reverted": "Files reverted",
}
_ORDER = tuple(_TITLES)
_SPOKEN = frozenset({EvidenceKind.DATE, EvidenceKind.NAME})
_OWN_LINE = frozenset({EvidenceKind.COMMAND, EvidenceKind.ERROR, EvidenceKind.APPROVAL})
_UNTITLED = _OWN_LINE | {EvidenceKind.URL}
"""Kinds whose context is no heading of theirs."""


class Coverage:
    """Which values a text already holds, so that none is said twice. `foo.py` is held by `src/foo.py`."""

    def __init__(self, *texts: str) -> None:
        self._held: set[str] = set()
        self._flat = " ".join(texts)
        """What is said in several words is looked for in the texts, not among the values."""
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        held = self._held
        held.add(text)
        # No run holds a blank, and most words are one: the pattern is only for what has marks in it.
        for word in set(text.split()) - held:
            if not word.isascii():
                held.update(EASTERN_DAY.findall(word))
                held.update(EASTERN_AMOUNT.findall(word))
            bare = word.strip("\"'()").rstrip(".,;:!?\"')")
            if bare.isalnum():
                held.add(bare)
                continue
            for run in RUN.findall(word):
                value = run if run.isalnum() else trim(run)
                if value and value not in held:
                    held.add(value)
                    held.update(_pieces(value))

    def add_inside(self, value: str) -> None:
        """Only what stands within the value, not the value itself."""
        self._held.update(piece for piece in _pieces(value) if piece != value)

    def add_figures(self, phrase: str) -> None:
        """Both ends of a range are told with either of them."""
        self._held.update(word for word in phrase.replace("–", " ").split() if word[0].isdigit())

    def forget(self, value: str) -> None:
        self._held.discard(value)

    def holds(self, value: str) -> bool:
        return value in self._held

    def says(self, value: str) -> bool:
        """As `holds`, also for several words in a row."""
        if value in self._held:
            return True
        first, _, last = value.rpartition(" ")
        # To look for a word among the values is far cheaper than to look through the text.
        return bool(first) and (last in self._held or not last.isalnum()) and value in self._flat


def _pieces(value: str) -> list[str]:
    """What stands between any two separators of the value."""
    if "." not in value and "/" not in value and ":" not in value:
        return []
    cuts = [at for at, char in enumerate(value) if char in "./:"]
    if len(cuts) > _MAX_PIECES:
        return []
    ends = [*cuts, len(value)]
    return [value[start:end] for start in (0, *(at + 1 for at in cuts)) for end in ends if end > start]


@dataclass(frozen=True, slots=True)
class _Form:
    """How much is said about each value; the more values compete for the room, the less."""

    cites: bool
    phrased: bool
    """Figures with the words around them."""
    numbered: bool
    together: int

    @classmethod
    def fitting(cls, items: Sequence[Evidence], whole: int) -> _Form:
        """The fullest form at which about everything could still be told."""
        wanted = sum(len(item.value) + 2 for item in items)
        roomy = whole >= wanted
        told = roomy and whole > _LEAST_CITED
        return cls(
            cites=told or whole > _LEAST_CITED_CROWDED,
            phrased=told,
            numbered=roomy and whole > _LEAST_NUMBERED,
            together=1 if told else _LEAST_TOGETHER,
        )


@dataclass(slots=True)
class Block:
    """What was chosen, as lines; those that rest on tool output alone stand apart (S3.3)."""

    trusted: list[str] = field(default_factory=list)
    untrusted: list[str] = field(default_factory=list)
    shown: list[Evidence] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(line) + 1 for line in self.trusted) + sum(len(line) + 1 for line in self.untrusted)


def build(
    items: Sequence[Evidence],
    room: int,
    covered: Coverage,
    *,
    newest_from: int = 0,
    whole: int = 0,
    kinds: frozenset[EvidenceKind] = frozenset(_TITLES),
) -> Block:
    """The best items that fit `room` characters and are not covered, rendered; `covered` grows by them.

    `whole` is the room of all the text that the block becomes part of. `items` come best first.
    Rules are not shown here: they are quoted in a section of their own.
    """
    able = [
        item
        for item in items
        if item.kind in kinds and item.kind is not EvidenceKind.RULE and not _is_bare(item)
    ]
    form = _Form.fitting(able, max(room, whole))
    if not form.phrased:
        able = [_without_owner(item) if " of " in item.context else item for item in able]
        # Room is scarce: a long value must be worth more to take the place of two short ones.
        able.sort(key=lambda item: -item.rank / (len(item.value) + 2) ** _LENGTH_POWER)
    picker = _Picker(covered, int(room * _LONG_KINDS_SHARE), form)
    if newest_from:
        newest = [item for item in able if item.message >= newest_from]
        picker.pick(newest, int(room * NEWEST_SHARE))
    totals = Counter((item.untrusted, _title(item)) for item in able)
    block = Block()
    for _ in range(_ROUNDS):
        spare = room - block.size
        if spare < _SLIVER or not picker.pick(able, spare):
            break
        picker.drop_held()
        block = Block(*_render(picker.chosen, form, totals), picker.chosen)
        while block.size > room:
            # What a value costs is only known once it stands in its group; what came in last goes.
            picker.drop_last(block.size - room)
            block = Block(*_render(picker.chosen, form, totals), picker.chosen)
    return block


class _Picker:
    """Chooses items by rank, with a close guess of the room that each will take."""

    def __init__(self, covered: Coverage, long_room: int, form: _Form) -> None:
        self.chosen: list[Evidence] = []
        self._covered = covered
        self._long_room = long_room
        self._form = form
        self._groups: set[tuple[bool, str]] = set()

    def pick(self, items: Iterable[Evidence], room: int) -> bool:
        """Take what fits `room`; False when nothing did."""
        before = len(self.chosen)
        for item in items:
            if self._covered.says(item.value):
                continue
            cost = self._cost(item)
            if cost > room or (item.kind in _OWN_LINE and cost > self._long_room):
                if room < _SLIVER:
                    break
                continue
            if item.kind in _OWN_LINE:
                self._long_room -= cost
            room -= cost
            self._groups.add((item.untrusted, _title(item)))
            self.chosen.append(item)
            self._covered.add(item.value)
            if self._form.phrased and _is_phrased(item):
                self._covered.add_figures(_value(item, self._form))
        return len(self.chosen) > before

    def drop_held(self) -> None:
        """Leave out what a longer value that came in later holds: `app.db` beside `app.db.models`."""
        longer = Coverage()
        phrases: list[str] = []
        titles: set[str] = set()
        for item in self.chosen:
            if item.kind in _SPOKEN and " " in item.value:
                longer.add(item.value)
                longer.forget(item.value)
                phrases.append(item.value)
            elif item.kind not in _OWN_LINE:
                longer.add_inside(item.value)
                titles.add(_title(item))
        for title in titles:
            longer.add(title)  # "item_id" is said when it heads the values
        spoken = "\n".join(phrases)
        self.chosen = [
            item
            for item in self.chosen
            if item.kind in _OWN_LINE
            or not (longer.holds(item.value) or (item.kind in _SPOKEN and spoken.count(item.value) > 1))
        ]

    def drop_last(self, chars: int) -> None:
        while self.chosen and chars > 0:
            chars -= len(self.chosen.pop().value) + 2

    def _cost(self, item: Evidence) -> int:
        cost = len(item.value) + 2
        title = _title(item)
        if item.kind in _OWN_LINE:
            return cost + len(item.context) + 12
        if _is_phrased(item):
            cost = len(_value(item, self._form)) + 2
        if (item.untrusted, title) in self._groups or (self._form.together > 1 and _stands_in(item)):
            return cost
        return cost + len(title) + 2 + (_CITE_CHARS if self._form.cites else 0)


def _title(item: Evidence) -> str:
    kind, context = item.kind, item.context
    if not context:
        return _TITLES[kind]
    if kind is EvidenceKind.PATH:
        return _FILES.get(context.split(" ", 1)[0], _TITLES[kind])
    return _TITLES[kind] if kind in _UNTITLED or _is_phrased(item) else context


def _is_phrased(item: Evidence) -> bool:
    """True for a figure that has the words around it instead of a label: "leaves … euros"."""
    return item.kind is EvidenceKind.NUMBER and PLACE in item.context


def _is_bare(item: Evidence) -> bool:
    """True for a figure that nothing says anything about but the file, not even a unit or a currency."""
    value = item.value
    return (
        item.kind is EvidenceKind.NUMBER
        and (not item.context or _stands_in(item))
        and value[0].isdigit()
        and value[-1].isdigit()
    )


def _without_owner(item: Evidence) -> Evidence:
    """An amount under its key alone: "price", where there is no room for "price of Kettle"."""
    if item.kind is not EvidenceKind.NUMBER or _is_phrased(item):
        return item
    return replace(item, context=item.context.partition(" of ")[0])


def _stands_in(item: Evidence) -> bool:
    """True when all that is known of a value is the file it stands in."""
    return item.kind not in _OWN_LINE and item.context.startswith("in ")


def _render(
    items: Sequence[Evidence], form: _Form, totals: Mapping[tuple[bool, str], int]
) -> tuple[list[str], list[str]]:
    return (
        _lines([item for item in items if not item.untrusted], form, totals),
        _lines([item for item in items if item.untrusted], form, totals),
    )


def _groups(items: Sequence[Evidence], together: int) -> dict[str, list[Evidence]]:
    groups: dict[str, list[Evidence]] = {}
    for item in items:
        groups.setdefault(_title(item), []).append(item)
    if together > 1:
        for title, members in list(groups.items()):
            if len(members) < together and all(map(_stands_in, members)):
                del groups[title]
                for item in members:
                    groups.setdefault(_TITLES[item.kind], []).append(item)
    return groups


def _lines(items: Sequence[Evidence], form: _Form, totals: Mapping[tuple[bool, str], int]) -> list[str]:
    shared: list[tuple[int, int, str]] = []
    single: dict[EvidenceKind, list[Evidence]] = {}
    for title, members in _groups(items, form.together).items():
        kind = members[0].kind
        members.sort(key=lambda item: item.message)
        order = (_ORDER.index(kind), members[0].message)
        if kind in _OWN_LINE:
            shared.extend((*order, f"- {_own_line(item)}") for item in members)
        elif len(members) > 1 or title in _TITLES.values() or title.startswith("Files"):
            values = ", ".join(_value(item, form) for item in members)
            # Under a label of its own a list looks complete; under "Ids" it does not.
            labelled = title not in _TITLES.values() and not title.startswith(("Files", "in "))
            if labelled and len(members) < totals[members[0].untrusted, title]:
                values += ", …"
            shared.append((*order, f"- {_safe(title)}: {values}{cite(members) if form.cites else ''}"))
        else:
            single.setdefault(kind, []).append(members[0])
    for kind, members in single.items():
        # A label with one value needs no line of its own.
        told = "; ".join(f"{_safe(_title(item))} {_value(item, form)}" for item in members)
        shared.append((_ORDER.index(kind), 1 << 60, f"- {told}{cite(members) if form.cites else ''}"))
    return [line for _, _, line in sorted(shared, key=lambda entry: entry[:2])]


def cite(items: Sequence[Evidence]) -> str:
    """Where values come from: each message, or from where to where when there are many."""
    at = sorted({item.message for item in items})
    return f" [m{at[0]}-m{at[-1]}]" if len(at) > _MAX_CITES else f" [{', '.join(f'm{n}' for n in at)}]"


def _own_line(item: Evidence) -> str:
    value = _safe(item.value)
    cite = f" [m{item.message}]"
    if item.kind is EvidenceKind.COMMAND:
        return f"`{value}`" + (f" → {_safe(item.context)}" if item.context else "") + cite
    if item.kind is EvidenceKind.APPROVAL:
        return f"{_safe(item.context)} “{value}”{cite}"
    return f"{_safe(item.context)}: {value}{cite}" if item.context else value + cite


def _value(item: Evidence, form: _Form) -> str:
    if form.numbered and item.kind is EvidenceKind.PATH:
        state, _, lines = item.context.partition(" ")
        if lines[:1].isdigit() and state != "in":
            return f"{_safe(item.value)}:{lines}"
    if _is_phrased(item):
        before, _, unit = item.context.partition(PLACE)
        return _safe(f"{before if form.phrased else ''}{item.value}{unit}")
    return _safe(item.value)


def _safe(text: str) -> str:
    """One line that can close none of our tags, open no heading and forge no label."""
    return neutralize(" ".join(text.split()))
