"""Stores of every kind, opened as often as a test needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compact.stores import open_store
from compact.stores.memory import MemoryStore

Opener = Callable[[], Any]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> Iterator[Opener]:
    """Opens the same store again, as another process would; in memory there is only one."""
    if request.param == "memory":
        store = MemoryStore()
        yield lambda: store
        return
    url, made = new_database(request.param), []

    def another() -> Any:
        made.append(open_store(url))
        return made[-1]

    yield another
    for one in made:
        one.close()
