"""One compaction, one set of figures: events, record, archive and result agree, also after `observe`."""

from __future__ import annotations

from threading import Thread

import pytest

from compact import CompactConfig, CompactManager
from compact.model.event import Event, EventName
from compact.tracing.stream import Immediate
from support.raw import Desk, pairs, protected, system, user

HISTORY = [
    system(),
    {"role": "developer", "content": "in verse"},
    *pairs(2),
    protected(user("keep this", 20)),
    *pairs(30),
    user("new"),
]


@pytest.mark.parametrize("scale", [1.0, 1.37, 0.9])
def test_figures_agree_after_the_provider_corrected_the_estimate(scale: float) -> None:
    desk = Desk(window=4_000)
    start = HISTORY[:42]
    desk.preflight(start)
    desk.manager.observe("s", start, round(desk.tokens(start) * scale))
    prepared = desk.prepare([*HISTORY, *pairs(8, first=90), user("last")])
    record = prepared.record
    assert record is not None and prepared.was_compacted
    figures = {(prepared.tokens.before, prepared.tokens.final), (record.tokens_before, record.tokens_after)}
    transcript = desk.archive.transcripts["s", 1]
    figures.add((transcript.tokens_before, transcript.tokens_after))
    (done,), (layers,) = desk.events(EventName.COMPLETE), desk.events(EventName.PRUNED_MESSAGES)
    figures.add((done.data["tokensBefore"], done.data["tokensAfter"]))
    figures.add((layers.data["tokens_before"], layers.data["tokens_after"]))
    assert len(figures) == 1
    estimate = desk.events(EventName.TOKEN_ESTIMATE)[-1].data
    assert estimate["t_est"] == prepared.tokens.before == desk.events(EventName.START)[0].data["tokensBefore"]
    # The parts leave out only what opens the reply.
    assert estimate["t_est"] - sum(estimate["breakdown"].values()) in range(5)
    usage = desk.manager.usage("s", [*HISTORY, *pairs(8, first=90), user("last")])
    assert usage.tokens == prepared.tokens.final
    assert sum(value for name, value in usage.breakdown.items() if name != "free") == usage.tokens


def test_what_is_pinned_counts_the_system_messages() -> None:
    desk = Desk(window=4_000)
    desk.preflight([*HISTORY, *pairs(8, first=90), user("last")], system="Be kind.")
    (layers,) = desk.events(EventName.PRUNED_MESSAGES)
    decision = desk.events(EventName.TRIGGER_DECISION)[-1]
    assert layers.data["pinned"] == decision.data["kept"]["pinned"] == 4


def test_whoever_hears_of_a_compaction_finds_it_in_force() -> None:
    seen: list[str | None] = []

    def look(event: Event) -> None:
        if event.name == EventName.COMPLETE:
            # Another thread, as a page that asks: it waits for nobody.
            asking = Thread(target=lambda: seen.append(in_force()))
            asking.start()
            asking.join(10)

    def in_force() -> str | None:
        record = manager.usage("s", HISTORY).record
        return record.id if record is not None else None

    config = CompactConfig(max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"})
    manager = CompactManager(config, exporters=[Immediate(look)])
    prepared = manager.prepare("s", HISTORY)
    assert prepared.record is not None
    assert seen == [prepared.record.id]
