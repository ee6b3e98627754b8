"""The data of events, and the error if nothing fits: pure functions in the vocabulary of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil
from typing import Any

from compact.core.job import Emit, Job, Refusal
from compact.core.view import Item
from compact.errors import InsufficientBudget
from compact.model.event import EventName, Fallback, Reason
from compact.model.message import MessageKind, Role
from compact.model.outcome import Compacted, Failed, Outcome, Stage, Unchanged
from compact.model.plan import Limits, Mode, Plan
from compact.model.policy import Policy
from compact.model.record import Kept, Record, RecordKind
from compact.model.summary import Summary, SummaryRequest

SUMMARY_NOT_UPDATED = "The summary could not be updated. Nothing is lost; it will be tried again."

_SPOKEN = (Role.USER, Role.ASSISTANT, Role.TOOL)

_PARTS = {
    "system_and_tools": "system prompt and tools",
    "protected": "protected messages",
    "first_turns": "first turns",
    "newest_turn": "newest turn",
    "marks_of_ours": "lines around the summary",
}


def insufficient_budget(parts: Mapping[str, int], limits: Limits) -> InsufficientBudget:
    counts = {name: limits.real(value) for name, value in parts.items()}
    budget, window = limits.real(limits.budget), limits.real(limits.window)
    # Rounded one by one, the parts may seem to fit: the difference is added to the largest.
    needed = max(ceil(round(sum(parts.values()) * limits.scale, 6)), budget + 1)
    largest = max(counts, key=lambda name: counts[name])
    counts[largest] += needed - sum(counts.values())
    reduce = "Shorten the system prompt or the tools, reduce" if largest == "system_and_tools" else "Reduce"
    ends = "the first or the newest message" if counts.get("first_turns") else "the newest message"
    return InsufficientBudget(
        f"InsufficientBudget: what may not be removed needs {needed:,} tokens ({in_words(counts)}), but the "
        f"budget is {budget:,} of a window of {window:,}. Nothing was changed. {reduce} protected memory, "
        f"shorten {ends} or tool output, or use a model with a larger context window.",
        needed=needed,
        budget=budget,
        arithmetic=counts,
    )


def in_words(parts: Mapping[str, int]) -> str:
    """What may not be removed, and the tokens of each part, for display."""
    first, *others = [f"{_PARTS.get(name, name)}: {tokens:,}" for name, tokens in parts.items()]
    return ", ".join([f"{first} tokens", *others])


def start_data(tokens: int, limits: Limits, reason: Reason) -> dict[str, Any]:
    return {
        "tokensBefore": limits.real(tokens),
        "modelLimit": limits.real(limits.window),
        "reason": "manual" if reason is Reason.MANUAL else "overflow",
    }


def overflow_data(tokens: int, limits: Limits) -> dict[str, Any]:
    percent = round(100 * tokens / limits.window, 1)
    return {
        "currentTokens": limits.real(tokens),
        "limit": limits.real(limits.window),
        "percentUsed": percent,
    }


def hopeless_data(error: Exception, items: Sequence[Item], limits: Limits) -> dict[str, Any]:
    """No retry can succeed: what may not be removed is too large."""
    return {"error": str(error), "canRetry": False, "suggestNewSession": _new_session_helps(items, limits)}


def _new_session_helps(items: Sequence[Item], limits: Limits) -> bool:
    """Whether the same system prompt and tools would fit together with the message that is to be sent.

    A message that something has answered is stored, and a new session does not send it again.
    """
    spoken = (item for item in reversed(items) if item.message.role in _SPOKEN and not item.message.is_ours)
    newest = next(spoken, None)
    is_waiting = newest is not None and newest.message.role is Role.USER
    return limits.fixed + (newest.tokens if newest is not None and is_waiting else 0) <= limits.budget


def end_event(outcome: Outcome, plan: Plan, items: Sequence[Item]) -> Emit:
    if isinstance(outcome, Failed):
        if outcome.stage is Stage.PLAN:
            return Emit(EventName.FAILED, hopeless_data(outcome.cause, items, plan.limits))
        data = {"error": str(outcome.cause), "canRetry": True, "suggestNewSession": False}
        return Emit(EventName.FAILED, data)
    if outcome == Unchanged(Reason.ABORTED):
        return Emit(
            EventName.FAILED,
            {"error": SUMMARY_NOT_UPDATED, "canRetry": True, "suggestNewSession": False},
        )
    done = outcome if isinstance(outcome, Compacted) else None
    return Emit(
        EventName.COMPLETE,
        {
            "tokensBefore": plan.limits.real(plan.before),
            "tokensAfter": plan.limits.real(done.tokens_after if done else plan.before),
            "messagesCompacted": done.record.messages_replaced if done else 0,
            "wasPruned": bool(done and _pruned(done.record)),
            "wasSummarized": bool(done and done.summary is not None),
            "summary": done.summary.text if done and done.summary else "",
        },
    )


def _pruned(record: Record) -> bool:
    """Whether outputs were cleared or shortened, or messages dropped without a summary."""
    return record.outputs_cleared > 0 or record.kind is not RecordKind.COMPACTION


def created_data(summary: Summary, replaced: Sequence[Item], request: SummaryRequest) -> dict[str, Any]:
    tokens = sum(item.tokens for item in replaced)
    data: dict[str, Any] = {
        "strategy": request.strategy,
        "input_messages": len(request.messages),
        "summary_tokens": summary.tokens,
        "compression_ratio": round(summary.tokens / tokens, 4) if tokens else 0.0,
        "survival": dict(summary.survival),
        "model": summary.model,
        "summary": summary.text,
    }
    if summary.usage is not None:
        data["usage"] = asdict(summary.usage)
    return data


def layers_data(
    job: Job, plan: Plan, items: Sequence[Item], after: int, summary: Summary | None
) -> dict[str, Any]:
    summaries = sum(1 for item in items if item.message.kind is MessageKind.SUMMARY)
    data: dict[str, Any] = {
        "pinned": len(job.system) + len(plan.leading),
        "summary": min(1, summaries),
        "recent": len(plan.recent),
        "replaced": len(plan.replaced),
        "tokens_before": plan.limits.real(plan.before),
        "tokens_after": plan.limits.real(after),
        "step": job.step,
    }
    if summary is not None and summary.survival:
        data["survival"] = dict(summary.survival)
    return data


def without_summary(job: Job, plan: Plan, problem: Refusal) -> str:
    """A warning for those who expect a summary in place of what was removed."""
    why = problem.message.partition(". ")[0].rstrip(".")
    if not plan.replaced:
        return f"No summary could be made ({why}). Old tool outputs were cleared instead."
    gone = sum(not job.items[index].message.is_ours for index in plan.replaced)
    what = "The earlier summary" if gone == 0 else "1 message" if gone == 1 else f"{gone} messages"
    return f"No summary could be made ({why}). {what} left the prompt without one."


def written_by_embedded(problem: Refusal) -> str:
    why = problem.message.partition(". ")[0].rstrip(".")
    return f"The summarizer failed ({why}). The embedded summarizer wrote this summary instead."


def error_data(error_type: str, message: str, fallback: Fallback) -> dict[str, Any]:
    return {"status": "error", "error_type": str(error_type), "message": message, "fallback": fallback.value}


def estimate_data(
    model: str, tokens: int, window: int, breakdown: Mapping[str, int], limits: Limits
) -> dict[str, Any]:
    total = tokens if limits.scale == 1.0 else limits.real(tokens)
    return {
        "model": model,
        "t_est": total,
        "max_tokens": window,
        "usage_pct": round(100 * total / window, 2),
        "breakdown": breakdown if limits.scale == 1.0 else limits.real_parts(breakdown, total),
    }


def policy_data(policy: Policy) -> dict[str, Any]:
    return {
        "trigger_pct": policy.trigger_pct,
        "hard_cap_buffer": policy.hard_cap_buffer,
        "strategy": policy.strategy,
    }


def decision_data(
    policy: Mapping[str, Any], plan: Plan | None, reason: Reason, note: str, leading: int = 0
) -> dict[str, Any]:
    """`leading` is the number of system messages before the conversation: they are pinned as well."""
    triggered = plan is not None and (plan.mode is not Mode.NONE or plan.insufficient is not None)
    data: dict[str, Any] = {
        "triggered": triggered,
        "reason": (plan.reason if plan is not None else reason).value,
        "policy": policy,
    }
    if note:
        data["note"] = note
    if plan is not None and triggered:
        data["kept"] = {
            "pinned": leading + plan.kept_counts.pinned,
            "recent_turns": plan.kept_counts.recent_turns,
            "tool_pairs": plan.kept_counts.tool_pairs,
        }
        data["pruned_count"] = len(plan.replaced) or len(plan.cleared)
    return data


def floor_sum(fixed: Mapping[str, int], pinned: int, limits: Limits) -> str:
    """The incompressible floor, as a sum that a person can check."""
    named = {"system": fixed["system"], "developer": fixed["developer"], "tools": fixed["tools_schema"]}
    shown = " + ".join(f"{name} {value:,}" for name, value in {**named, "protected": pinned}.items() if value)
    floor = sum(named.values()) + pinned
    return f"{shown} = {floor:,} tokens; trigger {limits.trigger:,}, budget {limits.budget:,}"


def taken_over_decision(record: Record, policy: Policy) -> dict[str, Any]:
    return {"triggered": True, "reason": record.reason, "policy": policy_data(policy)}


def taken_over_data(
    record: Record, limits: Limits, leading: int
) -> Iterator[tuple[EventName, dict[str, Any]]]:
    """The events of a compaction that this session shares with another session's equal history."""
    before, after = record.tokens_before, record.tokens_after
    summarized = record.kind is RecordKind.COMPACTION
    yield EventName.START, start_data(limits.ours(before), limits, Reason.OVERFLOW)
    yield (
        EventName.PRUNED_MESSAGES,
        {
            "pinned": leading,
            "summary": int(summarized),
            "recent": sum(1 for entry in record.entries if isinstance(entry, Kept)),
            "replaced": record.messages_replaced,
            "tokens_before": before,
            "tokens_after": after,
            "step": record.step,
        },
    )
    yield (
        EventName.COMPLETE,
        {
            "tokensBefore": before,
            "tokensAfter": after,
            "messagesCompacted": record.messages_replaced,
            "wasPruned": _pruned(record),
            "wasSummarized": summarized,
            "summary": record.summary if summarized else "",
        },
    )
