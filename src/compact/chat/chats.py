"""All conversations of one store: opens them with their remembered settings, lists and deletes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.events import Notice, Severity, Topic
from compact.chat.listening import Listening, listening
from compact.chat.session_row import ChatStore
from compact.chat.session_settings import newest_settings
from compact.chat.tools import Toolbox, ToolRunner
from compact.chat.turn_log import TurnLog
from compact.chat.turns import FORMAT
from compact.config import CompactConfig
from compact.errors import ConfigError, MissingExtra
from compact.manager import CompactManager
from compact.model.event import Event, EventName
from compact.policies import preset as preset_policy
from compact.ports import Archive, ChatModel
from compact.tracing.stream import AnyExporter

Configure = Callable[[CompactConfig, Mapping[str, Any]], CompactConfig]

_OF_SPACES = ("model", "preset", "policy")


class _ChatManager(CompactManager):
    """In a chat, a deleted session is over: no reply that is still being written brings it back."""

    _starts_over = False

    def report_title(self, session_id: str, title: str) -> None:
        self._engine.events.emit(session_id, EventName.TITLE, {"title": title})


class Chats:
    """What a door holds. One serves many conversations, threads and tasks.

    `models` returns the chat model for a name; the default's name is `config.model`. `configure` turns the
    remembered settings of a session (`preset`, `policy`) into the configuration for it.
    """

    def __init__(
        self,
        config: CompactConfig,
        store: ChatStore,
        models: Callable[[str], ChatModel],
        *,
        tools: ToolRunner | None = None,
        offers_recall: bool = False,
        max_steps: int = 20,
        delays_trim: bool = False,
        summarizer: Any = None,
        archive: Archive | None = None,
        exporters: Sequence[AnyExporter] = (),
        configure: Configure | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.store = store
        self.models = models
        self.tools: ToolRunner = tools if tools is not None else Toolbox()
        self.offers_recall = offers_recall
        """Whether the model may look up what was compacted away."""
        self.max_steps = max_steps
        """Model calls in one exchange."""
        self.delays_trim = delays_trim
        """The terminal's S1.10: a due trim waits one more turn at 90%."""
        self._wiring: dict[str, Any] = {
            "summarizer": summarizer,
            "store": store,
            "archive": archive,
            "exporters": (*exporters, Listening()),
            "format": FORMAT,
        }
        self._base: _ChatManager | None = None
        self._lock = Lock()
        self._configure = configure or configured
        self._clock = clock
        self._managers: dict[str, CompactManager] = {}
        self._models: dict[str, ChatModel] = {}

    def open(self, session_id: str, **wanted: Any) -> Conversation:
        """The conversation with this id and its remembered settings; `wanted` (model, preset, policy) win.

        A new one is stored with its first message, and so are its settings.
        """
        remembered = self.settings_of(session_id)
        settings = {**remembered, **wanted}
        model, problem = self.model_for(settings, remembered)
        early: list[Event] = []
        with listening(early.append):
            manager = self.manager(settings, model.model)
        log = TurnLog(manager, self.store, session_id, self._clock)
        conversation = Conversation(self, log, model, manager, early)
        if problem is not None:
            conversation.notices.waiting.append(problem)
        # What it began with: records of one preset mean little to another.
        lasting = {"model": settings.get("model") or self.config.model, "preset": manager.config.preset}
        log.suggest(**(wanted if remembered.get("preset") else lasting | wanted))
        return conversation

    async def aopen(self, session_id: str, **wanted: Any) -> Conversation:
        return await asyncio.to_thread(self.open, session_id, **wanted)

    def model_for(
        self, settings: Mapping[str, Any], remembered: Mapping[str, Any]
    ) -> tuple[ChatModel, Notice | None]:
        """The model of the settings; if a remembered one is not available, the default answers."""
        name = settings.get("model") or self.config.model
        try:
            return self.model(name), None
        except (ConfigError, MissingExtra) as error:
            if name != remembered.get("model") or name == self.config.model:
                raise
            model = self.model(self.config.model)
            text = f"This session was with {name}, which cannot be used now: {error} {model.label} answers."
            return model, Notice(Severity.WARNING, Topic.SETTINGS, text)

    def settings_of(self, session_id: str) -> Mapping[str, Any]:
        """What is remembered with the session, on top of its space's settings."""
        thread = self.store.session(session_id)
        found = newest_settings(self.store, thread) if thread is not None else {}
        own = {name: value for name, value in found.items() if value is not None}
        return {**self.space_settings(session_id), **own}

    def space_settings(self, session_id: str) -> Mapping[str, Any]:
        """What the space of a session sets for the sessions in it."""
        thread = self.store.session(session_id)
        space = self.store.space(thread.space) if thread is not None and thread.space else None
        given = space.settings if space is not None else {}
        return {name: given[name] for name in _OF_SPACES if given.get(name)}

    def model(self, name: str) -> ChatModel:
        """The model with that name, created once."""
        with self._lock:
            if name not in self._models:
                self._models[name] = self.models(name)
            return self._models[name]

    def manager(self, settings: Mapping[str, Any], model: str) -> CompactManager:
        """The manager for these settings and this model id; conversations with equal ones share it."""
        config = self._configure(self.config, settings).model_copy(update={"model": model})
        key = f"{model} {config.preset} {config.max_context_tokens} {config.policy.model_dump_json()}"
        with self._lock:
            if self._base is None:
                # With the first model that is used, since a name such as `local` has no known limits.
                self._base = self._managers[key] = _ChatManager(config, **self._wiring)
            if key not in self._managers:
                self._managers[key] = self._base.for_model(
                    model,
                    max_context_tokens=config.max_context_tokens,
                    preset=config.preset,
                    policy=config.policy,
                )
            return self._managers[key]

    def report_title(self, session_id: str, title: str) -> None:
        """For exporters: they may show the conversation under this name."""
        if self._base is not None:
            self._base.report_title(session_id, title)

    def reload(self, session_id: str) -> None:
        """Drop what is held of the session in memory: another process changed it."""
        for manager in list(self._managers.values()):
            manager.reload(session_id)

    def delete(self, session_id: str) -> bool:
        """Remove a session with everything that belongs to it; returns whether it existed."""
        self.reload(session_id)
        return self.store.delete_session(session_id)

    def close(self) -> None:
        """Deliver queued events, and stop what models run. The store stays open: it belongs to the door."""
        if self._base is not None:
            self._base.close()
        for model in self._models.values():
            stop(model)


def configured(config: CompactConfig, settings: Mapping[str, Any]) -> CompactConfig:
    """The settings of a session on top of the configuration, which keeps its own changes to its preset."""
    preset, policy = settings.get("preset") or config.preset, settings.get("policy") or {}
    if preset == config.preset and not policy:
        return config
    usual, own = preset_policy(config.preset).model_dump(), config.policy.model_dump()
    changes = {name: value for name, value in own.items() if value != usual[name]}
    given = {name: getattr(config, name) for name in config.model_fields_set}
    return CompactConfig(**{**given, "preset": preset, "policy": {**changes, **policy}})


def stop(model: ChatModel) -> None:
    """Stop what a model runs, such as its own server."""
    close = getattr(model, "close", None)
    if callable(close):
        close()
