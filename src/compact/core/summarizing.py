"""Ask for the summary of a compaction, and what follows if it cannot be had.

Too long → halved, at most twice; refused → `brief`; then the embedded summarizer, if it follows the one
called; then none, and the flow goes on without. Repeated requests, cached prompts, pieces and lists of
summarizers are below it, in `summarizers/`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from compact.core.event_data import created_data, error_data, written_by_embedded
from compact.core.job import Emit, Job, Need, NeedSummary, Refusal
from compact.core.render import is_empty_failure
from compact.core.view import Item
from compact.model.event import EventName, Fallback
from compact.model.message import MessageKind
from compact.model.plan import Plan
from compact.model.summary import EMBEDDED, RefusalReason, Summary, SummaryRequest


def summarize(job: Job, plan: Plan) -> Generator[Need, Any, tuple[Summary | Refusal, tuple[str, ...]]]:
    """The summary, or why there is none, and what a person should know about how it was made."""
    strategy, allowance, halved, embedded = plan.strategy, plan.summary_tokens, 0, False
    steps_down: tuple[str, ...] = ()
    replaced = [job.items[index] for index in plan.replaced]
    if job.staged is not None:
        request = _request(job, replaced, strategy, allowance)
        yield Emit(EventName.SUMMARY_CREATED, created_data(job.staged, replaced, request))
        return job.staged, ()
    while True:
        request = _request(job, replaced, strategy, allowance)
        if embedded:
            request = replace(request.without_prefix(), embedded=True)
        answer = yield NeedSummary(request)
        problem = answer if isinstance(answer, Refusal) else _problem(answer, job, allowance)
        if problem is None:
            summary: Summary = answer
            yield Emit(EventName.SUMMARY_CREATED, created_data(summary, replaced, request))
            return summary, steps_down
        fallback = Fallback.PRUNING_ONLY
        if problem.reason == RefusalReason.TOO_LONG and halved < 2 and not embedded:
            fallback, allowance, halved = Fallback.HALVE, max(allowance // 2, 1), halved + 1
        elif problem.reason == RefusalReason.REFUSAL and strategy != "brief" and not embedded:
            fallback, strategy = Fallback.BRIEF, "brief"
        elif job.policy.on_summary_failure == "keep" and plan.before <= plan.limits.budget:
            fallback = Fallback.KEEP_PREVIOUS
        elif job.embedded_fallback and not embedded:
            fallback, embedded = Fallback.EMBEDDED, True
            strategy, allowance = plan.strategy, plan.summary_tokens
            steps_down = (written_by_embedded(problem),)
        yield Emit(EventName.ERROR, error_data(problem.reason, problem.message, fallback))
        if fallback in (Fallback.PRUNING_ONLY, Fallback.KEEP_PREVIOUS):
            return problem, steps_down


def _request(job: Job, replaced: Sequence[Item], strategy: str, allowance: int) -> SummaryRequest:
    """What the summarizer sees: nothing protected, no bridges, no empty failures (S2.11)."""
    span = [item for item in replaced if item.position is not None and not is_empty_failure(item.message)]
    previous = previous_summary(replaced)
    request = SummaryRequest(
        messages=tuple(job.in_full(item) for item in span),
        prompt="",
        max_tokens=allowance,
        strategy=strategy,
        previous_summary=previous,
        positions=tuple(item.position or 0 for item in span),
        previous_evidence=job.ledger,
        focus=job.note,
    )
    sent = job.sent
    if sent is None or job.sizes.of_text(job.note) + allowance > sent.room:
        return request
    return replace(request, prefix_messages=sent.messages, prefix_tools=sent.tools, prefix_system=sent.system)


def previous_summary(items: Sequence[Item]) -> str | None:
    """The prose of the summary in these items, without its delimiters."""
    texts = [
        item.message.text.split("\n", 1)[-1].rsplit("\n", 1)[0]
        for item in items
        if item.message.kind is MessageKind.SUMMARY
    ]
    return "\n\n".join(texts) or None


def _problem(answer: Summary, job: Job, allowance: int) -> Refusal | None:
    text = answer.text.strip()
    if not text:
        return Refusal(RefusalReason.EMPTY, "the summarizer returned nothing")
    if answer.model != EMBEDDED and len(text) < job.policy.summary_min_chars:
        return Refusal(RefusalReason.TOO_SHORT, f"the summary has {len(text)} characters")
    size = job.sizes.of_text(answer.text)
    if size > allowance:
        return Refusal(RefusalReason.TOO_LONG, f"the summary has {size} tokens, {allowance} were allowed")
    return None


def draft(job: Job, plan: Plan) -> Generator[Need, Any, Summary | None]:
    """The summary of an upcoming compaction; None if there is none to be had.

    Only failures are reported; a compaction that uses the summary reports it.
    """
    asking = summarize(job, plan)
    answer: Any = None
    while True:
        try:
            need = asking.send(answer)
        except StopIteration as done:
            made, _ = done.value
            return made if isinstance(made, Summary) else None
        created = isinstance(need, Emit) and need.name is EventName.SUMMARY_CREATED
        answer = None if created else (yield need)
