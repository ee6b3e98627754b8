"""What a racing process runs, in a module that a spawned process can import."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from compact.model.summary import SummaryRequest
from compact.stores import open_store
from compact.testing.scripted import EchoSummarizer
from support.raw import Desk, pairs, user

OVER = [*pairs(40), user("the newest")]
"""Twice the window of 2,000: no caller can avoid the compaction."""


class SlowSummarizer:
    """Gives the others time to arrive, and leaves a mark for each call."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks
        self._echo = EchoSummarizer()

    def summarize(self, request: SummaryRequest) -> str:
        with self._marks.open("a") as file:
            file.write("x")
        time.sleep(0.3)
        return self._echo.summarize(request)


def compacts(url: str, marks: Path, ready: Callable[[], Any], answers: Any) -> None:
    with open_store(url) as store:
        desk = Desk("chat", 2_000, SlowSummarizer(marks), store=store)
        ready()
        answers.put(desk.prepare(OVER, wait=60).messages)


def in_process(url: str, marks: Path, barrier: Barrier, answers: Any) -> None:
    compacts(url, marks, barrier.wait, answers)
