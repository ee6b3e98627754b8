"""What a summarizer is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from compact.model.message import Message, Usage
from compact.model.sections import UNKNOWN, Section, Survival, sections_of
from compact.model.value import value


class RefusalReason(StrEnum):
    """Why a summary that came back may not be used."""

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
    """Words of the user in records of earlier versions, as is APPROVAL."""
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

    # A ledger asks for the kind of thousands of units at a time; the enum's own hash is a call of Python.
    __hash__ = str.__hash__


@value
class Evidence:
    """One fact taken literally from the replaced span."""

    kind: EvidenceKind
    value: str
    message: int
    """Logical position of the message it came from."""
    context: str = ""
    """A word of context: who said it, read/written/failed, exit status, label or unit."""
    rank: float = 0.0
    untrusted: bool = False
    """True when only tool output says it."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """The public face of a request for a summary; a plain callable gets exactly this."""

    messages: Sequence[Message]
    prompt: str
    max_tokens: int
    strategy: str
    previous_summary: str | None = None
    seed: int = 42
    temperature: float = 0.0
    first_position: int = 0
    """Logical position of `messages[0]`; citations such as [m12] count from the session's start."""
    positions: Sequence[int] = ()
    """Logical position of each message when they are not contiguous."""
    previous_evidence: Sequence[Evidence] = ()
    focus: str = ""
    """What the user asked to keep in view (a manual compaction's note)."""
    embedded: bool = False
    """Whether the embedded summarizer is asked, because every other one failed."""
    prefix_messages: Sequence[Any] | None = None
    """The prompt as last sent, in the provider's own format, so that a summarizer may reuse its cache."""
    prefix_tools: Sequence[Any] | None = None
    prefix_system: Any = None
    on_progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)
    """Called with (done, total) where the summary is made in pieces."""
    on_skipped: Callable[[str, str], None] | None = field(default=None, compare=False, repr=False)
    """Called with (reason, message) where several summarizers are tried in turn and one is skipped."""

    def without_prefix(self) -> SummaryRequest:
        return replace(self, prefix_messages=None, prefix_tools=None, prefix_system=None)


@dataclass(frozen=True, slots=True)
class Summary:
    text: str
    tokens: int = 0
    evidence: tuple[Evidence, ...] = ()
    """The whole ledger: units of the span and of what was summarized before it."""
    added: tuple[Evidence, ...] = ()
    """What a record keeps of the span's own units; with its parents' it makes the next ledger."""
    survival: Mapping[str, float] = field(default_factory=dict)
    """Share of the evidence, by kind, that the text still holds; "all" is the whole."""
    untrusted: str = ""
    """The part of the text that rests on tool output only (S3.3)."""
    strategy: str = ""
    model: str = "extractive"
    usage: Usage | None = None
    """What the provider reported for making it; None where no model was asked."""
    kept: Survival = UNKNOWN
    """What of the ledger the text holds, counted by kind, and the best of what it does not."""

    @property
    def sections(self) -> tuple[Section, ...]:
        return sections_of(self.text)
