"""A transcript as redacted JSON lines, one message at a time.

The first line is a header, the last a trailer with the SHA-256 of every byte before it. Each line in between
is the caller's own object, redacted, with our fields under "_compact": first the system messages, then the
originals since the previous transcript, whose name and hash are in the header. The chain hash over the
originals' digests runs through all transcripts of a session. Nothing depends on the clock, so writing the
same transcript again produces the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from compact.archives.naming import summary_name
from compact.core.view import START, links
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import Transcript
from compact.ports import Redacts

FORMAT = "compact-transcript"
VERSION = 2
_WITH_SUMMARY = (EventName.SUMMARY_CREATED, EventName.COMPLETE)
TAIL_BYTES = 4096
"""More than a trailer needs."""
# Some readers treat these as line ends, though JSON does not; JSON itself escapes control characters.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


class RenderedTranscript:
    """The lines of one transcript; `digest` is known once they have been read to the end."""

    def __init__(
        self, transcript: Transcript, redactor: Redacts, previous: Mapping[str, Any] | None = None
    ) -> None:
        """`previous` holds name and hash of the transcript that this one continues."""
        self._transcript = transcript
        self._redactor = redactor
        self._previous = previous
        self._chain = transcript.before or START
        self._count = 0
        self.digest = ""

    def __iter__(self) -> Iterator[bytes]:
        hasher = sha256()
        for line in self._content():
            hasher.update(line)
            yield line
        self.digest = hasher.hexdigest()
        trailer = {
            "type": "trailer",
            "messages": len(self._transcript.system) + self._count,
            "end": self._transcript.first + self._count,
            "chain": self._chain.hex(),
            "sha256": self.digest,
        }
        yield _line({"_compact": trailer})

    def _content(self) -> Iterator[bytes]:
        transcript, redactor = self._transcript, self._redactor
        self._chain, self._count = transcript.before or START, 0
        header = {
            "type": "header",
            "format": FORMAT,
            "version": VERSION,
            "session_id": transcript.session_id,
            "step": transcript.step,
            "policy": transcript.policy,
            "reason": transcript.reason,
            "tokens_before": transcript.tokens_before,
            "redacted": redactor.enabled,
        }
        place = {"first": transcript.first, "chain": self._chain.hex(), "previous": self._previous}
        yield _line({"_compact": {**redactor.value(header), **place}})
        previous: Message | None = None
        for message in transcript.system:
            yield _line(_message(message, {"system": True}, previous, redactor))
            previous = message
        for message in transcript.messages:
            yield _line(_message(message, {"index": transcript.first + self._count}, previous, redactor))
            (self._chain,) = links(self._chain, [message])
            self._count += 1
            previous = message


def trailer_in(tail: bytes) -> Mapping[str, Any] | None:
    """The trailer of a transcript, given the end of the file."""
    lines = tail.splitlines()
    try:
        ours = json.loads(lines[-1])["_compact"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return ours if isinstance(ours, dict) and ours.get("type") == "trailer" else None


def summary_json(transcript: Transcript, transcript_name: str, digest: str, redactor: Redacts) -> bytes:
    """The summary file: what replaces the transcript's messages, and how to check both."""
    content = redactor.value(
        {
            "session_id": transcript.session_id,
            "step": transcript.step,
            "summary": transcript.summary,
            "policy": transcript.policy,
            "reason": transcript.reason,
            "tokens_before": transcript.tokens_before,
            "tokens_after": transcript.tokens_after,
            "messages": len(transcript.messages),
            "first": transcript.first,
            "extra": dict(transcript.extra),
        }
    )
    content["transcript"] = {"name": transcript_name, "sha256": digest}
    content["sha256"] = sha256(_dumps(content).encode("utf-8", "surrogatepass")).hexdigest()
    return _encoded(content, indent=2) + b"\n"


def summary_digest(content: Mapping[str, Any]) -> str:
    """The hash that a summary file should contain."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return sha256(_dumps(rest).encode("utf-8", "surrogatepass")).hexdigest()


def event_line(event: Event | Mapping[str, Any], redactor: Redacts) -> bytes:
    """One event; a summary is replaced by the name of the file that holds it once it is committed."""
    if isinstance(event, Event):
        content = event.as_dict()
        if event.name in _WITH_SUMMARY and event.step and event.data.get("summary"):
            content["data"] = {**event.data, "summary": summary_name(event.step)}
        event = content
    return _line(redactor.value(event))


def _message(
    message: Message, place: Mapping[str, Any], previous: Message | None, redactor: Redacts
) -> dict[str, Any]:
    ours: dict[str, Any] = {**place, "digest": message.digest.hex()}
    if message.is_ours:
        ours["kind"] = message.kind.value
    origin = message.origin
    if origin is None:
        content: dict[str, Any] = {
            "role": message.role.value,
            "parts": [_part(part) for part in message.parts],
        }
    elif previous is not None and previous.origin is not None and previous.origin.source is origin.source:
        # A caller's object that holds several messages is written once.
        ours["part"] = origin.part
        content = {}
    else:
        content = _source(origin.source)
    if not isinstance(content, dict) or content.get("role") != message.role.value:
        ours["role"] = message.role.value
    for name in ("id", "name", "model", "finish_reason", "error", "created", "tokens"):
        value = getattr(message, name)
        if value is not None and name not in content:
            ours[name] = value
    clean = redactor.value(content)
    if not isinstance(clean, dict) or "_compact" in clean:
        clean = {"value": clean}
    return {**clean, "_compact": redactor.value(ours)}


def _source(source: Any) -> Any:
    dump = getattr(source, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return dict(source) if isinstance(source, Mapping) else {"value": source}


def _part(part: Any) -> dict[str, Any]:
    if not is_dataclass(part):
        return {"value": part}
    content = {field.name: getattr(part, field.name) for field in fields(part)}
    return {
        "type": type(part).__name__,
        **{key: value for key, value in content.items() if value is not None},
    }


def _line(value: Any) -> bytes:
    return _encoded(value) + b"\n"


def _encoded(value: Any, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, default=str)
    if text.isascii():
        return text.encode("ascii")
    try:
        return text.translate(_LINE_ENDS).encode()
    except UnicodeEncodeError:
        # Lone surrogates, which some callers' texts contain, survive as escapes.
        return json.dumps(value, separators=separators, indent=indent, default=str).encode("ascii")


def _dumps(value: Any) -> str:
    """The text to hash: the same for the same values, however they are encoded."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
