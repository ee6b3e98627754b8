"""Messages and records as rows, and back to values with the same digests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from typing import Any

from compact.core.view import handle
from compact.errors import CompactError, StoreError
from compact.formats import by_name
from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    MessageKind,
    Opaque,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)
from compact.model.record import Cleared, Entry, Injected, Kept, Record, RecordKind
from compact.model.sections import Kept as Count
from compact.model.sections import Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind
from compact.stores.raw_json import dumped, raw_json, raw_object
from compact.stores.words import part_content


def json_text(value: Mapping[str, Any], what: str) -> str:
    """One of our own values as JSON, as text if it can't be."""
    try:
        return dumped(dict(value), str)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{what} cannot be stored as JSON: {error}. Nothing was changed.") from error


def message_rows(
    start: int,
    messages: Sequence[Message],
    chains: Sequence[bytes],
    sizes: Sequence[int],
    format: str,
    now: float,
) -> Iterator[dict[str, Any]]:
    """One row per message; the object it came from is on the first row that it fills."""
    before: Any = None
    for index, message in enumerate(messages):
        origin = message.origin
        if origin is None:
            yield _own_row(start + index, message, chains[index], now)
            before = None
            continue
        fresh = origin.source is not before or origin.part == 0
        before = origin.source
        yield {
            "position": start + index,
            "chain": chains[index],
            "digest": message.digest,
            "role": message.role.value,
            "format": format,
            "raw": raw_json(origin.source) if fresh else None,
            "part": origin.part,
            "parts": origin.parts,
            "tokens": sizes[index] if index < len(sizes) else message.tokens,
            "created_at": message.created if message.created is not None else now,
        }


OWN = "compact"
"""The format of messages without a caller's object."""


def _own_row(position: int, message: Message, chain: bytes, now: float) -> dict[str, Any]:
    return {
        "position": position,
        "chain": chain,
        "digest": message.digest,
        "role": message.role.value,
        "format": OWN,
        "raw": dumped(_own(message)),
        "part": 0,
        "parts": 1,
        "tokens": message.tokens,
        "created_at": message.created if message.created is not None else now,
    }


def decode_rows(rows: Sequence[Any], session: str) -> Iterator[Message]:
    """The messages of one object's rows, in order. The object may have grown: its newest state counts."""
    raws = [(row.raw, row.format) for row in rows if row.raw is not None]
    decoded: list[tuple[Message, ...]] = []
    for row in rows:
        for at in range(len(raws) - 1, -1, -1):
            found = len(raws) - 1 - at
            if len(decoded) <= found:
                decoded.append(_decoded(raws[at], rows[0].position, row, session))
            fragments = decoded[found]
            if row.part < len(fragments) and fragments[row.part].digest == bytes(row.digest):
                yield fragments[row.part]
                break
        else:
            raise corrupt("messages", row.id, session, f"position {row.position} is not what was stored")


def _decoded(raw: tuple[str, str], index: int, row: Any, session: str) -> tuple[Message, ...]:
    text, format = raw
    try:
        source = raw_object(text)
        return (_from_own(source),) if format == OWN else by_name(format).decode(source, index)
    except (ValueError, TypeError, KeyError, CompactError) as error:
        raise corrupt("messages", row.id, session, f"position {row.position}: {error}") from error


def corrupt(table: str, row: object, session: str, problem: str) -> StoreError:
    return StoreError(
        f"{table} row {row} of session {session!r} cannot be read ({problem}). All other rows are as they "
        "were; take this one from a backup or the archive, or delete the session."
    )


def part_rows(message: Message, size: int | None, now: float) -> Iterator[dict[str, Any]]:
    """One row per part. Tokens that were not counted per part are distributed by length; they add up to
    `size`."""
    contents = [part_content(part) for part in message.parts]
    shares = _shares(size, [len(text) for text in contents])
    for order, (part, content) in enumerate(zip(message.parts, contents, strict=True)):
        yield {
            "type": part_type(part),
            "content": content,
            "tokens": part.tokens if part.tokens is not None else shares[order],
            "compacted_at": part.cleared_at if isinstance(part, ToolResult) else None,
            "sort_order": order,
            "created_at": now,
            "handle": handle(part) if isinstance(part, ToolResult) else None,
        }


def _shares(size: int | None, lengths: Sequence[int]) -> list[int | None]:
    if size is None:
        return [None] * len(lengths)
    whole = sum(lengths) or 1
    shares: list[int | None] = []
    given = seen = 0
    for length in lengths:
        seen += length
        upto = size * seen // whole
        shares.append(upto - given)
        given = upto
    return shares


