"""One pass over a span: every value in it, who brought it up, where, how often, and under what label."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain, filterfalse
from typing import Any

from compact.core.evidence.actions import Step, StepKind, steps_of
from compact.core.evidence.hiding import Hiding
from compact.core.evidence.leaves import Labels, Leaves
from compact.core.evidence.lexicon import DATE_WORDS, DATES_ELSEWHERE, MONTH, SMALL_MONTHS, TIMES
from compact.core.evidence.names import Names
from compact.core.evidence.patches import Effect
from compact.core.evidence.reading import Reading
from compact.core.evidence.values import spaced_values, values_in
from compact.model.message import MessageKind, Role, Text, ToolCall, ToolResult
from compact.model.summary import EvidenceKind

USER, CALL, ASSISTANT, TOOL = range(4)
"""Who brought a value up, strongest claim first."""
_SOURCES = {Role.USER: USER, Role.ASSISTANT: ASSISTANT, Role.TOOL: TOOL}
"""Others instruct: their rules count, their words are no facts of the conversation."""

_SKIPPED_KINDS = frozenset(
    {MessageKind.MARKER, MessageKind.BRIDGE, MessageKind.SUMMARY_TRIGGER, MessageKind.SUMMARY}
)
_LISTING = re.compile(r"^\S{1,300}\.\w{1,12}:\d+[:-]", re.MULTILINE)
_JSON_KEY = re.compile(r'"[A-Za-z_]+"\s*:')
_DURATION = re.compile(r"\d+\.\d+s")
_ESCAPES = re.compile(r'\\[nrt"]')
_PAGING = frozenset(
    "offset timeout head_limit start_line end_line line_number view_range max_results max_tokens max_lines "
    "max_chars".split()
)
"""Arguments that say how much of a thing a call wants to see, or how long to wait: no facts."""
_SPAN_KEYS = frozenset("from to start end offset limit start_line end_line line_start line_end".split())
"""Which lines of a file were read stands with the file."""
_PROSE_IN_JSON = 60
_LONGEST_KNOWN = 200
_STATES = frozenset({StepKind.READ.value, *Effect})
"""What is known to have been done with a file, or to it."""


class Sighting:
    """All mentions of one value."""

    __slots__ = (
        "at",
        "density",
        "first",
        "kind",
        "label",
        "labelled",
        "last",
        "lines",
        "messages",
        "subject",
        "value",
    )

    def __init__(self, value: str, kind: EvidenceKind, index: int) -> None:
        self.value = value
        self.kind = kind
        self.first = self.last = self.at = self.labelled = index
        self.messages = [0, 0, 0, 0]
        self.density = 0.0
        self.label = ""
        self.subject = ""
        self.lines = ""

    @property
    def only_tools(self) -> bool:
        return not (self.messages[USER] or self.messages[CALL] or self.messages[ASSISTANT])


Found = dict[str, tuple[EvidenceKind, str, str]]
"""Value → kind, label, subject; in order of appearance."""
_A_NAME = (EvidenceKind.NAME, "", "")
_A_DAY = (EvidenceKind.DATE, "", "")
_A_TIME = (EvidenceKind.NUMBER, "", "")
_A_PHONE = (EvidenceKind.ID, "phone", "")
_PIECES = frozenset({EvidenceKind.NUMBER, EvidenceKind.NAME, EvidenceKind.SYMBOL})


class Scanner:
    """Collects sightings; remembers what each word is, since the same words come again and again."""

    def __init__(self, hiding: Hiding | None = None) -> None:
        self._hiding = hiding or Hiding(None)
        self.sightings: dict[str, Sighting] = {}
        self._names = Names()
        self._plain: set[str] = set()
        self._kinds: dict[str, tuple[tuple[str, EvidenceKind, str], ...]] = {}
        self._leaves = Leaves()
        self._labels = Labels()

    def scan(self, reading: Reading) -> list[Step]:
        """Take in every message; answer the tool steps, which tell what files and commands were about."""
        messages = reading.messages
        steps = steps_of(messages, self._hiding)
        self._names.prepare(reading.texts)
        # What a program prints is not what stands in the file that it was run with.
        subject_of = {step.call_id: step.subject for step in steps if not step.command or step.shows_its_file}
        by_call = {step.call_id: step for step in steps}
        for index, message in enumerate(messages):
            source = _SOURCES.get(message.role)
            if source is None or message.kind in _SKIPPED_KINDS:
                continue
            for part in message.parts:
                if isinstance(part, Text):
                    self._take(self._prose_values(part.text), source, index)
                elif isinstance(part, ToolCall):
                    self._take(self._argument_values(part.arguments, by_call[part.call_id]), CALL, index)
                elif isinstance(part, ToolResult):
                    subject = subject_of.get(part.call_id, "")
                    self._take(self._output_values(part.text, subject), TOOL, index)
        self._mark_files(steps)
        return steps

    def _take(self, found: Found, source: int, index: int) -> None:
        if not found:
            return
        # A message that names three values is about them; one that lists three hundred is not.
        density = 1.0 / len(found) ** 0.5
        sightings = self.sightings
        for value, (kind, label, subject) in found.items():
            seen = sightings.get(value)
            if seen is None:
                seen = sightings[value] = Sighting(value, kind, index)
            seen.messages[source] += 1
            seen.last = index
            if density > seen.density:
                seen.density = density
                if subject or not seen.subject:  # where it is said to stand is what gets cited
                    seen.at = index
                    seen.subject = subject
            if label and not seen.label:
                seen.label = label
                seen.labelled = index

    def _prose_values(self, text: str) -> Found:
        if text[:1] == "{":
            # Where it is not quite JSON, its keys are no values either.
            return self._output_values(text if _is_json(text) else _JSON_KEY.sub(" ", text), "")
        text = self._hiding.text(text)
        found: Found = {}
        for name in self._names.of(text):
            found[name] = _A_NAME
        text, spaced = spaced_values(text)
        for value, kind in spaced:
            found[value] = _A_PHONE if kind is EvidenceKind.ID else _A_TIME
        # "[22 October, 9:55 am] Ada: …" tells when it was said, not when anything is due.
        for time in TIMES.findall(text, text.find("]") if text[:1] == "[" else 0):
            found[time] = _A_DAY if time[-1] == "h" else _A_TIME
        if self._add_runs(found, text, "", "", said=True):
            for day in chain(DATE_WORDS.findall(text), DATES_ELSEWHERE.findall(text)):
                found[day] = _A_DAY
        return found

    def _argument_values(self, arguments: Any, step: Step) -> Found:
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments, parse_float=str, parse_int=str)
            except (ValueError, RecursionError):
                arguments = {"": arguments}
        if isinstance(arguments, dict) and not _PAGING.isdisjoint(arguments):
            arguments = {key: value for key, value in arguments.items() if key not in _PAGING}
        inside: Found = {}
        for path, text in step.writes:
            self._add_runs(inside, path, "", "")
            self._add_runs(inside, self._hiding.text(text), "", path)
        if step.writes:
            arguments = _without(arguments, [text for _, text in step.writes])
        # What a command says is not what the file holds that its output goes to.
        subject = "" if step.command or step.patches else step.subject
        found = self._json_values(self._hiding.data(arguments), subject)
        return found | inside if inside else found

    def _output_values(self, text: str, subject: str) -> Found:
        start = text.lstrip()
        if start[:1] in ("{", "["):
            try:
                parsed = json.loads(start, parse_float=str, parse_int=str)
                return self._json_values(self._hiding.data(parsed), subject)
            except (ValueError, RecursionError):
                pass
        found: Found = {}
        text = self._hiding.text(text)
        # What stands behind "path:12:" is in that file; the next line need not be.
        for piece in text.split("\n") if _LISTING.search(text) else (text,):
            self._add_runs(found, piece, "", subject)
        return found

    def _json_values(self, value: Any, subject: str) -> Found:
        found: Found = {}
        plain, labels = self._plain, self._labels
        for label, leaf in self._leaves.of(value):
            if leaf in plain or (label in _SPAN_KEYS and leaf.isdigit()):
                continue
            before = len(found)
            # A long text under a key is prose or code; the key says nothing of the values in it.
            named = labels[label] if len(leaf) <= _PROSE_IN_JSON else ""
            if named and " " in leaf:
                self._add_labelled(found, leaf, named)
                continue
            self._add_runs(found, leaf, named, "" if named else subject)
            if len(found) == before + 1 and len(leaf) <= _PROSE_IN_JSON:
                taken = next(reversed(found))
                # A lone lower-case word such as "one_way" is one of a few the tool knows, not an identifier.
                if found[taken][0] is EvidenceKind.SYMBOL and taken == leaf and leaf.islower():
                    del found[taken]
        return found

    def _add_labelled(self, found: Found, leaf: str, label: str) -> None:
        """A few words under a key: "12 Mill Lane" is an address, its 12 alone is nothing."""
        inside: Found = {}
        self._add_runs(inside, leaf, label, "")
        if inside and all(kind in _PIECES for kind, _, _ in inside.values()):
            found[" ".join(leaf.split())] = (EvidenceKind.NAME, label, "")
        else:
            found.update(inside)

    def _add_runs(self, found: Found, text: str, label: str, subject: str, *, said: bool = False) -> bool:
        """Take in the values of a text; answer whether it names a month."""
        if "\\" in text:
            text = _ESCAPES.sub(" ", text)
        kinds, plain = self._kinds, self._plain
        dated = False
        for word in filterfalse(plain.__contains__, text.split()):
            known = kinds.get(word)
            if known is None:
                known = values_in(word)
                if not known and (
                    word.strip(".,;:!?)") not in SMALL_MONTHS if word.islower() else not MONTH.match(word)
                ):
                    plain.add(word)
                    continue
                if len(word) <= _LONGEST_KNOWN:
                    kinds[word] = known
            dated = dated or not known
            for value, kind, lines in known:
                if lines:
                    subject = value
                if value not in found:
                    if not said and (
                        kind is EvidenceKind.NAME or (not label and _is_bare_number(kind, value))
                    ):
                        continue
                    found[value] = (kind, label, subject)
        return dated

    def _mark_files(self, steps: Sequence[Step]) -> None:
        for step in steps:
            for change in step.changes:
                seen = self._file(change.path)
                if seen is None:
                    continue
                if change.done:
                    seen.label = StepKind.WROTE.value if change.writes else change.effect.value
                    seen.at = step.index  # what wrote to it is what gets cited
                elif seen.label not in _STATES:
                    seen.label = "failed"
            seen = self._file(step.subject)
            if seen is None:
                continue
            if step.lines:
                seen.lines = step.lines
            if step.kind is StepKind.READ and seen.label not in _STATES:
                seen.label = "failed" if step.failed else StepKind.READ.value

    def _file(self, path: str) -> Sighting | None:
        seen = self.sightings.get(path)
        return seen if seen is not None and seen.kind is EvidenceKind.PATH else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _without(arguments: Any, texts: Sequence[str]) -> Any:
    if isinstance(arguments, str):
        for text in texts:
            arguments = arguments.replace(text, " ")
        return arguments
    if isinstance(arguments, list):
        return [_without(inner, texts) for inner in arguments]
    if isinstance(arguments, dict):
        return {key: _without(inner, texts) for key, inner in arguments.items()}
    return arguments


def _is_bare_number(kind: EvidenceKind, value: str) -> bool:
    """Line numbers, offsets, a script's `$1`, a run's seconds mean nothing; said or under a key they do."""
    if kind is not EvidenceKind.NUMBER:
        return False
    return value.replace(",", "").lstrip("$").isdigit() or _DURATION.fullmatch(value) is not None
