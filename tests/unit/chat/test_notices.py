"""What a conversation reports of compactions."""

from __future__ import annotations

from compact.chat.notices import Notices
from compact.model.event import Event, EventName


def heard(name: EventName, step: int, **data: object) -> Event:
    return Event(name, "s", 0, 0.0, data, step)


def test_the_words_of_a_compaction_that_was_not_reported_do_not_name_the_next_one() -> None:
    notices = Notices()
    notices.hear(heard(EventName.START, 1))
    notices.hear(heard(EventName.WARNING, 1, message="Context trimmed. Kept first 2 and last 10 turns."))
    notices.hear(heard(EventName.START, 2))
    (said,) = notices.compacted(2_000, 500, is_first_trim=False)
    assert said.text == "Context compacted: 2,000 → 500 tokens."
