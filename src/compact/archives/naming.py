"""Names of folders and files in an archive. A session id is external input and never trusted."""

from __future__ import annotations

import re
from hashlib import sha256

from compact.errors import ArchiveError

EVENTS = "events.jsonl"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|clock\$|com\d|lpt\d)(?:\..*)?\Z")
_NOT_SLUG = re.compile(r"[^A-Za-z0-9]+")


def safe_name(session_id: str, hide: bool = False) -> str:
    """The folder of a session: the id itself if that is safe everywhere, else "~", a hint and a hash.

    Plain names never begin with "~", and the hash covers the id's exact characters: two ids never share a
    folder. `hide` omits the hint, for an id that is itself a secret. Raises ArchiveError if the id is empty.
    """
    if not isinstance(session_id, str) or not session_id:
        raise ArchiveError(
            "The session id is empty, so there is no folder to archive to. Nothing was compacted; "
            "give the session an id."
        )
    plain = _PLAIN.match(session_id) and not session_id.endswith(".") and not _DEVICES.match(session_id)
    if plain and not hide:
        return session_id
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    hint = "" if hide else _NOT_SLUG.sub("-", session_id[:60]).strip("-")[:32]
    return f"~{hint}-{digest}" if hint else f"~{digest}"


def transcript_name(step: int) -> str:
    return f"transcript-pre-compact-{step:03d}.jsonl"


def summary_name(step: int) -> str:
    return f"summary-{step:03d}.json"


def aside_name(name: str, digest: str) -> str:
    """The name for a file whose own name other content takes; `digest` is the file's hash."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.aside-{digest[:16]}.{suffix}"
