"""What requests and answers look like. docs/openapi.json is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=200)]
Title = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=2_000_000)]


class Answer(BaseModel):
    """Something the server says; fields may be added."""

    model_config = ConfigDict(frozen=True)


class Asked(BaseModel):
    """Something a client says; a field that is not known is an error, not a wish."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemDetail(Answer):
    """application/problem+json. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str


# -- the service ---------------------------------------------------------------------------------------------


class Health(Answer):
    status: Literal["ok"] = "ok"
    service: str = "compact-studio"
    version: str


class Ready(Answer):
    ready: bool
    checks: dict[str, str]


class PresetInfo(Answer):
    name: str
    title: str
    description: str
    trigger_pct: float
    policy: dict[str, Any]


class ModelInfo(Answer):
    id: str
    label: str
    note: str
    default: bool
    window: int


class Settings(Answer):
    version: str
    presets: list[PresetInfo]
    models: list[ModelInfo]
    default_preset: str
    demo: bool
    token_required: bool
    tenant: str


# -- spaces and sessions -------------------------------------------------------------------------------------


class Space(Answer):
    name: str
    title: str
    custom_instructions: str
    preset: str | None


class SpaceList(Answer):
    spaces: list[Space]


class SpaceChange(Asked):
    title: Title = ""
    custom_instructions: Annotated[str, Field(max_length=100_000)] = ""
    preset: Name | None = None


class UsageParts(Answer):
    system: int
    tools: int
    summary: int
    messages: int


class Usage(Answer):
    """The prompt that would be sent now. `over_by` is what it exceeds the budget by."""

    tokens: int
    window: int
    window_source: str
    trigger: int
    budget: int
    reserve: int
    percent: float
    exact: bool
    margin: float
    over_by: int
    parts: UsageParts
    compacts_next: bool
    draft: int = 0
    """Tokens of the draft, where one was given; they are in `tokens` too."""


class Session(Answer):
    id: str
    title: str
    space: str | None
    preset: str
    model: str
    created_at: float
    updated_at: float
    message_count: int
    compaction_count: int
    last_compaction_at: float | None
    compacting: bool
    streaming: bool
    usage: Usage | None
    draft: str = ""
    """A message that was sent and never answered. From here on: only where one session is asked for."""
    summary: str | None = None
    summary_updated_at: float | None = None
    system: str = ""
    memory: str = ""
    policy: dict[str, Any] | None = None
    """The numbers that are in force: the preset's, the configuration's and the session's own."""
    policy_changes: dict[str, Any] = {}
    """What this session sets for itself."""


class SessionList(Answer):
    sessions: list[Session]
    next_cursor: str | None


class NewSession(Asked):
    title: Title | None = None
    space: Name | None = None
    preset: Name | None = None
    model: Name | None = None
    policy: dict[str, Any] | None = None
    system: Annotated[str, Field(max_length=100_000)] | None = None
    memory: Annotated[str, Field(max_length=100_000)] | None = None
    demo: bool = False


class SessionChange(Asked):
    """What is not given stays. An empty `space` takes the session out of its space."""

    title: Title | None = None
    space: Annotated[str, Field(max_length=200)] | None = None
    preset: Name | None = None
    model: Name | None = None
    policy: dict[str, Any] | None = None
    system: Annotated[str, Field(max_length=100_000)] | None = None
    memory: Annotated[str, Field(max_length=100_000)] | None = None
    """Working memory: enters the prompt as conversation, never as an edit of the system prompt."""


# -- messages and chat ---------------------------------------------------------------------------------------

State = Literal["sent", "summarized", "cleared", "dropped"]


class Message(Answer):
    """A message as the AI SDK's UI shows it: an assistant message carries the results of its calls.

    A reply of several steps is several messages with the same `turn`.
    """

    id: str
    position: int
    last_position: int
    turn: int
    role: Literal["user", "assistant", "system"]
    created_at: float | None
    tokens: int
    state: State
    pinned: bool
    finish_reason: str | None
    error: str | None
    model: str | None
    usage: dict[str, Any] | None
    cost: float | None
    duration: float | None
    parts: list[dict[str, Any]]


