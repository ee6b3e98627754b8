"""No fragment of any secret of the corpus reaches a file of the archive, whatever carried it."""

from __future__ import annotations

import json
from pathlib import Path

from compact.archives.fs import FsArchive
from compact.model.event import Event, EventName
from compact.model.message import (
    Message,
    MessageKind,
    Origin,
    Role,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
    make,
)
from compact.model.record import Transcript
from compact.redaction import Redactor

from .secret_corpus import SECRETS, Case
from .test_redaction_corpus import fragments


def carriers(case: Case, index: int) -> list[Message]:
    """The secret in a text, in tool arguments, in meta, and in messages of our own."""
    text = case.text
    source = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "tool_calls": [{"id": "c", "function": {"name": "run", "arguments": json.dumps({"command": text})}}],
        "meta": {"note": text, "nested": [{"deep": text}]},
    }
    parts = (Text(text), ToolCall("c", "run", {"command": text}), ToolResult("c", text))
    digest = digest_of(Role.ASSISTANT, parts)
    return [
        Message(Role.ASSISTANT, parts, digest, Origin(index, source)),
        Message(Role.ASSISTANT, parts, digest, error=text, name=text),
        make(MessageKind.SUMMARY, Role.ASSISTANT, text),
    ]


def test_no_fragment_in_any_file(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step, case in enumerate(SECRETS, 1):
        messages = carriers(case, step)
        archive.write(
            Transcript("demo", step, messages, summary=case.text, reason=case.text, extra={"note": case.text})
        )
        event = Event(EventName.ERROR, "demo", step, 0.0, {"message": case.text, "list": [case.text]})
        archive.append_event("demo", event)
    events = (archive.root / "demo" / "events.jsonl").read_text()
    for step, case in enumerate(SECRETS, 1):
        content = events
        for name in (f"transcript-pre-compact-{step:03d}.jsonl", f"summary-{step:03d}.json"):
            content += (archive.root / "demo" / name).read_text()
        assert not [fragment for fragment in fragments(case.secret) if fragment in content], case.kind
