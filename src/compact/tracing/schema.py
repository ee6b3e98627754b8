"""The data of each event. The documents are generated from here, and tests check the engine against it.

Events are not validated when emitted: that would slow down every preflight for what a test proves once.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from compact.model.event import SCHEMA_VERSION, Event, EventName, Fallback, Reason


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class Breakdown(_Data):
    system: int
    developer: int
    tools_schema: int
    messages: int


class TokenEstimate(_Data):
    """Before each model call: how large the prompt is."""

    model: str
    t_est: int = Field(description="Estimated tokens of everything that would be sent.")
    max_tokens: int = Field(description="The window.")
    usage_pct: float = Field(description="Percent of the window.")
    breakdown: Breakdown


class DecisionPolicy(_Data):
    trigger_pct: float
    hard_cap_buffer: int
    strategy: str


class Kept(_Data):
    pinned: int
    recent_turns: int
    tool_pairs: int


class TriggerDecision(_Data):
    """Right after the estimate: whether a compaction runs, and why."""

    triggered: bool
    reason: Reason
    policy: DecisionPolicy
    note: str | None = Field(None, description="The note of a manual compaction.")
    kept: Kept | None = Field(None, description="If triggered: how much stays verbatim.")
    pruned_count: int | None = Field(None, description="If triggered: messages to be replaced or cleared.")


class Usage(_Data):
    input: int = Field(description="The whole prompt, cached tokens included.")
    output: int
    cache_read: int
    cache_write: int


class SummaryCreated(_Data):
    """A summary was made and passed its checks. `duration` is how long the summarizer took."""

    strategy: str
    input_messages: int
    summary_tokens: int
    compression_ratio: float = Field(
        description="Tokens of the summary divided by tokens of what it replaces."
    )
    survival: dict[str, float] = Field(
        description="Share of the evidence that the text contains, by kind, and `all`."
    )
    model: str = Field(description="Who wrote it: a model's id, `extractive`, or `custom` for a callable.")
    usage: Usage | None = Field(None, description="What the provider counted; none if no model was called.")
    summary: str


class PrunedMessages(_Data):
    """The new prompt, by layer."""

    pinned: int = Field(description="Messages before the summary.")
    summary: int = Field(description="1 if there is a summary, else 0.")
    recent: int = Field(description="Messages after it.")
    replaced: int = Field(description="Messages that the summary replaced, or that were dropped.")
    tokens_before: int
    tokens_after: int
    step: int
    survival: dict[str, float] | None = Field(
        None, description="Share of the evidence that is in the whole prompt, by kind, and `all`."
    )


class Archival(_Data):
    """What is about to be replaced has been archived. `duration` is how long that took."""

    session_id: str
    step: int
    storage_adapter: str
    file_path: str | None = Field(None, description="Where it was written; one of these two is set.")
    s3_key: str | None = None


class Error(_Data):
    """Something failed, and what was done instead. `duration` is how long a failed summary took."""

    status: Literal["error"]
    error_type: str = Field(description="A reason for rejecting a summary, or the name of an error.")
    message: str
    fallback: Fallback


class Warning(_Data):
    """Something to know that does not stop anything."""

    severity: Literal["low", "high"]
    message: str
    breaks_cache: bool = Field(False, description="The provider's prompt cache starts over.")
    dropped: int | None = Field(None, description="Events that the exporters' queue had no room for.")


class Floor(_Data):
    """What can never be removed reaches the trigger, so the trigger is raised to the budget."""

    floor: int
    sum: str = Field(description="The sum, as text for people.")


class Restored(_Data):
    """A compaction was undone, with those built on it."""

    step: int


class Recall(_Data):
    """Originals were looked up."""

    query: str
    found: list[int] = Field(description="Positions in the conversation.")


class Title(_Data):
    """A chat has this title now. Traces are named by it."""

    title: str


class Lease(_Data):
    """Whether this worker may compact the session now. `duration` is how long it waited."""

    granted: bool


class Start(_Data):
    """A compaction begins. Exactly one `compaction-complete` or `compaction-error` of its step follows."""

    tokensBefore: int
    modelLimit: int
    reason: Literal["overflow", "manual"]


class Prune(_Data):
    """Old tool outputs were cleared."""

    outputsPruned: int
    tokensSaved: int
    prunedTools: list[str]


class Summarize(_Data):
    """A summary is being requested."""

    messagesCount: int


class Progress(_Data):
    """Progress of a summary made in pieces because its source is too long for the model."""

    done: int = Field(description="Pieces summarized, the merge being the last.")
    total: int = Field(description="May grow if the pieces have to be summarized again.")


class Check(_Data):
    """The summary exists and makes the prompt smaller; the result is being checked, archived and stored."""

    tokensAfter: int


class Complete(_Data):
    """The compaction ended; possibly nothing could be made smaller. `duration` is its total time."""

    tokensBefore: int
    tokensAfter: int
    messagesCompacted: int
    wasPruned: bool
    wasSummarized: bool
    summary: str


class Failed(_Data):
    """The compaction ended without a result; the session is unchanged. `duration` is its total time."""

    error: str
    canRetry: bool
    suggestNewSession: bool = Field(
        description="A new session would help: the system prompt, the tools and the message that is to be "
        "sent fit by themselves."
    )
    brokenOff: bool = Field(
        default=False, description="Canceled, or abandoned by the caller; nothing failed."
    )


class Overflow(_Data):
    """Nothing that may be removed would make the prompt fit."""

    currentTokens: int
    limit: int
    percentUsed: float


class Settings(_Data):
    """What the terminal chat remembers about a session. Kept in the store, not emitted on the stream."""

    model_config = ConfigDict(extra="allow")


class Door(_Data):
    """What the chat server streams to those who follow a session. Kept only in the store."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(
        description="`data-compaction`, `data-context-usage`, `data-notice`, `message` or `session`."
    )


