"""What the extractive summarizer works with: one reading of the span, used for every size and strategy."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from itertools import compress

from compact.core.evidence import Ledger, extract, merge
from compact.core.evidence.focus import focused
from compact.core.evidence.reading import Reading, read
from compact.core.evidence.rules import is_rule
from compact.core.render import UNTRUSTED_HEADING, is_empty_failure, neutralize, request_positions
from compact.model.message import Message, MessageKind, Role
from compact.model.summary import Evidence, EvidenceKind, SummaryRequest
from compact.summarizers.extractive.choosing import Chooser
from compact.summarizers.extractive.labels import reports_of
from compact.summarizers.extractive.sentences import LONG_SENTENCE, Unit
from compact.summarizers.extractive.weighing import Weights, units_of

FACTS_HEADINGS = frozenset({"## Key entities", "## Ids, names and values", "## Names and values"})
_HEADING = re.compile(r"^#{1,4} ")
_RULE_LINE = re.compile(r"^- (?:\[m\d+\] )?“.*”(?: \[m\d+\])?$")
_ANSWER_LINE = re.compile(r"^- \[m(\d+)\] (?:\w+(?: \w+)?, )?asked in \[m\d+\]: ")
_ROOMY_CHARS = 2
"""A span with fewer characters of speech for each token of the room can be told whole."""
_INNER_END = re.compile(r"[.!?] ")
_LEADING_CITE = re.compile(r"^[-*] (?=\S)")


@dataclass(frozen=True, slots=True)
class Material:
    request: SummaryRequest
    messages: Sequence[Message]
    positions: Sequence[int]
    ledger: Ledger
    evidence: tuple[Evidence, ...]
    """This span's evidence merged with that of earlier records."""
    units: Sequence[Unit]
    weights: Weights
    earlier: Sequence[str]
    """Lines of the earlier summary's story; its facts come through the merged evidence."""
    earlier_goal: Sequence[str]
    tool_share: float
    """How much of the span is tool output and code: 0 in a chat, near 1 in an agent's run."""
    reports: frozenset[int]
    """Indexes of what the assistant told the user after it had worked."""
    choosers: dict[object, Chooser] = field(default_factory=dict)
    """What was chosen so far, so that a second try at another size need not begin anew."""
    told: set[int] = field(default_factory=set)
    """Numbers of units that another section tells already."""

    @property
    def rules(self) -> list[Evidence]:
        found = [item for item in self.evidence if item.kind is EvidenceKind.RULE]
        texts = self.ledger.reading.texts if self.ledger.reading else []
        said = dict(zip(self.positions, texts, strict=False))
        return sorted(
            found, key=lambda item: (item.message, said.get(item.message, "").find(item.value[:40]))
        )

    @property
    def is_dialogue(self) -> bool:
        """True when people talk to each other under their names."""
        return self.ledger.reading is not None and bool(self.ledger.reading.speakers)


def gather(request: SummaryRequest, is_secret: Callable[[str], bool] | None = None) -> Material:
    """Read the request's messages once."""
    telling = [not is_empty_failure(message) for message in request.messages]
    messages = list(compress(request.messages, telling))
    positions = tuple(at for at, told in zip(request_positions(request), telling, strict=True) if told)
    before = request.previous_evidence
    ledger = extract(messages, positions, is_secret=is_secret, previous=before)
    evidence = merge(ledger.previous, ledger.items) if before else ledger.items
    reading = ledger.reading or read(messages)
    if request.focus:
        evidence = focused(evidence, request.focus, dict(zip(positions, reading.texts, strict=True)))
    inside = [message.text for message in messages if message.kind is MessageKind.SUMMARY]
    answered = {item.message for item in evidence if item.kind is EvidenceKind.APPROVAL}
    summaries = "\n".join(filter(None, [request.previous_summary or "", *inside]))
    for rule in ledger.ended:
        # It stood within a request that is quoted as the goal.
        summaries = summaries.replace(f" {rule}", "")
    goal, story = _earlier_lines(summaries, answered)
    reports = reports_of(messages) if ledger.steps else frozenset()
    whole = sum(map(len, reading.texts)) < _ROOMY_CHARS * request.max_tokens
    units, weights = units_of(reading, _named(ledger.items), request.focus, reports, whole=whole)
    units = [unit for unit in _unquoted(units, positions, evidence) if unit.text not in ledger.ended]
    hiding = ledger.hiding
    if hiding is not None and hiding.values:
        units = [unit for unit in units if not hiding.holds_hidden(unit.text)]
    return Material(
        request, messages, positions, ledger, evidence, units,
        weights, story, goal,
        _tool_share(reading), reports,
    )  # fmt: skip


def _named(items: Sequence[Evidence]) -> set[str]:
    """The words of all names, in small letters."""
    names = (item.value for item in items if item.kind is EvidenceKind.NAME)
    return {word for name in names for word in name.lower().split()}


def _unquoted(units: list[Unit], positions: Sequence[int], evidence: Sequence[Evidence]) -> list[Unit]:
    """The units that no rule quotes, whole or in pieces: rules are told word for word in their own place."""
    rules = {
        " ".join(item.value.split()): item.message for item in evidence if item.kind is EvidenceKind.RULE
    }
    if not rules:
        return units
    kept = [unit for unit in units if unit.text not in rules]
    pieced: dict[int, str] = {}
    for text, at in rules.items():
        if len(text) > LONG_SENTENCE or _INNER_END.search(text):
            pieced[at] = f"{pieced.get(at, '')}\n{text}"
    if not pieced:
        return kept
    return [unit for unit in kept if unit.text not in pieced.get(positions[unit.index], "")]


def _tool_share(reading: Reading) -> float:
    tools = said = 0
    for message, text in zip(reading.messages, reading.texts, strict=True):
        if message.role is Role.TOOL or len(message.parts) > 1:
            tools += sum(len(result.text) for result in message.results)
        if text:
            code = sum(map(len, text.split("```")[1::2])) if "```" in text else 0
            tools += code
            said += len(text) - code
    return tools / (tools + said) if tools else 0.0


def _earlier_lines(summary: str, answered: Container[int]) -> tuple[list[str], list[str]]:
    """Goal lines and story lines of an earlier summary, each once.

    Rules, facts, tool data and what the user `answered` are kept as evidence.
    """
    goal: list[str] = []
    story: list[str] = []
    section = ""
    for line in neutralize(summary).splitlines():
        line = line.strip()
        if _HEADING.match(line):
            section = line
            if line == UNTRUSTED_HEADING:
                break
            continue
        if not line or section in FACTS_HEADINGS or _RULE_LINE.match(line):
            continue
        answer = _ANSWER_LINE.match(line)
        if answer and int(answer.group(1)) in answered:
            continue
        text = _LEADING_CITE.sub("", line)
        if is_rule(text) and "“" in text:
            continue
        (goal if "goal" in section.lower() else story).append(text)
    return list(dict.fromkeys(goal)), list(dict.fromkeys(story))
