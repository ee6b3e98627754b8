"""What the routes use: one workspace per tenant, the models to choose from, the limits."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import Awaitable, Callable, Iterable

from compact.chat.chats import Chats
from compact.errors import CompactError, ConfigError, StoreError
from compact.manager import CompactManager
from compact.models.limits import limits_for
from compact.policies import PRESETS, preset, rule
from compact.ports import DoorStore, Threads
from compact.server.http.limits import Seats
from compact.server.http.problems import Problem
from compact.server.http.settings import TENANT
from compact.server.studio import schemas
from compact.server.studio.catalog import Catalog
from compact.server.studio.message_lists import MessageLists
from compact.server.studio.metrics import Metrics
from compact.server.studio.notifying import News, Notifier, notifier_for
from compact.server.studio.presence import Presence
from compact.server.studio.session_events import SessionEvents
from compact.server.studio.settings import StudioSettings
from compact.server.studio.workspace import Workspace
from compact.server.weighing import Room
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.stores.sql.database import ASK_THE_OWNER


class Studio:
    """Created inside the event loop that it works for."""

    def __init__(self, settings: StudioSettings, catalog: Catalog) -> None:
        self.settings = settings
        self.catalog = catalog
        self.metrics = Metrics()
        self.streams = Seats(settings.max_streams, "streams are open")
        self.stopping = False
        self.when_stopping: list[Callable[[], None]] = []
        self._finishing: asyncio.Task[None] | None = None
        self.version = _version()
        self._loop = asyncio.get_running_loop()
        self._workspaces: dict[str, Workspace] = {}
        self._stores: dict[str, DoorStore] = {}
        self._lists: dict[str, MessageLists] = {}
        self._opening = asyncio.Lock()
        self._notifier: Notifier = notifier_for(settings.store, self._loop, self._heard)

    async def start(self) -> None:
        """Open the store now, so that a failing start is reported at once."""
        await self.workspace(next(iter(self.settings.tokens.values()), TENANT))
        await self._notifier.start()

    async def workspace(self, tenant: str | None) -> Workspace:
        if tenant is None:
            raise Problem(401, "no-token", "The token is missing or wrong: send Authorization: Bearer TOKEN.")
        if tenant not in self._workspaces:
            async with self._opening:
                if tenant not in self._workspaces:
                    self._workspaces[tenant] = await asyncio.to_thread(self._made, tenant)
        return self._workspaces[tenant]

    def _made(self, tenant: str) -> Workspace:
        settings = self.settings
        store = self._stores[tenant] = self._opened(tenant)
        events = SessionEvents(store, self._loop, self.metrics)
        events.on_stored = lambda session_id: self._notifier.notify(News.CHANGED, tenant, session_id)
        config = settings.config.model_copy(
            update={
                "model": self.catalog.default,
                "tenant": tenant,
                # The server stores events itself, as they come.
                "storage": type(settings.config.storage)(),
            }
        )
        chats = Chats(
            config,
            store,
            self.catalog.model,
            tools=self.catalog.tools,
            offers_recall=True,
            max_steps=settings.max_steps,
            summarizer=self.catalog.summarizer,
            exporters=[events],
        )
        presence = Presence(store, self._notifier.shared)

        def notify(news: News, session_id: str) -> None:
            self._notifier.notify(news, tenant, session_id)

        room = Room(settings.max_conversations, settings.max_history_bytes)
        return Workspace(tenant, chats, events, self.metrics, presence, notify, room)

    def _opened(self, tenant: str) -> DoorStore:
        try:
            store = open_store(self.settings.store, tenant)
        except StoreError as error:
            if not self.settings.tokens or not self._stores:
                raise  # At the start, whoever runs the server reads it.
            raise StoreError(
                f"The session store could not be opened. Nothing was changed. {ASK_THE_OWNER}"
            ) from error
        if self.settings.tokens and isinstance(store, SqlStore):
            store.database.is_discreet = True
        return store

    async def message_lists(self, tenant: str) -> MessageLists:
        """For programs that keep their own conversations."""
        async with self._opening:
            if tenant not in self._lists:
                # A space is in no tenant's name, so this is nobody else's.
                own = f"{tenant} messages"
                config = self.settings.config.model_copy(
                    update={"model": self.catalog.default, "tenant": own}
                )
                store = self._stores[own] = await asyncio.to_thread(self._opened, own)
                manager = CompactManager(config, self.catalog.summarizer, store)
                self._lists[tenant] = MessageLists(manager)
        return self._lists[tenant]

    def _heard(self, news: News, tenant: str, session_id: str) -> None:
        """Another process did something, or wants something from the one that writes the reply."""
        if tenant in self._workspaces:
            self._workspaces[tenant].hear(news, session_id)

    def stop_streams(self) -> None:
        """A stop begins: followers leave, so that the server does not wait for them, and replies finish."""
        if self.stopping:
            return
        self.stopping = True
        for stop in self.when_stopping:
            stop()
        workspaces = list(self._workspaces.values())
        for workspace in workspaces:
            workspace.events.close()
        seconds = self.settings.stop_seconds
        # Right now: the readers of a reply stay until its end, and the server waits for its readers.
        self._finishing = self._loop.create_task(
            _all(workspace.finish(seconds) for workspace in workspaces), name="compact-finish"
        )

    async def close(self) -> None:
        self.stop_streams()
        assert self._finishing is not None
        await self._finishing
        await _all(workspace.close() for workspace in self._workspaces.values())
        await asyncio.gather(*(lists.close() for lists in self._lists.values()))
        await self._notifier.close()
        self.catalog.close()
        for store in self._stores.values():
            await asyncio.to_thread(store.close)

    # -- what is asked of the server itself ----------------------------------------------------------------

    async def ready(self) -> schemas.Ready:
        checks = {"server": "stopping" if self.stopping else "ok"}
        store: Threads | None = next(iter(self._stores.values()), None)
        try:
            if store is not None:
                await asyncio.wait_for(asyncio.to_thread(lambda: store.sessions(1)), 5)
            checks["store"] = "ok" if store is not None else "not open"
        except (CompactError, TimeoutError):
            checks["store"] = "does not answer"
        return schemas.Ready(ready=all(found == "ok" for found in checks.values()), checks=checks)

    def metrics_text(self) -> str:
        workspaces = self._workspaces.values()
        return self.metrics.text(
            {
                "compact_turns_running": sum(workspace.streaming for workspace in workspaces),
                "compact_sessions_open": sum(workspace.open_sessions for workspace in workspaces),
                "compact_streams_open": self.streams.taken,
            }
        )

    async def settings_shown(self, tenant: str) -> schemas.Settings:
        config = self.settings.config
        models = [
            schemas.ModelInfo(
                id=one.id,
                label=one.label,
                note=one.note,
                default=one.id == self.catalog.default,
                window=config.max_context_tokens or limits_for(one.model, config.models).window,
            )
            for one in self.catalog.offered
        ]
        return schemas.Settings(
            version=self.version,
            presets=[_preset(name) for name in PRESETS],
            models=models,
            default_preset=config.preset,
            demo=self.settings.demo,
            token_required=bool(self.settings.tokens),
            tenant=tenant,
        )

    def check_preset(self, name: str | None) -> None:
        if name is not None:
            preset(name)

    def check_model(self, name: str | None) -> None:
        if name is not None and name not in {one.id for one in self.catalog.offered}:
            offered = ", ".join(one.id for one in self.catalog.offered)
            raise ConfigError(f"model must be one of {offered} (got {name[:80]!r}).", "model")


async def _all(work: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*work)


def _preset(name: str) -> schemas.PresetInfo:
    policy = preset(name)
    return schemas.PresetInfo(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=rule(name),
        trigger_pct=policy.trigger_pct,
        policy=policy.model_dump(mode="json"),
    )


def _version() -> str:
    try:
        return importlib.metadata.version("compact-context")
    except importlib.metadata.PackageNotFoundError:
        return "0"


Started = Callable[[Studio], None]
