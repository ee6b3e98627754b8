"""The request to a summarizer, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from compact.model.message import Message, Usage
from compact.model.sections import UNKNOWN, Section, Survival, sections_of
from compact.model.value import value

EMBEDDED = "extractive"
"""The summarizer that is built in, and needs no model."""


class RefusalReason(StrEnum):
    """Why a returned summary may not be used, or none is asked for."""

    NO_ROOM = "no-room"
    EMPTY = "empty"
    TOO_SHORT = "too-short"
    TOO_LONG = "too-long"
    REFUSAL = "refusal"
    TOOL_CALL = "tool-call"
    REASONING_ONLY = "reasoning-only"
    NOT_SMALLER = "not-smaller"
    OTHER_LANGUAGE = "other-language"
    INVENTED_QUOTE = "invented-quote"


class EvidenceKind(StrEnum):
    SAID = "said"
    """The user's own words."""
    CONCLUDED = "concluded"
    """What the assistant stated: causes, decisions, results, next steps."""
    DONE = "done"
    """What a tool step did, and how it ended."""
    RULE = "rule"
    """Words of the user in records of earlier versions; so is APPROVAL."""
    APPROVAL = "approval"
    PATH = "path"
    COMMAND = "command"
    ERROR = "error"
    ID = "id"
    URL = "url"
    NUMBER = "number"
    SYMBOL = "symbol"
    DATE = "date"
    NAME = "name"

    # A ledger checks the kind of thousands of units at a time, and the enum's own hash runs in Python.
    __hash__ = str.__hash__


@value
class Evidence:
    """One fact taken literally from the replaced span."""

    kind: EvidenceKind
    value: str
    message: int
    """Logical position of the message it came from."""
    context: str = ""
    """What belongs with it: the question that it answers, a mark that the user only shows it, what became of
    a file, an exit status, a label or unit."""
    rank: float = 0.0
    untrusted: bool = False
    """True if only tool output says it, or a text that the user shows or may be quoting."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer gets. `prefix_*` is for those on the conversation's own provider."""

    messages: Sequence[Message]
    prompt: str
    """For a plain callable, the finished text: instructions and transcript. Empty elsewhere: summarizers that
    call a model fill the template of `strategy` themselves."""
    max_tokens: int
    strategy: str
    previous_summary: str | None = None
    seed: int = 42
    temperature: float = 0.0
    positions: Sequence[int] = ()
    """Logical position of each message, if they do not count from 0: citations such as [m12] count from the
    session's start."""
    previous_evidence: Sequence[Evidence] = ()
    focus: str = ""
    """What the user asked to focus on (a manual compaction's note)."""
    embedded: bool = False
    """Whether to use the embedded summarizer, because every other one failed."""
    prefix_messages: Sequence[Any] | None = None
    """The last prompt sent, in the provider's own format, so that a summarizer can reuse its cache."""
    prefix_tools: Sequence[Any] | None = None
    prefix_system: Any = None
    on_progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)
    """Called with (done, total) if the summary is made in pieces."""
    on_skipped: Callable[[str, str], None] | None = field(default=None, compare=False, repr=False)
    """Called with (reason, message) if several summarizers are tried in turn and one is skipped."""

    def without_prefix(self) -> SummaryRequest:
        return replace(self, prefix_messages=None, prefix_tools=None, prefix_system=None)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summarizer wrote, and what it was made from."""

    text: str
    tokens: int = 0
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    """The whole ledger: units of the span and of what was summarized before it."""
    added: tuple[Evidence, ...] = field(default=(), repr=False)
    """What a record keeps of the span's own units; with its parents' units it makes the next ledger."""
    survival: Mapping[str, float] = field(default_factory=dict)
    """Share of the evidence, by kind, that the text still contains; "all" is the total."""
    untrusted: str = ""
    """The part of the text that rests only on tool output (S3.3)."""
    strategy: str = ""
    model: str = EMBEDDED
    usage: Usage | None = None
    """The provider's report for making it; None if no model was called."""
    kept: Survival = field(default=UNKNOWN, repr=False)
    """How much of the ledger the text contains, counted by kind, and the best of what it lacks."""

    @property
    def sections(self) -> tuple[Section, ...]:
        return sections_of(self.text)
