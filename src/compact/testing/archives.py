"""The contract of an archive: subclass `ArchiveContract` to run it against your own."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, Protocol

from compact.archives.naming import safe_name, transcript_name
from compact.archives.verify import verify_lines, verify_summary
from compact.core.view import chain
from compact.errors import ArchiveError
from compact.model.event import Event, EventName
from compact.model.message import Message, Origin, Role, Text, digest_of
from compact.model.record import Transcript

TRANSCRIPT = "transcript-pre-compact-001.jsonl"
SUMMARY = "summary-001.json"

HOSTILE_IDS: tuple[str, ...] = (
    *("..", ".", "../../escaped", "/etc/passwd", "a/b", "a\\b", "%2e%2e", "%2e%2e%2fescaped", "..%2f"),
    *("nul\0byte", "\0", "line\nbreak", "x" * 300, "CON", "con", "NUL.txt", "LPT1", "aux", " ", "a ", "a."),
    *(
        "~",
        "~root",
        "-rf",
        ".hidden",
        "*",
        "a:b",
        "session|x",
        "\u2024\u2024/x",
        "\uff0e\uff0e",
        "s\u0435ssion",
    ),
    *("ﬁ", "é", "e\u0301", "\ud800", "\u202e", "🦊" * 80, "A" * 100 + "b", "A" * 100 + "c"),
)


class SessionArchive(Protocol):
    """What the contract needs from an archive: the port and the event log."""

    def write(self, transcript: Transcript) -> str: ...

    def append_event(self, session_id: str, event: Event) -> None: ...


def messages_of(*sources: Any) -> list[Message]:
    """Messages with these objects as sources, as a format would decode them."""
    found = []
    for index, source in enumerate(sources):
        parts = (Text(json.dumps(source, default=str)),)
        found.append(Message(Role.USER, parts, digest_of(Role.USER, parts), Origin(index, source)))
    return found


def transcript(session_id: str = "demo", *sources: Any, step: int = 1, summary: str = "so far") -> Transcript:
    given = sources or ({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"})
    return Transcript(session_id, step, messages_of(*given), summary, "budget", "overflow", 100, 10)


def in_steps(count: int, session_id: str = "demo") -> list[Transcript]:
    """The transcripts of a conversation that was compacted this many times, two messages at a time."""
    found: list[Transcript] = []
    messages = messages_of(*({"role": "user", "content": f"message {n}"} for n in range(2 * count)))
    for step in range(1, count + 1):
        first = 2 * (step - 1)
        found.append(
            Transcript(
                session_id,
                step,
                messages[first : first + 2],
                f"summary {step}",
                system=messages_of({"role": "system", "content": "Be brief."}),
                first=first,
                before=chain(messages[:first]),
                follows=step - 1 or None,
            )
        )
    return found


class ArchiveContract:
    """What every archive must guarantee. `read` and `names` inspect a session's folder from outside."""

    def make_archive(self) -> SessionArchive:
        raise NotImplementedError

    def read(self, archive: Any, folder: str, name: str) -> bytes:
        raise NotImplementedError

    def names(self, archive: Any, folder: str) -> set[str]:
        raise NotImplementedError

    def events(self, archive: Any, folder: str) -> Sequence[bytes]:
        """The lines of the session's events, in order."""
        return self.read(archive, folder, "events.jsonl").splitlines()

    def test_transcript_and_summary_have_their_names(self) -> None:
        archive = self.make_archive()
        location = archive.write(transcript())
        assert location.endswith(f"demo/{TRANSCRIPT}")
        assert self.names(archive, "demo") == {TRANSCRIPT, SUMMARY}
        summary = json.loads(self.read(archive, "demo", SUMMARY))
        assert (summary["summary"], summary["tokens_before"], summary["step"]) == ("so far", 100, 1)

    def test_lines_are_the_callers_objects(self) -> None:
        archive = self.make_archive()
        source = {"role": "user", "content": "hello", "unknown": {"field": [1, None, "漢字", "\ud800"]}}
        archive.write(transcript("demo", source))
        lines = [json.loads(line) for line in self.read(archive, "demo", TRANSCRIPT).splitlines()]
        body = lines[1]
        ours = body.pop("_compact")
        assert body == source
        assert ours["index"] == 0 and "role" not in ours, "the object itself says whose it is"
        assert lines[0]["_compact"]["type"] == "header" and lines[-1]["_compact"]["type"] == "trailer"

    def test_the_same_again_changes_nothing(self) -> None:
        archive = self.make_archive()
        first = archive.write(transcript())
        before = self.read(archive, "demo", TRANSCRIPT)
        assert archive.write(transcript()) == first
        assert self.read(archive, "demo", TRANSCRIPT) == before
        assert self.names(archive, "demo") == {TRANSCRIPT, SUMMARY}

    def test_other_content_is_set_aside_not_lost(self) -> None:
        archive = self.make_archive()
        archive.write(transcript("demo", {"content": "first"}))
        first = self.read(archive, "demo", TRANSCRIPT)
        archive.write(transcript("demo", {"content": "second"}))
        assert b"second" in self.read(archive, "demo", TRANSCRIPT)
        aside = [
            name for name in self.names(archive, "demo") if "aside" in name and name.startswith("transcript")
        ]
        assert [self.read(archive, "demo", name) for name in aside] == [first]

    def test_secrets_stay_behind_and_originals_stay_whole(self) -> None:
        archive = self.make_archive()
        secret = "hunter2" + "Correct" + "Horse9"
        source = {
            "role": "assistant",
            "content": f"password={secret}",
            "tool_calls": [{"function": {"name": "login", "arguments": json.dumps({"password": secret})}}],
            "meta": {"api_key": secret},
        }
        kept = copy.deepcopy(source)
        archive.write(transcript("demo", source, summary=f"logged in with api_key={secret}"))
        archive.append_event(
            "demo", Event(EventName.ERROR, "demo", 1, 0.0, {"message": f"password: {secret}"})
        )
        for name in self.names(archive, "demo"):
            assert secret.encode() not in self.read(archive, "demo", name)
        assert source == kept
        assert b"password=<REDACTED>" in self.read(archive, "demo", TRANSCRIPT)

    def test_hostile_session_ids_stay_inside_and_apart(self) -> None:
        archive = self.make_archive()
        locations = {archive.write(transcript(session_id)) for session_id in HOSTILE_IDS}
        assert len(locations) == len(HOSTILE_IDS)
        for session_id in HOSTILE_IDS:
            header = json.loads(self.read(archive, safe_name(session_id), TRANSCRIPT).splitlines()[0])
            assert header["_compact"]["session_id"] == session_id

    def test_an_empty_session_id_is_refused(self) -> None:
        try:
            self.make_archive().write(transcript(""))
        except ArchiveError as refused:
            assert "session id" in str(refused)
        else:
            raise AssertionError("an empty session id was accepted")

    def test_events_are_kept_in_order(self) -> None:
        archive = self.make_archive()
        for number in range(1, 4):
            archive.append_event("demo", Event(EventName.ARCHIVAL, "demo", number, 1.5, {"step": number}))
        lines = [json.loads(line) for line in self.events(archive, "demo")]
        assert [line["sequence"] for line in lines] == [1, 2, 3]
        assert lines[0]["name"] == "compact.archival"

    def test_what_was_written_verifies_and_a_change_is_seen(self) -> None:
        archive = self.make_archive()
        archive.write(transcript())
        content = self.read(archive, "demo", TRANSCRIPT)
        assert verify_lines(content.splitlines(keepends=True), TRANSCRIPT) == []
        assert verify_summary(self.read(archive, "demo", SUMMARY), SUMMARY) == []
        changed = content.replace(b"hello", b"hullo")
        assert verify_lines(changed.splitlines(keepends=True), TRANSCRIPT) != []
        assert verify_lines(content.splitlines(keepends=True)[:-1], TRANSCRIPT) != []

    def test_each_transcript_goes_on_from_the_one_before(self) -> None:
        archive = self.make_archive()
        for step in in_steps(3):
            archive.write(step)
        files = [
            [json.loads(line) for line in self.read(archive, "demo", transcript_name(step)).splitlines()]
            for step in (1, 2, 3)
        ]
        headers, trailers = ([lines[n]["_compact"] for lines in files] for n in (0, -1))
        assert [header["first"] for header in headers] == [0, 2, 4]
        assert [trailer["end"] for trailer in trailers] == [2, 4, 6]
        assert [header["chain"] for header in headers[1:]] == [t["chain"] for t in trailers[:-1]]
        assert headers[0]["previous"] is None
        for header, before in zip(headers[1:], trailers, strict=False):
            assert header["previous"]["sha256"] == before["sha256"]
            assert header["previous"]["name"] == transcript_name(header["previous"]["step"])
        bodies = [line for lines in files for line in lines[1:-1]]
        originals = [line["content"] for line in bodies if "system" not in line["_compact"]]
        assert originals == [f"message {n}" for n in range(6)]
        assert [line["content"] for line in bodies if "system" in line["_compact"]] == ["Be brief."] * 3

    def test_a_large_transcript_arrives_whole(self) -> None:
        archive = self.make_archive()
        sources = [{"role": "tool", "content": f"{index} " + "lorem ipsum " * 20_000} for index in range(60)]
        archive.write(transcript("demo", *sources))
        content = self.read(archive, "demo", TRANSCRIPT)
        assert len(content) > 12_000_000
        assert verify_lines(content.splitlines(keepends=True), TRANSCRIPT) == []
