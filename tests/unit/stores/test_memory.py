"""The store in memory holds what its sessions hold, and nothing of those that are gone."""

from __future__ import annotations

from compact.stores.memory import MemoryStore
from support.raw import Desk, pairs, user


def test_a_forgotten_session_leaves_nothing_behind() -> None:
    store = MemoryStore()
    desk = Desk("budget", store=store)
    desk.preflight([*pairs(40), user("question 41")])
    assert store._by_handle and store._by_key
    desk.manager.delete("s")
    left = {name: held for name, held in vars(store).items() if isinstance(held, dict) and held}
    assert not left
