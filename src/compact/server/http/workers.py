"""Several processes on one socket and one PostgreSQL, supervised by this one."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from compact.errors import ConfigError
from compact.server.http.running import bound, url_of

_LOOK_SECONDS = 0.2
# One that keeps dying right away has a reason that another start does not fix.
_SHORT_LIFE = 2.0
_MOST_SHORT_LIVES = 5


Serve = Callable[[socket.socket, Callable[[str], None]], None]
"""Serves on a socket until interrupted; calls what it gets once requests are answered."""


def check_workers(workers: int, store: str) -> None:
    """ConfigError if that many processes cannot share the database."""
    if workers > 1 and store.startswith("sqlite"):
        raise ConfigError(
            f"--workers {workers} needs PostgreSQL; {store.partition(':')[0]} serves one process. "
            "Nothing was started: name a database with --store postgresql://…, or use one worker.",
            "workers",
        )


def serve_with(
    serve: Serve, workers: int, host: str, port: int, stop_seconds: float, ready: Callable[[str], None]
) -> None:
    """Serves with that many processes until it is interrupted; `ready` gets the URL.

    `serve` is sent to them, so it has to be a function of a module, or a partial of one.
    """
    with bound(host, port) as listening:
        _Pool(serve, listening, workers, stop_seconds).run(lambda: ready(url_of(host, listening)))


class _Pool:
    def __init__(self, serve: Serve, listening: socket.socket, count: int, stop_seconds: float) -> None:
        self._serve = serve
        self._stop_seconds = stop_seconds
        self._listening = listening
        self._count = count
        # A fork would share threads' locks and open connections.
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[tuple[BaseProcess, Any, float]] = []
        self._stopping = False
        self._short_lives = 0

    def run(self, ready: Callable[[], None]) -> None:
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for _ in range(self._count):
                self._start()
            self._wait_until_up()
            if not self._stopping:
                ready()
            while not self._stopping:
                self._replace_dead()
                time.sleep(_LOOK_SECONDS)
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _start(self) -> None:
        up = self._context.Event()
        worker = self._context.Process(
            target=_work, args=(self._serve, self._listening, up), name="compact-worker"
        )
        worker.start()
        self._workers.append((worker, up, time.monotonic()))

    def _wait_until_up(self) -> None:
        for worker, up, _ in self._workers:
            while not self._stopping and not up.wait(_LOOK_SECONDS):
                if not worker.is_alive():
                    self._stopping = True
                    raise ConfigError("A worker process did not start; see its messages above.", "workers")

    def _replace_dead(self) -> None:
        for entry in list(self._workers):
            worker, _, started = entry
            if worker.is_alive():
                continue
            self._workers.remove(entry)
            self._short_lives += time.monotonic() - started < _SHORT_LIFE
            if self._short_lives > _MOST_SHORT_LIVES:
                self._stopping = True
                raise ConfigError("Worker processes end right after their start; see above.", "workers")
            self._start()

    def _end_all(self) -> None:
        for worker, _, _ in self._workers:
            worker.terminate()
        ends = time.monotonic() + self._stop_seconds + 10
        for worker, _, _ in self._workers:
            worker.join(max(0.1, ends - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(serve: Serve, listening: socket.socket, up: Any) -> None:
    """One worker: ends by itself on a signal."""
    # Ctrl-C in the terminal reaches all processes; the parent passes it on when it is ready.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(listening, lambda _: up.set())
