"""Conversations on a store in memory or on disk, with a model that follows a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from compact.chat import Chats
from compact.config import CompactConfig
from compact.stores import open_store
from support.scripted_model import ScriptedModel, Step

MakeChats = Callable[..., Chats]


@pytest.fixture
def make_chats(tmp_path: Path) -> Iterator[MakeChats]:
    """Chats on one SQLite file; the model answers by the script."""
    store = open_store(f"sqlite:///{tmp_path}/sessions.db")
    made: list[Chats] = []

    def make(script: Sequence[Step] = (), config: CompactConfig | None = None, **options: Any) -> Chats:
        model = options.pop("model", None) or ScriptedModel(script)
        base = config or CompactConfig(counter="chars4", archive={"adapter": "none"})
        chats = Chats(base, options.pop("store", store), lambda name: model, **options)
        made.append(chats)
        return chats

    yield make
    for chats in made:
        chats.close()
    store.close()
