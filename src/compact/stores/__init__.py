"""Where sessions live: originals and records, behind the Store port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compact.errors import MissingExtra

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.ports import Store
    from compact.stores.sql import SqlStore


def open_store(url: str, tenant: str = "default", **options: Any) -> SqlStore:
    """A store at a `sqlite:///` or `postgresql://` URL; its tables are made or brought up to date."""
    try:
        import sqlalchemy  # noqa: F401
    except ImportError:
        raise MissingExtra("sqlalchemy", "sql") from None
    from compact.stores.sql import SqlStore

    return SqlStore(url, tenant, **options)


def store_for(config: CompactConfig) -> Store:
    """The store that the settings name; without one, sessions live in memory until the process ends."""
    if config.storage.url is None:
        from compact.stores.memory import MemoryStore

        return MemoryStore()
    return open_store(config.storage.url, config.tenant)
