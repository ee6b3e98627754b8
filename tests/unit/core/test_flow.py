"""The flow, driven by hand: what it asks for, in which order, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compact.core.flow import compaction
from compact.core.job import Emit, Job, NeedArchive, NeedCommit, NeedSummary, Refusal
from compact.core.plan import make_plan
from compact.core.summarizing import previous_summary
from compact.core.view import chain
from compact.errors import ArchiveError, InsufficientBudget
from compact.model.event import EventName, Reason
from compact.model.message import Message, Role, Text
from compact.model.outcome import Compacted, Failed, Outcome, Stage, Unchanged
from compact.model.plan import Plan
from compact.model.record import Injected
from compact.model.summary import Summary
from support.conversations import message, result, user
from support.views import SIZES, limits, policy, size, step, summary, turn, turns, view

TEXT = "They agreed on the plan."


def job(messages: list[Message], window: int = 600, **changes: Any) -> Job:
    numbers = policy(**{"hard_cap_buffer": 0, "output_reserve": 0} | changes)
    originals = [m for m in messages if not m.is_ours]
    return Job(
        session_id="s",
        items=view(messages),
        length=len(originals),
        source_at=lambda n: chain(originals[:n]),
        original_at=lambda n: originals[n] if n < len(originals) else None,
        base=None,
        policy=numbers,
        limits=limits(window),
        sizes=SIZES,
        size_of=size,
        provider="openai",
        record_id="mine",
        now=5.0,
        step=1,
    )


def plan_for(work: Job, reason: Reason = Reason.OVERFLOW) -> Plan:
    return make_plan(work.items, work.limits, work.policy, work.sizes, reason)


class Driver:
    """Answers needs from a script; `asked` is what was asked for, in order."""

    def __init__(self, *answers: Any, archive: Any = "memory:1", commit: Any = None) -> None:
        self.answers = list(answers)
        self.archive, self.commit = archive, commit
        self.asked: list[Any] = []

    def run(self, work: Job, plan: Plan | None = None) -> Outcome:
        flow = compaction(work, plan or plan_for(work))
        answer: Any = None
        while True:
            try:
                need = flow.send(answer)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            self.asked.append(need)
            match need:
                case NeedSummary():
                    answer = self.answers.pop(0)
                case NeedArchive():
                    answer = self.archive
                case NeedCommit(record=record):
                    answer = self.commit or record
                case _:
                    answer = None

    @property
    def shape(self) -> list[str]:
        return [need.name.value if isinstance(need, Emit) else type(need).__name__ for need in self.asked]

    def of(self, kind: Any) -> list[Any]:
        return [need for need in self.asked if isinstance(need, kind)]


def test_archive_then_commit_then_adopt() -> None:
    driver = Driver(Summary(TEXT))
    outcome = driver.run(job(turns(30)))
    assert isinstance(outcome, Compacted)
    assert driver.shape == [
        "compaction-start",
        "compaction-summarize",
        "NeedSummary",
        "compact.summary_created",
        "compaction-check",
        "NeedArchive",
        "NeedCommit",
        "compact.pruned_messages",
        "compaction-complete",
    ]
    assert outcome.tokens_after == sum(item.tokens for item in outcome.items)


def test_the_record_names_what_it_replaced_and_by_what() -> None:
    messages = turns(30)
    outcome = Driver(Summary(TEXT)).run(job(messages))
    assert isinstance(outcome, Compacted)
    record = outcome.record
    assert record.source_length == 48 and record.source == chain(messages[:48])
    assert record.output == chain(item.message for item in outcome.items[: len(record.entries)])
    assert all(isinstance(entry, Injected) for entry in record.entries)
    assert (record.version, record.messages_replaced, record.summary, record.created_at) == (1, 48, TEXT, 5.0)
    # The kept tail is no part of it, so that a retry with another tail still finds it.
    assert [item.message for item in outcome.items[len(record.entries) :]] == messages[48:]


def test_nothing_happens_without_reason() -> None:
    driver = Driver()
    assert driver.run(job(turns(2))) == Unchanged(Reason.NOTHING_TO_SHRINK)
    assert driver.asked == []


@pytest.mark.parametrize(("answers", "strategies"), [(1, ["task_state"]), (2, ["task_state", "brief"])])
def test_a_refusal_asks_for_brief_once(answers: int, strategies: list[str]) -> None:
    refused = [Refusal("refusal", "no") if answers == 2 else Refusal("empty", "nothing")] * answers
    driver = Driver(*refused)
    driver.run(job(turns(30)))
    assert [need.request.strategy for need in driver.of(NeedSummary)] == strategies
    errors = [told for told in driver.of(Emit) if told.name is EventName.ERROR]
    assert errors[-1].data["fallback"] == "pruning-only"


def test_too_long_is_halved_twice() -> None:
    driver = Driver(Summary("x" * 5_000), Summary("x" * 5_000), Summary("x" * 5_000))
    outcome = driver.run(job(turns(30)))
    asked = [need.request.max_tokens for need in driver.of(NeedSummary)]
    assert asked == [asked[0], asked[0] // 2, asked[0] // 4]
    assert isinstance(outcome, Compacted) and outcome.summary is None


def test_a_summary_that_makes_nothing_smaller_is_refused_and_told() -> None:
    driver = Driver(Summary(TEXT))
    work = replace(job(turns(30), window=6_000), size_of=lambda message: 9_000)
    assert driver.run(work, plan_for(work, Reason.MANUAL)) == Unchanged(Reason.NOT_SMALLER)
    (refused,) = (need for need in driver.of(Emit) if need.name is EventName.ERROR)
    assert refused.data["error_type"] == "not-smaller" and refused.data["fallback"] == "none"
    assert driver.of(NeedArchive) == driver.of(NeedCommit) == []


def test_where_the_archive_cannot_be_written_nothing_is_committed() -> None:
    cause = ArchiveError("disk full")
    driver = Driver(Summary(TEXT), archive=Refusal("ArchiveError", "disk full", cause))
    outcome = driver.run(job(turns(30)))
    assert outcome == Failed(Stage.ARCHIVE, cause)
    assert driver.of(NeedCommit) == [] and driver.shape[-1] == "compaction-error"


def test_a_commit_that_fails_leaves_the_session_as_it_was() -> None:
    driver = Driver(Summary(TEXT), commit=Refusal("StoreError", "locked"))
    outcome = driver.run(job(turns(30)))
    assert isinstance(outcome, Failed) and outcome.stage is Stage.COMMIT


def test_the_loser_of_a_race_uses_the_winners_record() -> None:
    work = job(turns(30))
    mine = Driver(Summary(TEXT)).run(work)
    assert isinstance(mine, Compacted)
    theirs = Driver(Summary("Another summary of the same.")).run(replace(work, record_id="theirs"))
    assert isinstance(theirs, Compacted)
    outcome = Driver(Summary(TEXT), commit=theirs.record).run(work)
    assert isinstance(outcome, Compacted) and outcome.record is theirs.record
    assert [i.message.digest for i in outcome.items] == [i.message.digest for i in theirs.items]


def test_a_compaction_within_its_parents_span_has_a_key_of_its_own() -> None:
    old_steps = [m for n in range(4) for m in step(n)]
    work = job([*turn(1, *old_steps), *turns(20)], window=800, keep_recent_turns=1)
    first = Driver(Summary(TEXT)).run(work)
    assert isinstance(first, Compacted) and len(first.record.entries) > 4
    # Nothing new arrived, and the same view must shrink further: older steps go that the first one kept.
    again = replace(work, items=first.items, base=first.record, record_id="second", limits=limits(450))
    second = Driver(Summary("Shorter.")).run(again, plan_for(again, Reason.MANUAL))
    assert isinstance(second, Compacted) and second.record.source == first.record.source
    assert second.record.parent == "mine" and second.record.version == 2
    keys = {(r.source, r.policy_hash, r.revision) for r in (first.record, second.record)}
    assert len(keys) == 2


def test_what_may_not_go_into_a_request() -> None:
    pinned = message(Role.USER, Text("rule"), protected=True)
    empty = message(Role.ASSISTANT, error="overloaded")
    driver = Driver(Summary(TEXT))
    driver.run(job([summary(), pinned, user("a"), empty, *turns(30)]))
    (need,) = driver.of(NeedSummary)
    texts = [m.text for m in need.request.messages]
    assert texts[:2] == ["a", "question 1"] and "rule" not in texts
    assert need.request.previous_summary == "earlier work"
    assert need.request.positions[:2] == (1, 3)


def test_the_earlier_summary_is_read_without_its_delimiters() -> None:
    assert previous_summary(view([summary()])) == "earlier work"
    assert previous_summary(view(turns(1))) is None


def test_insufficient_budget_is_an_outcome_with_events() -> None:
    driver = Driver()
    outcome = driver.run(job([user("x" * 900)]))
    assert isinstance(outcome, Failed) and isinstance(outcome.cause, InsufficientBudget)
    assert driver.shape == [
        EventName.START.value,
        EventName.ERROR.value,
        EventName.OVERFLOW.value,
        EventName.FAILED.value,
    ]
    assert driver.asked[2].data == {"currentTokens": 900, "limit": 600, "percentUsed": 150.0}


def test_a_view_that_the_provider_would_refuse_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    import compact.core.flow as flow

    def broken(order: Any, *rest: Any) -> Any:
        return view([user("q"), result("lost", "an orphan")])

    monkeypatch.setattr(flow, "build", broken)
    driver = Driver(Summary(TEXT))
    outcome = driver.run(replace(job(turns(30)), provider="anthropic"))
    assert isinstance(outcome, Failed) and outcome.stage is Stage.CHECK
    assert driver.of(NeedArchive) == []