DATA: dict[EventName, type[_Data]] = {
    EventName.TOKEN_ESTIMATE: TokenEstimate,
    EventName.TRIGGER_DECISION: TriggerDecision,
    EventName.SUMMARY_CREATED: SummaryCreated,
    EventName.PRUNED_MESSAGES: PrunedMessages,
    EventName.ARCHIVAL: Archival,
    EventName.ERROR: Error,
    EventName.WARNING: Warning,
    EventName.FLOOR: Floor,
    EventName.RESTORED: Restored,
    EventName.RECALL: Recall,
    EventName.LEASE: Lease,
    EventName.TITLE: Title,
    EventName.SETTINGS: Settings,
    EventName.DOOR: Door,
    EventName.START: Start,
    EventName.PRUNE: Prune,
    EventName.SUMMARIZE: Summarize,
    EventName.PROGRESS: Progress,
    EventName.CHECK: Check,
    EventName.COMPLETE: Complete,
    EventName.FAILED: Failed,
    EventName.OVERFLOW: Overflow,
}


class Envelope(BaseModel):
    """Fields of every event."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    schema_version: int = Field(description="A version may gain fields; none is removed or changed.")
    name: str = Field(description="One of those below.")
    session_id: str = Field(description="Empty if it concerns no session.")
    sequence: int = Field(ge=1, description="Rises by one with each event of a manager.")
    at: float = Field(description="Seconds since 1970; for something that took time, when it ended.")
    step: int = Field(ge=0, description="The number of the compaction it belongs to; 0 outside a compaction.")
    duration: float | None = Field(None, ge=0, description="Seconds, if something took time.")
    data: dict[str, Any] = Field(description="Depends on the event's name, as below.")


def envelope_of(name: EventName) -> type[Envelope]:
    """The whole event with this name, as it leaves the process."""
    data = DATA[name]
    word: Any = Literal[name.value]
    fields: dict[str, Any] = {"name": (word, ...), "data": (data, ...)}
    return create_model(f"{data.__name__}Event", __base__=Envelope, __doc__=data.__doc__, **fields)


def validate(event: Event) -> None:
    """Raise pydantic's ValidationError unless the event matches its schema."""
    # As it leaves the process: tuples are arrays there, and enums are strings.
    DATA[event.name].model_validate_json(json.dumps(dict(event.data)))
    Envelope.model_validate(event.as_dict())


def json_schema() -> dict[str, Any]:
    """All events as one JSON Schema. Readers should ignore unknown fields."""
    union: Any = envelope_of(EventName.TOKEN_ESTIMATE)
    for name in list(EventName)[1:]:
        union = union | envelope_of(name)
    schema = TypeAdapter(union).json_schema()
    _open(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Events of Compact, version {SCHEMA_VERSION}",
        **schema,
    }


def _open(node: Any) -> None:
    """Allow unknown fields, which only our own tests reject, and drop titles, which repeat the names."""
    if isinstance(node, dict):
        if node.get("additionalProperties") is False:
            del node["additionalProperties"]
        if isinstance(node.get("title"), str):
            del node["title"]
        for value in node.values():
            _open(value)
    elif isinstance(node, list):
        for value in node:
            _open(value)
