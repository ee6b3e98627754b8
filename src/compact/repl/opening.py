"""From the command-line options to an open chat: settings, store, model, session."""

from __future__ import annotations

import secrets
import time
from typing import Any

from compact.chat import Chats
from compact.config import CompactConfig
from compact.console.context import Context
from compact.console.stored import store_url
from compact.ports import ChatModel
from compact.repl.chat import Chat

PRESET = "window"
"""The terminal's own default, as its seed requires."""
_STEPS = 4
"""The terminal offers no tools: a model that calls one anyway gets a few answers."""


def open_chat(context: Context) -> Chat:
    """The chat for these options. Raises an error if they are wrong; nothing is stored yet."""
    from compact.stores import open_store

    args = context.args
    wanted = _wanted(context)
    config = chat_config(context)
    store = open_store(store_url(context, config), config.tenant)
    session = args.session
    if args.last and session is None:
        newest = store.sessions(1)
        session = newest[0].session_id if newest else None
    chats = Chats(
        config.model_copy(update={"model": _model_name(config, context)}),
        store,
        lambda name: chosen(name, context),
        delays_trim=True,
        max_steps=_STEPS,
    )
    try:
        chat = Chat(chats, session or _new_name(), **wanted)
        if args.system and [turn.get("content") for turn in chat.conversation.head] != [args.system]:
            chat.conversation.instruct(args.system)
        return chat
    except BaseException:
        chats.close()
        store.close()
        raise


def chat_config(context: Context) -> CompactConfig:
    """The settings, with the terminal's own defaults."""
    config = context.config()
    given = config.model_fields_set
    changes: dict[str, Any] = {}
    if "preset" not in given:
        # Policy settings are applied on top of the preset, so the preset has to come first.
        changes["preset"] = PRESET
    if "summarizer" not in given:
        changes["summarizer"] = {"name": "extractive"}
    elif context.args.base_url and config.summarizer.reuse_prefix == "auto":
        # The conversation goes to the server at this URL; no other server may get it unredacted.
        changes["summarizer.reuse_prefix"] = "off"
    if not changes:
        return config
    from compact.console.options import load_config

    for key, value in changes.items():
        context.args.set.append((key, value))
    return load_config(context)[0]


def _wanted(context: Context) -> dict[str, Any]:
    """What the command line sets for this session; the session remembers the rest."""
    given = {"model": context.args.model, "preset": context.args.preset, **dict(context.args.set)}
    return {name: given[name] for name in ("model", "preset") if given[name]}


def _model_name(config: CompactConfig, context: Context) -> str:
    if "model" in config.model_fields_set:
        return config.model
    from compact.models.choose import available, default_model

    if context.args.base_url:
        # A self-hosted server often has a single model, under any name.
        return next(iter(available(context.environ)), "local")
    return default_model(context.environ)


def chosen(name: str, context: Context) -> ChatModel:
    """The model with this name, started if it runs locally."""
    from compact.models.choose import chat_model

    args = context.args
    model = chat_model(name, context.environ, base_url=args.base_url, api_key_env=args.api_key_env)
    start = getattr(model, "start", None)
    if callable(start):
        start()
    return model


def _new_name() -> str:
    # Two sessions that begin in the same second must stay separate.
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
