"""Events become spans: what belongs to a compaction stands beneath it."""

from __future__ import annotations

from compact.model.event import Event, EventName
from compact.tracing.spans import Span, Spans, iso, trace_id_of

E = EventName
ESTIMATE = (E.TOKEN_ESTIMATE, {"t_est": 9})
YES, NO = (E.TRIGGER_DECISION, {"triggered": True}), (E.TRIGGER_DECISION, {"triggered": False})
LEASE, REFUSED = (E.LEASE, {"granted": True}), (E.LEASE, {"granted": False})
START, COMPLETE = (E.START, {"tokensBefore": 9}), (E.COMPLETE, {"tokensAfter": 1})
FAILED = (E.FAILED, {"error": "x"})
SUMMARIZE, CREATED = (E.SUMMARIZE, {"messagesCount": 3}), (E.SUMMARY_CREATED, {"strategy": "brief"})
ERROR, OVERFLOW = (E.ERROR, {"message": "no"}), (E.OVERFLOW, {"limit": 5})
ARCHIVAL, PRUNED = (E.ARCHIVAL, {"path": "p"}), (E.PRUNED_MESSAGES, {"recent": 1})
PRUNE, RECALL = (E.PRUNE, {"outputsPruned": 2}), (E.RECALL, {"query": "q"})


def tree(*told: tuple[EventName, dict[str, object]]) -> list[str]:
    """The ended spans in the order in which they began: name, parent, state."""
    spans = Spans()
    seen: dict[str, Span] = {}
    for number, (name, data) in enumerate(told, 1):
        for span in spans.of(Event(name, "s", number, float(number), data, duration=0.5)):
            seen[span.id] = span
    left = spans._sessions
    return [
        f"{'  ' if span.parent else ''}{span.name.removeprefix('compact.')}"
        + (" failed" if span.failed else "")
        + (" open" if span.ended is None else "")
        for span in seen.values()
    ] + ([f"left: {list(left)}"] if left else [])


def test_a_preflight_below_the_trigger() -> None:
    assert tree(ESTIMATE, NO, ESTIMATE, NO) == ["token_estimate", "trigger_decision"] * 2


def test_a_compaction_holds_what_led_to_it_and_what_it_did() -> None:
    told = (ESTIMATE, YES, LEASE, START, SUMMARIZE, ERROR, CREATED, ARCHIVAL, PRUNE, PRUNED, COMPLETE)
    assert tree(*told, ESTIMATE, NO) == [
        "compaction",
        "  token_estimate",
        "  trigger_decision",
        "  summary_created",
        "  error failed",
        "  archival",
        "  pruned_messages",
        "token_estimate",
        "trigger_decision",
    ]


def test_a_summary_that_never_came_failed_though_the_compaction_did_not() -> None:
    assert tree(ESTIMATE, YES, LEASE, START, SUMMARIZE, ERROR, COMPLETE) == [
        "compaction",
        "  token_estimate",
        "  trigger_decision",
        "  summarize failed",
        "  error failed",
    ]
    assert tree(ESTIMATE, YES, LEASE, START, SUMMARIZE, FAILED)[0] == "compaction failed"


def test_decisions_that_led_to_nothing_leave_nothing_open() -> None:
    assert tree(ESTIMATE, YES, REFUSED)[0] == "compaction"
    assert tree(ESTIMATE, YES, LEASE, ESTIMATE, NO)[0] == "compaction"
    assert tree(ESTIMATE, YES, LEASE, ERROR, OVERFLOW) == [
        "compaction failed",
        "  token_estimate",
        "  trigger_decision",
        "  error failed",
        "  context-overflow failed",
    ]
    # The floor is over the budget: there is no decision.
    assert tree(ESTIMATE, ERROR) == ["token_estimate", "error failed"]


def test_a_preflight_of_another_thread_meanwhile_stands_beside_the_compaction() -> None:
    assert tree(ESTIMATE, YES, LEASE, START, ESTIMATE, NO, COMPLETE)[-2:] == [
        "token_estimate",
        "trigger_decision",
    ]


def test_an_end_without_a_start_and_events_of_no_compaction_are_spans_of_their_own() -> None:
    assert tree(COMPLETE, RECALL, ARCHIVAL) == ["compaction-complete", "recall", "archival"]


def test_times_come_from_the_events() -> None:
    spans = Spans()
    (span,) = spans.of(Event(E.ARCHIVAL, "s", 1, 100.0, {}, 3, 0.25))
    assert (span.started, span.ended) == (99.75, 100.0)
    assert span.data == {"sequence": 1, "step": 3, "duration_ms": 250.0}
    assert iso(0.5) == "1970-01-01T00:00:00.500000Z"


def test_a_session_has_one_trace_everywhere_and_tenants_do_not_share_it() -> None:
    assert trace_id_of("s") == trace_id_of("s") and len(trace_id_of("\ud800")) == 32
    assert len({trace_id_of("s"), trace_id_of("t"), trace_id_of("s", "acme")}) == 3
