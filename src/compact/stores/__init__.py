"""Where sessions are kept: originals and records, behind the Store port."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from compact.errors import ConfigError, MissingExtra
from compact.ports import DoorStore, Store, missing_methods

if TYPE_CHECKING:
    from compact.config import CompactConfig

SCHEMES = {
    "sqlite": ("sql", "SqlStore"),
    "postgresql": ("sql", "SqlStore"),
    "postgres": ("sql", "SqlStore"),
}
"""Which class opens a URL, as `Class(url, tenant)`. Its `check_url(url)`, if any, can reject one first."""
ENTRY_POINTS = "compact.stores"
"""The entry point group for stores in installed packages: scheme = "module:StoreClass"."""


def open_store(url: str, tenant: str = "default", **options: Any) -> DoorStore:
    """The store at a URL, for a front door; its tables are created or migrated."""
    store: DoorStore = store_at(url, tenant, **options)
    if missing := missing_methods(store, DoorStore):
        raise ConfigError(
            f"{type(store).__name__} serves programs only: chats, servers and commands also need "
            f"{', '.join(missing)} (see compact.ports.DoorStore).",
            "storage.url",
        )
    return store


def store_at(url: str, tenant: str = "default", **options: Any) -> Any:
    """The store at a URL, whatever its features."""
    return _class_for(url)(url, tenant, **options)


def check_url(url: str, setting: str = "storage.url") -> None:
    """Raise ConfigError if no store can be at this URL; nothing is opened."""
    check = getattr(_class_for(url, setting), "check_url", None)
    if check is not None:
        check(url)


def store_for(config: CompactConfig) -> Store:
    """The store that the settings name; without one, sessions are in memory until the process ends."""
    if config.storage.url is None:
        from compact.stores.memory import MemoryStore

        return MemoryStore()
    store: Store = store_at(config.storage.url, config.tenant)
    return store


def _class_for(url: str, setting: str = "storage.url") -> Any:
    scheme, found, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    scheme = scheme.partition("+")[0]
    if not found:
        # Not repeated: it may contain a password.
        raise ConfigError(
            f"{setting} must be a database URL, such as sqlite:///sessions.db or postgresql://host/name.",
            setting,
        )
    if scheme not in SCHEMES:
        offered = entry_points(group=ENTRY_POINTS)
        if scheme in offered.names:
            return offered[scheme].load()
        known = [f"{name}://" for name in (*SCHEMES, *sorted(offered.names)) if name != "postgres"]
        raise ConfigError(f"{setting} must begin with {' or '.join(known)} (got {scheme}://).", setting)
    module, name = SCHEMES[scheme]
    try:
        return getattr(import_module(f"compact.stores.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtra("sqlalchemy", "sql") from None