def part_type(part: Part) -> str:
    names = {
        Text: "text",
        ToolCall: "tool-call",
        ToolResult: "tool-result",
        Reasoning: "reasoning",
        StepStart: "step-start",
        CompactionMarker: "compaction-marker",
        Image: "image",
        File: "file",
        Opaque: "opaque",
    }
    return names[type(part)]


def record_row(record: Record) -> dict[str, Any]:
    row = {field.name: getattr(record, field.name) for field in fields(record)}
    row["kind"] = record.kind.value
    entries = [_entry(entry, record.summary) for entry in record.entries]
    row["entries"] = dumped(entries)
    row["handle"] = record.handle or None
    row["reached"], row["reached_key"] = record.reached or None, record.reached_key or None
    row["evidence"] = _ledger_json(row.pop("kept"), record.evidence)
    return row


def _ledger_json(kept: Survival, evidence: Sequence[Evidence]) -> str:
    counts = {kind: [count.kept, count.total] for kind in _COUNTED if (count := getattr(kept, kind)).total}
    missing = [[lost.kind.value, lost.text, lost.position] for lost in kept.missing]
    units = [[unit.kind.value, *astuple(unit)[1:]] for unit in evidence]
    return dumped({"units": units, "kept": counts, "missing": missing})


def _ledger_from(text: str) -> tuple[tuple[Evidence, ...], Survival]:
    """The units of a record, and what survived; records of earlier versions hold a list of objects."""
    found = json.loads(text)
    if isinstance(found, list):
        return tuple(Evidence(**{**item, "kind": EvidenceKind(item["kind"])}) for item in found), Survival()
    units = tuple(Evidence(EvidenceKind(kind), *rest) for kind, *rest in found["units"])
    missing = tuple(Missing(SectionKind(kind), said, at) for kind, said, at in found["missing"])
    counts = {kind: Count(*found["kept"].get(kind, (0, 0))) for kind in _COUNTED}
    return units, Survival(**counts, missing=missing)


_COUNTED = ("words", "conclusions", "values")


def record_from(row: Any, session: str) -> Record:
    try:
        values = {
            field.name: getattr(row, field.name)
            for field in fields(Record)
            if field.name not in ("session_id", "kept")
        }
        values["kind"] = RecordKind(row.kind)
        values["handle"] = row.handle or ""
        values["reached"], values["reached_key"] = row.reached or 0, bytes(row.reached_key or b"")
        values["source"], values["output"] = bytes(row.source), bytes(row.output)
        values["entries"] = tuple(_entry_from(entry, row.summary) for entry in json.loads(row.entries))
        values["evidence"], values["kept"] = _ledger_from(row.evidence)
        return Record(session_id=session, **values)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise corrupt("compaction_records", row.id, session, f"step {row.step}: {error}") from error


def _entry(entry: Entry, summary: str) -> list[Any]:
    match entry:
        case Kept(position=position):
            return ["kept", position]
        case Cleared(position=position, call_ids=ids, original_tokens=tokens, handles=handles, texts=texts):
            left = [list(texts)] if texts else []
            return ["cleared", position, list(ids), list(tokens), list(handles), *left]
        case Injected(message=message):
            return ["injected", _own(message, summary)]


def _entry_from(item: Sequence[Any], summary: str) -> Entry:
    match item:
        case ["kept", int(position)]:
            return Kept(position)
        case ["cleared", int(position), ids, tokens, *handles]:
            return Cleared(position, tuple(ids), tuple(tokens), *map(tuple, handles))
        case ["injected", dict(own)]:
            return Injected(_from_own(own, summary))
        case _:
            raise ValueError(f"unknown entry {item!r}")


def _own(message: Message, summary: str = "") -> dict[str, Any]:
    """One of our own messages. The summary in it is already in its record."""
    parts = [
        {"marker": asdict(part)}
        if isinstance(part, CompactionMarker)
        else _own_text(part_content(part), summary)
        for part in message.parts
    ]
    own: dict[str, Any] = {"role": message.role.value, "kind": message.kind.value, "parts": parts}
    return own if message.name is None else {**own, "name": message.name}


def _own_text(text: str, summary: str) -> dict[str, Any]:
    before, found, after = text.partition(summary) if summary else (text, "", "")
    return {"around": [before, after]} if found else {"text": text}


def _from_own(own: Mapping[str, Any], summary: str = "") -> Message:
    parts: tuple[Part, ...] = tuple(
        CompactionMarker(**part["marker"])
        if "marker" in part
        else Text(part["text"] if "text" in part else summary.join(part["around"]))
        for part in own["parts"]
    )
    role, name = Role(own["role"]), own.get("name")
    return Message(role, parts, digest_of(role, parts, name), kind=MessageKind(own["kind"]), name=name)
