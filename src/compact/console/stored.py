"""What the commands on stored sessions share: the database, and a manager on it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from compact.console.context import Context
from compact.console.options import add_settings
from compact.errors import ConfigError, NotFound, StoreError

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.manager import CompactManager
    from compact.ports import DoorStore
    from compact.redaction import Redactor

DEFAULT_URL = "sqlite:///.compact/sessions.db"


def add_store(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="URL", help=f"session database (default: storage.url, else {DEFAULT_URL})"
    )
    add_settings(parser)


@contextmanager
def opened(context: Context, create: bool = False) -> Iterator[DoorStore]:
    """The store; a missing one is created only by commands that write to it."""
    from compact.stores import open_store

    config = context.config()
    url = store_url(context, config)
    if not create:
        _there(url)
    with closing(open_store(url, config.tenant)) as store:
        yield store


def store_url(context: Context, config: CompactConfig) -> str:
    """The requested database; for a bare file name, the error shows the URL to use."""
    url: str | None = context.args.store
    if url is None:
        return config.storage.url or DEFAULT_URL
    if "://" not in url:
        # A word with an @ in it may be an address with a password.
        shown, file = ("", "sessions.db") if "@" in url or not url else (f" {url!r}", url)
        raise ConfigError(f"--store{shown} is not a database URL; try --store sqlite:///{file}", "store")
    from compact.stores import check_url

    check_url(url, "--store")
    return url


def shown_url(url: str) -> str:
    """The URL for display, without its password."""
    scheme, found, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    name, password, _ = user.partition(":")
    return f"{scheme}{found}{name}{':***' if password else ''}{at}{place}"


def manager_on(context: Context, store: DoorStore) -> CompactManager:
    """A manager for reading and restoring; it never compacts, so it needs no archive."""
    from compact.archives.memory import MemoryArchive
    from compact.manager import CompactManager

    return CompactManager(context.config(), store=store, archive=MemoryArchive())


def redactor_of(context: Context) -> Redactor:
    """Redacts whatever leaves a store; if redaction is off, it warns first."""
    from compact.wiring import redactor_for

    redactor = redactor_for(context.config())
    if warning := redactor.warning_when_disabled():
        context.warn(warning)
    return redactor


def known(context: Context, store: DoorStore, session_id: str) -> str:
    """The id, if the store has this session."""
    if store.session(session_id) is None:
        names = ", ".join(thread.session_id for thread in store.sessions(5)) or "none"
        place = shown_url(store_url(context, context.config()))
        raise NotFound(f"There is no session {session_id!r} in {place}. The newest are: {names}.")
    return session_id


def _there(url: str) -> None:
    from pathlib import Path

    path = url.removeprefix("sqlite:///")
    if url.startswith("sqlite:///") and not Path(path).exists():
        raise StoreError(
            f"There is no session store at {path}. `compact chat`, `compact import` or a program with "
            "storage.url creates one; --store names one elsewhere."
        )
