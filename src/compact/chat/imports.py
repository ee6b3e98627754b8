"""Turns from elsewhere, appended to a session all or none, and removed again."""

from __future__ import annotations

from collections.abc import Sequence

from compact.chat.turn_log import TurnLog
from compact.chat.turns import Turn, from_elsewhere, stamp, what_is_said
from compact.errors import FormatError, NotFound
from compact.model.outcome import ContextUsage


class AlreadyThere(FormatError):
    """The turns to import are already in the session."""


def take_in(
    log: TurnLog,
    head: Sequence[Turn],
    turns: Sequence[Turn],
    agent: str,
    title: str = "",
    again: bool = False,
) -> ContextUsage:
    """Append turns from elsewhere, all or none; a session without a title gets this one.

    Rejects turns that the session already begins or ends with, unless `again`.
    """
    stamped = {"timestamp": stamp(log.clock()), "session_id": log.id, "agent": agent}
    fresh = [turn if stamped.keys() <= turn.keys() else {**stamped, **turn} for turn in turns]
    leading = [turn if stamped.keys() <= turn.keys() else {**stamped, **turn} for turn in head]
    fresh = list(map(from_elsewhere, fresh))
    with log.alone():
        # What leads a history counts as its system prompt, which the store does not keep among the turns.
        if log.turns or log.head:
            fresh, leading = [*leading, *fresh], []
        if not log.turns and log.head:
            while fresh and fresh[0].get("role") in ("system", "developer"):
                leading.append(fresh.pop(0))
        if not again:
            _refuse_what_is_there(log, fresh)
        leads, all_turns = [*log.head, *leading], [*log.turns, *fresh]
        title = log.row.title or log.row.as_title(title)
        undo = {"start": len(log.turns), "stop": len(all_turns), "head": log.head}
        # A question at the end of a file is one of its turns, not one that this session must answer.
        settings = {**log.settings, "imported": len(all_turns), "import": undo}
        settings |= {"head": leads} if leading else {}
        log.manager.append(log.id, [*log.row.instructions, *leads, *all_turns])
        settings["cut"] = log.cut_behind(all_turns)
        log.remembered.put(settings)
        log.store.put_session(log.id, title=title)
    log.row.title = title
    log.hold(leads, all_turns, settings)
    return log.usage()


def _refuse_what_is_there(log: TurnLog, turns: Sequence[Turn]) -> None:
    given, held = list(map(what_is_said, turns)), list(map(what_is_said, log.turns))
    count = len(given)
    if count and given in (held[:count], held[-count:]):
        which = "this message" if count == 1 else f"these {count:,} messages"
        raise AlreadyThere(f"Session {log.id} holds {which} already. Nothing was imported.")


def last_import(log: TurnLog) -> tuple[int, int] | None:
    """Where the turns of the last import begin and end, as long as nothing else follows them."""
    found = log.settings.get("import")
    if not found or found["stop"] != len(log.turns):
        return None
    return int(found["start"]), int(found["stop"])


def undo_import(log: TurnLog) -> int:
    """Remove the turns of the last import; returns how many there were."""
    _import_to_undo(log)  # Without one, nothing is stored.
    with log.alone():
        start, stop = _import_to_undo(log)
        head = list(log.settings["import"]["head"])
        pins = log.remembered.pins_before(start)
        changes = {"cut": log.cut_at(start), "head": head, "imported": 0, "import": None, "pins": pins}
        settings = {**log.settings, **changes}
        log.remembered.put(settings)
    log.hold(head, log.turns[:start], settings)
    log.manager.reload(log.id)
    return stop - start


def _import_to_undo(log: TurnLog) -> tuple[int, int]:
    found = last_import(log)
    if found is None:
        raise NotFound("There is no import to undo, or something was said since. Nothing was changed.")
    return found
