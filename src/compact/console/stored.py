"""What the commands on stored sessions share: the database, and a manager on it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compact.console.context import Context
from compact.console.folders import STUDIO_DATABASE, data_folder
from compact.console.options import add_settings
from compact.errors import ConfigError, NotFound, StoreError

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.manager import CompactManager
    from compact.ports import DoorStore
    from compact.redaction import Redactor

DEFAULT_URL = "sqlite:///.compact/sessions.db"


def add_store(parser: ArgumentParser, creates: bool = False) -> None:
    """`creates`: the command writes to one database, instead of looking for the session in two."""
    default = f"storage.url, else {DEFAULT_URL}" + ("" if creates else " and the studio's")
    parser.add_argument("--store", metavar="URL", help=f"session database (default: {default})")
    add_settings(parser)


@contextmanager
def created(context: Context) -> Iterator[DoorStore]:
    """The store that a command writes to; a missing one is created."""
    from compact.stores import open_store

    config = context.config()
    with closing(open_store(store_url(context, config), config.tenant)) as store:
        yield store


@contextmanager
def holding(context: Context, session_id: str) -> Iterator[DoorStore]:
    """The store that has this session: of those that exist, the first one."""
    newest: list[str] = []
    places = existing(context)
    # One after the other: a store that cannot be opened is no obstacle if the session is in the one before.
    for url in places:
        with opened(context, url) as store:
            if store.session(session_id) is not None:
                yield store
                return
            newest += [thread.session_id for thread in store.sessions(5)]
    looked = " and ".join(shown_url(url) for url in places)
    raise NotFound(
        f"There is no session {session_id!r} in {looked}. The newest are: {', '.join(newest) or 'none'}."
    )


@contextmanager
def opened(context: Context, url: str) -> Iterator[DoorStore]:
    from compact.stores import open_store

    with closing(open_store(url, context.config().tenant)) as store:
        yield store


def existing(context: Context) -> list[str]:
    """Where sessions are looked for: the database that was named, else the terminal's and the studio's."""
    config = context.config()
    first = store_url(context, config)
    named = context.args.store is not None or config.storage.url is not None
    looked = [first] if named else [first, f"sqlite:///{data_folder(context.environ) / STUDIO_DATABASE}"]
    found = [url for url in looked if _is_there(url)]
    if not found:
        places = " or ".join(url.removeprefix("sqlite:///") for url in looked)
        raise StoreError(
            f"There is no session store at {places}. `compact chat`, `compact studio`, `compact import` or a "
            "program with storage.url creates one; --store names one elsewhere."
        )
    return found


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
    from compact.wiring.adapters import redactor_for

    redactor = redactor_for(context.config())
    if warning := redactor.warning_when_disabled():
        context.warn(warning)
    return redactor


def _is_there(url: str) -> bool:
    return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()
