"""A policy as data: when to compact, what stays, what happens to the rest, where the summary goes."""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PositiveInt, ValidationError

from compact.model.message import Role
from compact.model.settings import Settings

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
LEAST_SUMMARY = 64
"""In tokens; a shorter summary says nothing, however small the window."""


MOST_BUFFER = 0.15
MOST_RESERVE = 0.40
"""The largest shares of the window that `hard_cap_buffer` and `output_reserve` may take, so that small ones
work."""


class TurnUnit(StrEnum):
    """What counts as a turn."""

    USER = "user"
    """A user message with everything up to the next one."""
    MESSAGE = "message"
    """Each user or assistant message, with its tool results (the `window` preset)."""


class Rest(StrEnum):
    """What happens to messages that are not kept."""

    SUMMARIZE = "summarize"
    DISCARD = "discard"


class Placement(StrEnum):
    """How a summary goes back into the prompt."""

    ASSISTANT = "assistant"
    """One assistant message between pinned and recent."""
    PAIR = "pair"
    """A user-assistant pair right after the system prompt."""
    SYSTEM = "system"
    """A system message after the custom instructions; tool-derived text follows as assistant."""


OnSummaryFailure = Literal["prune", "keep"]


class Policy(Settings):
    """All numbers of a policy. Defaults are the `budget` preset's."""

    name: str = "budget"

    # When
    trigger_pct: Share = Field(default=0.85, description="Compact at this share of the window.")
    trigger_above: bool = Field(default=False, description="Strictly above the share, not at it.")
    fold_on_turns: bool = Field(
        default=False, description="Also compact when there are more finished turns than are kept."
    )
    fold_slack_turns: Count = Field(
        default=2,
        description="With a summary: extra turns that may accumulate before they are folded in.",
    )
    growth_pct: Share = Field(
        default=0.10,
        description="How much the prompt must grow before the next compaction, as a share of the window.",
    )
    hard_cap_buffer: Count = Field(
        default=1_500, description="Budget = window - this; at most 15% of the window."
    )
    output_reserve: Count = Field(
        default=0,
        description="Kept free for the reply, at most 40% of the window, unless the buffer is larger.",
    )
    long_message_pct: Share = Field(
        default=1.0,
        description="No summary in a turn whose message exceeds this share of the window.",
    )

    # What stays
    roles_never_prune: tuple[Role, ...] = (Role.SYSTEM, Role.DEVELOPER)
    turn_unit: TurnUnit = TurnUnit.USER
    keep_first_turns: Count = 0
    keep_recent_turns: PositiveInt | None = 6
    keep_recent_turns_with_summary: PositiveInt | None = Field(
        default=None, description="The same, once there is a summary."
    )
    keep_recent_messages: PositiveInt | None = None
    count_new_message: bool = Field(
        default=True, description="Whether an unanswered newest turn counts as one of them."
    )
    keep_tool_io_pairs: PositiveInt | None = Field(
        default=4, description="Tool steps kept; None keeps those of the kept turns."
    )
    keep_tool_io_anywhere: bool = Field(
        default=True, description="Keep the newest tool steps even if their turn is not kept."
    )

    # Clearing old tool outputs first
    prune: bool = False
    prune_protect: Count = Field(
        default=40_000, description="Newest tool output that stays, in tokens; at most `prune_protect_pct`."
    )
    prune_protect_pct: Share = 0.30
    prune_minimum: Count = Field(
        default=20_000, description="A prune that saves less is skipped; at most `prune_minimum_pct`."
    )
    prune_minimum_pct: Share = 0.15
    prune_keep_turns: Count = Field(
        default=2,
        description="Turns whose newest `keep_tool_io_pairs` steps are never cleared; texts never are.",
    )
    prune_accept_pct: Share = Field(
        default=0.60, description="A prune that leaves more of the window is discarded."
    )

    # Large tool outputs
    output_cap_pct: Share = Field(
        default=0.10,
        description="When a compaction runs, kept tool outputs over this share of the window are shortened.",
    )
    oversize: Literal["shorten", "raise"] = Field(
        default="shorten",
        description="Shorten tool outputs that do not fit, or raise InsufficientBudget.",
    )
    target_pct: Share = Field(
        default=0.25, description="The most a compaction should leave; outputs are shortened toward it."
    )

    # The rest
    rest: Rest = Rest.SUMMARIZE
    strategy: str = "task_state"
    placement: Placement = Placement.ASSISTANT
    summary_max_tokens: int = Field(default=8_000, ge=LEAST_SUMMARY)
    summary_max_pct: Share = 0.15
    summary_min_chars: Count = 1
    on_summary_failure: OnSummaryFailure = Field(
        default="prune", description="Or 'keep' everything that fits."
    )
    survival_floor: Share = Field(
        default=0.80,
        description="For a summarizer of your own: above 0, Compact adds the user's words and what its text "
        "left out; at 0, the text is only checked. The number itself is not compared with anything.",
    )

    if not TYPE_CHECKING:
        # Hidden from type checkers, which would otherwise lose the signature that the fields define.
        def __init__(self, **numbers: Any) -> None:
            try:
                super().__init__(**numbers)
            except ValidationError as error:
                from compact.model.problems import config_error

                raise config_error(error, Policy, section="policy.") from None

    def summary_tokens(self, window: int) -> int:
        """The most a summary may take, evidence included."""
        return max(LEAST_SUMMARY, min(self.summary_max_tokens, int(window * self.summary_max_pct)))

    def reserve(self, window: int) -> int:
        """Tokens of the window that no prompt may take; in a small one, limited to their shares."""
        buffer = min(self.hard_cap_buffer, int(window * MOST_BUFFER))
        return max(buffer, min(self.output_reserve, int(window * MOST_RESERVE)))

    @property
    def hash(self) -> str:
        """Identifies the policy: a record is valid for the policy it was made under."""
        return blake2b(self.model_dump_json().encode(), digest_size=8).hexdigest()