class MessageList(Answer):
    messages: list[Message]
    total: int
    first: int | None
    last: int | None


class ChatRequest(BaseModel):
    """What `useChat` sends. Of `messages` the last one counts: the server has the others."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Name
    messages: Annotated[list[dict[str, Any]], Field(max_length=100_000)] | None = None
    message: dict[str, Any] | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: str | None = None


class EditRequest(Asked):
    text: Text


class DraftRequest(Asked):
    draft: Text


class PinRequest(Asked):
    pinned: bool


class Stopped(Answer):
    stopped: bool


# -- compaction ----------------------------------------------------------------------------------------------


class CompactRequest(Asked):
    focus: Annotated[str, Field(max_length=10_000)] = ""
    note: Annotated[str, Field(max_length=10_000)] = ""
    mode: Literal["auto", "prune"] = "auto"


class Counted(Answer):
    kept: int
    total: int


class Survived(Answer):
    """What of the ledger is in the prompt; None where nothing of the kind was said."""

    words: Counted | None
    conclusions: Counted | None
    values: Counted | None


class Gone(Answer):
    text: str
    position: int


class KindSurvival(Answer):
    """How much of one kind of thing a prompt still holds; `missing` lists the best few of the rest."""

    kind: str
    title: str
    kept: int
    total: int
    missing: list[Gone]
    missing_count: int


class SectionItem(Answer):
    text: str
    positions: list[int]
    label: str | None = None


class Section(Answer):
    title: str
    kind: str
    items: list[SectionItem]


class Record(Answer):
    step: int
    version: int
    kind: Literal["summary", "prune", "trim", "clear", "restore"]
    reason: str
    note: str
    created_at: float
    duration: float | None
    tokens_before: int
    tokens_after: int
    messages_replaced: int
    outputs_cleared: int
    first_position: int | None
    last_position: int | None
    summary: str
    sections: list[Section]
    survival: Survived | None
    summarizer: str | None
    fallback: str | None
    cost: float | None
    in_force: bool
    folded_into: int | None
    undone: bool
    warnings: list[str]
    handle: str | None


class RecordList(Answer):
    records: list[Record]


class CompactResult(Answer):
    outcome: Literal["compacted", "unchanged", "failed"]
    reason: str
    record: Record | None
    usage: Usage


class Cancelled(Answer):
    cancelled: bool


class RestorePreview(Answer):
    messages_back: int
    outputs_back: int
    tokens_now: int
    tokens_after: int
    compacts_again: bool
    steps_undone: list[int]


class Restored(Answer):
    usage: Usage


class PlanRequest(Asked):
    preset: Name | None = None
    policy: dict[str, Any] | None = None
    now: bool = False
    """What `compact` would do at once; else what the next message would bring."""
    preview: bool = False
    """Also write the summary, as the embedded summarizer would."""


class PlanLimits(Answer):
    window: int
    budget: int
    trigger: int
    summary: int


class PlanStep(Answer):
    position: int | None
    action: str
    tokens: int
    saves: int
    role: str | None
    tool: str | None
    detail: str


class Plan(Answer):
    triggered: bool
    reason: str
    mode: str
    before: int
    after: int
    limits: PlanLimits
    steps: list[PlanStep]
    warnings: list[str]
    summary_preview: str | None


class ColumnRequest(Asked):
    preset: Name | None = None
    policy: dict[str, Any] | None = None
    label: Title | None = None


class WhatIfRequest(Asked):
    columns: Annotated[list[ColumnRequest], Field(min_length=1, max_length=6)]


class ApplyRequest(Asked):
    at_message: int
    preset: Name | None = None
    policy: dict[str, Any] | None = None


class Missing(Answer):
    kind: str
    text: str
    position: int | None


class Fate(Answer):
    position: int
    action: str
    tokens_before: int
    tokens_after: int


class Column(Answer):
    label: str
    preset: str | None
    policy: dict[str, Any]
    mode: str
    reason: str
    tokens_before: int
    tokens_after: int
    parts: UsageParts
    """Of `tokens_after`."""
    percent_after: float
    cost_next: float | None
    cached_tokens: int
    """What stays as it is at the front of the prompt: system, tools, messages before the first change."""
    turns_until_next: int | None
    """Until the next compaction, at this session's pace."""
    summarizer: str | None
    """Who would write the summary; None where nobody is asked."""
    cost_to_do: float | None
    """0 where no model is asked, None where its price is not known."""
    seconds_to_do: float | None
    """Of the trial; where a model writes, the median of this session's own compactions."""
    cost_ten_turns: float | None
    survival_kinds: list[KindSurvival]
    survival: Survived | None
    missing: list[Missing]
    fates: list[Fate]
    summary: str
    problem: str | None


