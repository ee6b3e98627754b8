"""A store is opened by the scheme of its URL: from the table, or from an installed package."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.cli import main
from compact.console.exits import ExitCode
from compact.errors import ConfigError
from compact.stores import SCHEMES, open_store, store_at
from compact.stores.memory import MemoryStore
from support.cli import Compact, Ended
from support.raw import pairs, user

TALK = [*pairs(2), user("the newest")]


class Shelf(MemoryStore):
    """A store that lives as long as the test, at shelf://NAME."""

    def close(self) -> None:
        self.closed = True


class Smallest:
    """The methods of the `Store` port and no more."""

    def __init__(self, url: str, tenant: str) -> None:
        kept = MemoryStore()
        self.append, self.originals, self.find = kept.append, kept.originals, kept.find
        self.commit, self.records, self.lease = kept.commit, kept.records, kept.lease


class Offered(dict[str, Any]):
    """Stands for the entry points of installed packages."""

    @property
    def names(self) -> set[str]:
        return set(self)


class EntryPoint:
    def __init__(self, made: Callable[[str, str], Any]) -> None:
        self.load = lambda: made


@pytest.fixture
def compact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compact:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # The studio keeps its sessions there.

    def run(*argv: str) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        code = main(argv, stdin=io.StringIO(), stdout=out, stderr=err, environ={})
        return Ended(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    store = Shelf()
    offered = Offered(shelf=EntryPoint(lambda url, tenant: store), smallest=EntryPoint(Smallest))
    monkeypatch.setattr("compact.stores.entry_points", lambda group: offered)
    return store


def test_programs_and_commands_open_a_store_that_a_package_offers(shelf: Shelf, compact: Compact) -> None:
    config = CompactConfig(storage={"url": "shelf://one"}, archive={"adapter": "none"}, counter="chars4")
    with CompactManager(config) as manager:
        manager.preflight("talk", TALK)
    assert "talk  5 messages" in compact("history", "--store", "shelf://one").out and shelf.closed
    assert '"position"' in compact("recall", "talk", "newest", "--json", "--store", "shelf://one").out
    assert (
        "There is no session 'walk' in shelf://one"
        in compact("history", "walk", "--store", "shelf://one").err
    )


def test_the_doctor_takes_every_scheme_that_can_be_opened(shelf: Shelf, compact: Compact) -> None:
    for url, code in (("shelf://one", ExitCode.OK), ("cupboard://one", ExitCode.FINDINGS)):
        ended = compact("doctor", "--offline", "--set", f"storage.url={url}")
        assert ended.code == code, ended.out
    assert "must begin with sqlite:// or postgresql:// or shelf:// or smallest://" in " ".join(
        ended.out.split()
    )


def test_a_store_for_programs_serves_no_door(shelf: Shelf, compact: Compact) -> None:
    assert isinstance(store_at("smallest://one"), Smallest)
    with pytest.raises(ConfigError, match=r"serves programs only: .* session, sessions, .*, close"):
        open_store("smallest://one")
    ended = compact("history", "--store", "smallest://one")
    assert ended.code == ExitCode.USAGE and "serves programs only" in ended.err


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_in_the_table_can_be_opened(scheme: str) -> None:
    from compact.stores import check_url

    driver, place = ("pysqlite", "/name.db") if scheme == "sqlite" else ("driver", "host/name")
    check_url(f"{scheme}://{place}")
    check_url(f"{scheme}+{driver}://{place}")
