"""The order of layers: pinned, one summary or marker, recent; valid for every provider by construction.

Bridge lines are added where a provider needs a user message: at the very start, and between a summary and an
assistant message; and where two neighbors have one role, if the provider wants them to alternate. They are
part of the record, so they are the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from compact.core.boundaries import GroupKind
from compact.core.render import DOUBTFUL_HEADING, TOOLS_HEADING, UNTRUSTED_HEADING, disarm
from compact.core.select import Layout
from compact.core.view import Item, clear_outputs, recall_hint
from compact.model.message import Message, MessageKind, Role, make
from compact.model.plan import Plan
from compact.model.policy import Placement, Policy

TRIGGER_LINE = (
    "What have we accomplished in our conversation so far? "
    "Summarize our progress, current state, and next steps."
)
FIRST_LINE = "The earlier part of this conversation was shortened to fit the context window."
CONTINUE_LINE = "Continue from the summary above."
RESUME_LINE = "Continue with the conversation below."
NOTED_LINE = "Understood."

TAG = "COMPACT-SUMMARY"
ASKING = (Role.USER, Role.TOOL)
_INSTRUCTING = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A summary by authority: what may carry it, what rests only on tool output, and what is in the user's
    messages but may be quoted there."""

    text: str
    untrusted: str = ""
    doubtful: str = ""


def tagged(text: str, version: int, handle: str = "") -> str:
    """The text inside its delimiters, which nothing inside can close, then how to recall the rest."""
    return f"<{TAG} v{version}>\n{disarm(text)}\n</{TAG}>{recall_hint(handle)}"


def summary_messages(summary: SummaryText, version: int, policy: Policy, handle: str = "") -> list[Message]:
    """A summary as the messages that its placement needs."""
    match policy.placement:
        case Placement.ASSISTANT:
            whole = "\n\n".join(filter(None, (summary.text, summary.untrusted)))
            return [make(MessageKind.SUMMARY, Role.ASSISTANT, tagged(whole, version, handle))]
        case Placement.PAIR:
            whole = "\n\n".join(filter(None, (summary.text, summary.untrusted)))
            return [
                make(MessageKind.SUMMARY_TRIGGER, Role.USER, TRIGGER_LINE),
                make(MessageKind.SUMMARY, Role.ASSISTANT, tagged(whole, version, handle)),
            ]
        case Placement.SYSTEM:
            made = []
            if summary.text:
                made.append(make(MessageKind.SUMMARY, Role.SYSTEM, tagged(summary.text, version, handle)))
            # Text that came from tools, or may have, must not gain a system message's authority.
            rest = [f"{DOUBTFUL_HEADING}\n{summary.doubtful}"] if summary.doubtful else []
            if summary.untrusted:
                heading = "" if summary.untrusted.startswith(UNTRUSTED_HEADING) else f"{TOOLS_HEADING}\n"
                rest.append(heading + summary.untrusted)
            if rest:
                text = tagged("\n".join(rest), version, "" if made else handle)
                made.append(make(MessageKind.SUMMARY, Role.ASSISTANT, text))
            return made


def marker_message(dropped: int, handle: str = "") -> Message:
    turns = "turn was" if dropped == 1 else "turns were"
    marker = f"[{dropped} earlier {turns} trimmed to fit the context window.]{recall_hint(handle)}"
    return make(MessageKind.MARKER, Role.USER, marker)


def gap_message(handle: str) -> Message:
    """The marker used where a summary should be and none could be made."""
    marker = f"[Earlier messages were left out to fit the context window.]{recall_hint(handle)}"
    return make(MessageKind.MARKER, Role.USER, marker)


def trimmed_line(first: int, last: int) -> str:
    """The message to the user after a trim."""
    return f"Context trimmed. Kept first {first} and last {last} turns."


def split_layers(layout: Layout, kept: Collection[int]) -> tuple[list[int], list[int]]:
    """Kept groups as (before, after) the summary or marker, each in order."""
    first = {n for turn in layout.turns[: layout.policy.keep_first_turns] for n in turn}
    ordered = sorted(kept)
    loose = [n for n in ordered if n not in layout.pinned and n not in first]
    if not loose:
        return ordered, []
    border = loose[0]
    before = [n for n in ordered if n < border]
    after = [n for n in ordered if n >= border]
    opens_turn = layout.groups[border].kind is GroupKind.USER
    cut_inside_turn = opens_turn and border + 1 < len(layout.groups) and border + 1 not in kept
    if cut_inside_turn and not first and layout.policy.placement is Placement.ASSISTANT:
        # The task whose steps were cut counts as pinned: it comes before the summary of those steps.
        return [*before, border], after[1:]
    return before, after