class WhatIf(Answer):
    at_message: int
    now: Column
    columns: list[Column]


# -- recall, figures, files ----------------------------------------------------------------------------------


class RecallHit(Answer):
    position: int
    role: str
    text: str
    handles: list[str]
    score: float | None


class RecallResult(Answer):
    hits: list[RecallHit]


class Original(Answer):
    handle: str
    position: int
    text: str
    tokens: int


class Figure(Answer):
    turn: int
    position: int
    at: float | None
    tokens: int
    tokens_without: int
    cost: float | None
    cached_tokens: int
    compaction: int | None


class SurvivalFigure(Answer):
    step: int
    version: int
    kinds: list[KindSurvival]
    words: Counted | None
    conclusions: Counted | None
    values: Counted | None


class FigureTotals(Answer):
    turns: int
    compactions: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float | None
    tokens_saved: int
    cost_saved: float | None


class Figures(Answer):
    turns: list[Figure]
    totals: FigureTotals
    survival: list[SurvivalFigure]
    now: list[KindSurvival]
    """Against the prompt as it is now: its `missing` is what the model cannot see any more."""
    prices_known: bool


class StoredEvent(Answer):
    id: int
    type: str
    at: float
    data: dict[str, Any]


class EventPage(Answer):
    events: list[StoredEvent]
    last: int


class ImportRequest(Asked):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100_000)]
    """Turns in any format that Compact reads."""
    again: bool = False
    """Append also what the session holds already."""


class Imported(Answer):
    imported: int
    usage: Usage


# -- messages in, messages out -------------------------------------------------------------------------------


class Observed(Asked):
    """What the provider counted for an earlier prompt: that of the first `messages` of this list."""

    messages: Annotated[int, Field(ge=1)]
    input_tokens: Annotated[int, Field(ge=1)]


class MessagesIn(Asked):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    session: Name | None = None
    """Groups calls of one conversation. Without it the first message does."""
    model: Name | None = None
    window: Annotated[int, Field(ge=512, le=100_000_000)] | None = None
    """In tokens. Without it, the server's setting or the model's own."""
    preset: Name | None = None
    format: Name | None = None
    """Without it, it is recognized."""
    tools: list[dict[str, Any]] | None = None
    system: str | list[dict[str, Any]] | None = None
    observed: Observed | None = None


class MessagesTokens(Answer):
    before: int
    after: int
    window: int


class MessagesOut(Answer):
    messages: list[dict[str, Any]]
    kept: list[int | None]
    """For each of `messages`, which of those sent it is, unchanged; null where it is new or shortened."""
    tools: list[dict[str, Any]] | None
    session: str
    format: str
    compacted: bool
    """Whether this call made a compaction. An earlier one may be in place without it."""
    tokens: MessagesTokens
