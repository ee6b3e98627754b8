"""Holds a session's lease until it is killed. Run as `python -m support.lease_holder URL SESSION SECONDS`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compact.stores import open_store

TESTS = Path(__file__).parents[1]


@contextmanager
def held_elsewhere(url: str, session: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease inside the block; kill it to see what happens then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "support.lease_holder", url, session, str(seconds)],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "True\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    with open_store(sys.argv[1]).lease(sys.argv[2], float(sys.argv[3])) as granted:
        print(granted, flush=True)
        time.sleep(600)