def arrange(
    leading: Sequence[int],
    recent: Sequence[int],
    items: Sequence[Item],
    ours: Sequence[Message],
    policy: Policy,
    alternates: bool = False,
) -> list[int | Message]:
    """View indexes and our own messages in the order in which they are sent.

    `alternates`: user and assistant have to take turns.
    """
    # A marker goes where turns were dropped; a summary goes where the policy wants it, carried over or not.
    marker = [message for message in ours if message.kind is MessageKind.MARKER]
    summary = [message for message in ours if message.kind is not MessageKind.MARKER]
    first, then = (leading, summary) if policy.placement is Placement.ASSISTANT else (summary, leading)
    order = _bridged([*first, *then, *marker, *recent], items)
    if instructs_in_turns(items):
        order = _around_instructions(order, items)
    return _alternating(order, items) if alternates else order


def instructs_in_turns(items: Sequence[Item]) -> bool:
    """Whether system messages are among the turns, each between the user's message and the assistant's.

    A provider that accepts them at all accepts them only there; for other providers it does not matter.
    """
    roles = [item.message.role for item in items]
    found = [at for at, role in enumerate(roles) if role in _INSTRUCTING and not items[at].message.is_ours]
    return bool(found) and all(
        at > 0 and roles[at - 1] in ASKING and (at + 1 == len(roles) or roles[at + 1] is Role.ASSISTANT)
        for at in found
    )


def _instructs(message: Message) -> bool:
    return message.role in _INSTRUCTING and not message.is_ours


def _around_instructions(order: list[int | Message], items: Sequence[Item]) -> list[int | Message]:
    """The same, with a line before or after a system message whose neighbor was removed."""
    done: list[int | Message] = []
    before: Message | None = None
    for entry in order:
        message = _message(entry, items)
        if before is not None and _instructs(before) and message.role is not Role.ASSISTANT:
            before = make(MessageKind.BRIDGE, Role.ASSISTANT, NOTED_LINE)
            done.append(before)
        if _instructs(message) and (before is None or before.role not in ASKING):
            line = FIRST_LINE if before is None else RESUME_LINE
            done.append(make(MessageKind.BRIDGE, Role.USER, line))
        done.append(entry)
        before = message
    return done


def _alternating(order: list[int | Message], items: Sequence[Item]) -> list[int | Message]:
    """The same, with a line of the other role between neighbors that would have the same one.

    Two of the caller's that were neighbors before stay so: they may be one object, such as results and text.
    """
    done: list[int | Message] = []
    for entry in order:
        if done and not (isinstance(entry, int) and done[-1] == entry - 1):
            before, after = _message(done[-1], items), _message(entry, items)
            if before.role in ASKING and after.role in ASKING:
                done.append(make(MessageKind.BRIDGE, Role.ASSISTANT, NOTED_LINE))
            elif before.role is after.role is Role.ASSISTANT:
                done.append(make(MessageKind.BRIDGE, Role.USER, RESUME_LINE))
        done.append(entry)
    return done


def _message(entry: int | Message, items: Sequence[Item]) -> Message:
    return items[entry].message if isinstance(entry, int) else entry


def earlier_summary(items: Sequence[Item]) -> list[Message]:
    """The messages of the summary in the view; it stays if no new one is made."""
    kinds = (MessageKind.SUMMARY, MessageKind.SUMMARY_TRIGGER)
    return [item.message for item in items if item.message.kind in kinds]


def _bridged(order: list[int | Message], items: Sequence[Item]) -> list[int | Message]:
    done: list[int | Message] = []
    seen_user = False
    after_summary = False
    for entry in order:
        message = _message(entry, items)
        if not done and isinstance(entry, int) and message.role in (Role.SYSTEM, Role.DEVELOPER):
            # If it came first, a caller who adopts this list would seem to have a longer system prompt.
            done.append(make(MessageKind.BRIDGE, Role.USER, FIRST_LINE))
            seen_user = True
        if message.role in (Role.ASSISTANT, Role.TOOL):
            if not seen_user:
                # After a system summary the conversation simply continues.
                line = RESUME_LINE if any(not isinstance(x, int) for x in done) else FIRST_LINE
                done.append(make(MessageKind.BRIDGE, Role.USER, line))
                seen_user = True
            elif after_summary and message.kind is not MessageKind.SUMMARY:
                done.append(make(MessageKind.BRIDGE, Role.USER, CONTINUE_LINE))
        seen_user = seen_user or message.role is Role.USER
        after_summary = message.kind is MessageKind.SUMMARY and message.role is Role.ASSISTANT
        done.append(entry)
    return done


def build(
    order: Sequence[int | Message],
    plan: Plan,
    items: Sequence[Item],
    size_of: Callable[[Message], int],
    at: float,
) -> list[Item]:
    """The new view: kept items unchanged, cleared ones rebuilt, ours injected."""
    made = []
    for entry in order:
        if not isinstance(entry, int):
            made.append(Item(entry, size_of(entry)))
        elif entry in plan.cleared:
            cleared = plan.cleared[entry]
            message = clear_outputs(items[entry].message, cleared, at)
            made.append(Item(message, size_of(message), cleared.position, cleared))
        else:
            made.append(items[entry])
    return made
