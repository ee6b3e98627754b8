"""Figures are counted once for each state of a session."""

from __future__ import annotations

from pathlib import Path

from compact.chat.chats import Chats
from compact.server.studio.figures import KnownFigures, figures_of
from compact.stores import open_store
from support.studio import RuleModel, config


def test_figures_are_counted_again_only_when_the_session_changed(tmp_path: Path) -> None:
    model = RuleModel()
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        chats = Chats(config(), store, lambda _: model)
        conversation, known = chats.open("figures", preset="chat"), KnownFigures()
        for number in range(10):
            list(conversation.send(f"Message {number}: we take roof {number}, since it is dry. " * 10))
        first = known.of(conversation)
        assert first == figures_of(conversation)
        assert known.of(conversation) is first
        list(conversation.send("And now?"))
        after_a_turn = known.of(conversation)
        assert after_a_turn.totals.turns == first.totals.turns + 1
        conversation.compact()
        compacted = known.of(conversation)
        assert compacted.totals.compactions == 1 and known.of(conversation) is compacted
        assert conversation.undo() is not None
        assert known.of(conversation).totals.compactions == 0
        chats.close()


def test_the_figures_of_few_sessions_are_kept(tmp_path: Path) -> None:
    model = RuleModel()
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        chats = Chats(config(), store, lambda _: model)
        one, other, known = chats.open("one"), chats.open("other"), KnownFigures(most=1)
        first = known.of(one)
        known.of(other)
        assert known.of(one) is not first
        chats.close()


def test_only_the_newest_compactions_are_measured(tmp_path: Path) -> None:
    """Each means a search through all that was said: a session of 140 compactions took half a minute."""
    model = RuleModel()
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        chats = Chats(config(), store, lambda _: model)
        conversation = chats.open("long", preset="chat")
        for number in range(28):
            list(conversation.send(f"Message {number}: we take roof {number}, since it is dry. " * 10))
            if number > 3 and number % 4 == 3:
                conversation.compact()
        found = figures_of(conversation)
        steps = [record.step for record in conversation.log.standing_records()]
        assert found.totals.compactions == len(steps) == 6
        assert [one.step for one in found.survival] == steps[-5:]
        chats.close()
