"""A transcript as redacted JSON lines, one message at a time.

The first line is a header, the last a trailer with the SHA-256 of every byte before it. Between them each
line is the caller's own object, redacted, with our fields under "_compact". Nothing in it depends on the
clock, so that writing the same transcript again gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from compact.archives.redacts import Redacts
from compact.model.event import Event
from compact.model.message import Message
from compact.model.record import Transcript

FORMAT = "compact-transcript"
VERSION = 1


class RenderedTranscript:
    """The lines of one transcript; `digest` is known when they have been read to the end."""

    def __init__(self, transcript: Transcript, redactor: Redacts) -> None:
        self._transcript = transcript
        self._redactor = redactor
        self.digest = ""

    def __iter__(self) -> Iterator[bytes]:
        hasher = sha256()
        count = 0
        for line in self._content():
            hasher.update(line)
            count += 1
            yield line
        self.digest = hasher.hexdigest()
        yield _line({"_compact": {"type": "trailer", "messages": count - 1, "sha256": self.digest}})

    def _content(self) -> Iterator[bytes]:
        transcript, redactor = self._transcript, self._redactor
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
        yield _line({"_compact": redactor.value(header)})
        previous: Message | None = None
        for index, message in enumerate(transcript.messages):
            yield _line(_message(message, index, previous, redactor))
            previous = message


def summary_json(transcript: Transcript, transcript_name: str, digest: str, redactor: Redacts) -> bytes:
    """The summary file: what stands in place of the transcript, and how to check both."""
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
            "extra": dict(transcript.extra),
        }
    )
    content["transcript"] = {"name": transcript_name, "sha256": digest}
    content["sha256"] = sha256(_dumps(content).encode("utf-8", "surrogatepass")).hexdigest()
    return (json.dumps(content, ensure_ascii=True, indent=2, default=str) + "\n").encode("ascii")


def summary_digest(content: Mapping[str, Any]) -> str:
    """The hash a summary file should carry."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return sha256(_dumps(rest).encode("utf-8", "surrogatepass")).hexdigest()


def event_line(event: Event | Mapping[str, Any], redactor: Redacts) -> bytes:
    if isinstance(event, Event):
        event = event.as_dict()
    return _line(redactor.value(event))


def _message(message: Message, index: int, previous: Message | None, redactor: Redacts) -> dict[str, Any]:
    ours: dict[str, Any] = {"index": index, "role": message.role.value, "digest": message.digest.hex()}
    if message.is_ours:
        ours["kind"] = message.kind.value
    origin = message.origin
    if origin is None:
        content: dict[str, Any] = {
            "role": message.role.value,
            "parts": [_part(part) for part in message.parts],
        }
    elif previous is not None and previous.origin is not None and previous.origin.source is origin.source:
        # One object of the caller's that holds several messages is written once.
        ours["part"] = origin.part
        content = {}
    else:
        content = _source(origin.source)
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
    return _dumps(value).encode("ascii") + b"\n"


def _dumps(value: Any) -> str:
    # ASCII only: lone surrogates, which some callers' texts hold, survive as escapes.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
