"""List sessions, and change one."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.turns import text_of
from compact.ports import Thread
from compact.server.http.problems import Problem
from compact.server.studio import schemas
from compact.server.studio.refusals import missing
from compact.server.studio.sample import sample_turns
from compact.server.studio.showing import shown_session, shown_usage
from compact.server.studio.workspace import Workspace


async def listed(
    here: Workspace, space: str | None, query: str, limit: int, cursor: str | None
) -> schemas.SessionList:
    before = _before(cursor)

    def looked() -> list[schemas.Session]:
        threads = here.store.sessions(limit, before=before, space=space, query=query)
        return [_session(here, thread) for thread in threads]

    found = await asyncio.to_thread(looked)
    more = len(found) == limit
    return schemas.SessionList(sessions=found, next_cursor=_cursor(found[-1]) if more else None)


async def one(here: Workspace, session_id: str) -> schemas.Session:
    """With its current usage, and an unanswered message."""

    def looked(conversation: Conversation) -> schemas.Session:
        thread = here.store.session(session_id)
        if thread is None:
            raise Problem(404, "no-session", f"There is no session {session_id[:80]!r}.")
        return shown_session(
            thread,
            conversation.settings,
            _defaults(here, thread),
            streaming=here.is_streaming(thread),
            usage=shown_usage(conversation),
            draft=conversation.draft,
        ).model_copy(
            update={
                "summary": thread.summary,
                "summary_updated_at": thread.summary_updated_at,
                "system": "\n".join(text_of(turn) for turn in conversation.head),
                "memory": conversation.memory or "",
                "policy": conversation.manager.config.policy.model_dump(mode="json"),
                "policy_changes": dict(conversation.settings.get("policy") or {}),
            }
        )

    return await here.look(session_id, looked)


async def created(here: Workspace, wanted: schemas.NewSession) -> str:
    session_id = here.new_id()
    await asyncio.to_thread(_put, here, session_id, wanted.title, wanted.space)
    settings = _settings(wanted)
    try:
        await _configured(here, session_id, settings, wanted.system)
        if wanted.demo:
            await here.change(session_id, _with_sample)
    except BaseException:
        await here.delete(session_id)
        raise
    return session_id


async def changed(here: Workspace, session_id: str, change: schemas.SessionChange) -> None:
    async with here.alone(session_id):
        await here.thread(session_id)
        settings = _settings(change)
        if any(value is not None for value in settings.values()) or change.system is not None:
            await _configured(here, session_id, settings, change.system)
        if change.title is not None or change.space is not None:
            await asyncio.to_thread(_changed, here, session_id, change.title, change.space)
        if change.space is not None:
            here.reopen(session_id)
        await here.events.astore(session_id, {"type": "session", "data": {"id": session_id}})


def _settings(wanted: schemas.NewSession | schemas.SessionChange) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in ("preset", "model", "policy", "memory")}


async def _configured(
    here: Workspace, session_id: str, settings: Mapping[str, Any], system: str | None
) -> None:
    given = {name: value for name, value in settings.items() if value is not None}
    if "preset" in given and "policy" not in given:
        given["policy"] = None  # the policy belonged to the preset before

    def remembered(conversation: Conversation) -> None:
        if given:
            conversation.use(**given)
        if system is not None:
            conversation.instruct(system)

    if given or system is not None:
        await here.change(session_id, remembered)


def _with_sample(conversation: Conversation) -> None:
    conversation.take_in([], sample_turns())
    conversation.reset()


def _put(here: Workspace, session_id: str, title: str | None, space: str | None) -> None:
    if space and here.store.space(space) is None:
        raise Problem(404, "no-space", f"There is no space {space!r}. Nothing was changed.")
    here.store.put_session(session_id, title=title, space=space)


def _changed(here: Workspace, session_id: str, title: str | None, space: str | None) -> None:
    with here.store.exclusively(session_id):
        if here.store.session(session_id) is None:
            raise missing(session_id)  # to put it would make it again
        _put(here, session_id, title, space)


def _session(here: Workspace, thread: Thread) -> schemas.Session:
    """As the list shows it: where a session is not in memory, its usage is the one that was stored last."""
    return shown_session(
        thread,
        here.chats.settings_of(thread.session_id),
        _defaults(here, thread),
        streaming=here.is_streaming(thread),
        usage=here.usage_now(thread.session_id) or _last_usage(thread),
    )


def _last_usage(thread: Thread) -> schemas.Usage | None:
    found = thread.settings.get("usage")
    return schemas.Usage(**found) if found else None


def _defaults(here: Workspace, thread: Thread) -> tuple[str, str]:
    space = here.store.space(thread.space) if thread.space else None
    preset = space.settings.get("preset") if space is not None else None
    return preset or here.chats.config.preset, here.chats.config.model


def _cursor(last: schemas.Session) -> str:
    return base64.urlsafe_b64encode(json.dumps([last.updated_at, last.id]).encode()).decode().rstrip("=")


def _before(cursor: str | None) -> tuple[float, str] | None:
    if not cursor:
        return None
    try:
        at, session_id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return float(at), str(session_id)
    except (ValueError, TypeError):
        raise Problem(422, "bad-cursor", "The cursor is not valid; start without one.") from None
