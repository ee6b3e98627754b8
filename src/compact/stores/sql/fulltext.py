"""The full-text index of each database: FTS5 on SQLite, an array of word keys on PostgreSQL.

It stores only whether a word is in a message. Ranking by the database would look at every session's messages
to see how rare a word is, and so grow with the store; here rarity is counted within the session.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from sqlalchemy import Connection, text

_MOST_HITS = 5_000
"""How many of the newest hits of one word are read."""


def index(connection: Connection, session_id: int, rows: Sequence[tuple[int, set[str]]]) -> None:
    """Add messages to the index, by id."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(
            text("INSERT INTO message_search (rowid, words) VALUES (:id, :words)"),
            [{"id": id, "words": f"{_session_word(session_id)} {_joined(words)}"} for id, words in rows],
        )
        return
    connection.execute(
        text(
            "INSERT INTO message_search (message_id, session_id, words)"
            " VALUES (:id, :session, CAST(:words AS integer[]))"
        ),
        [{"id": id, "session": session_id, "words": sorted(set(map(key_of, words)))} for id, words in rows],
    )


def holding(connection: Connection, session_id: int, word: str) -> list[int]:
    """Ids of the session's messages that contain this word, newest first."""
    if connection.dialect.name == "sqlite":
        query = text(
            "SELECT rowid FROM message_search WHERE message_search MATCH :match"
            " ORDER BY rowid DESC LIMIT :most"
        )
        match = f'"{_session_word(session_id)}" AND "{_clean(word)}"'
        found = connection.execute(query, {"match": match, "most": _MOST_HITS})
    else:
        query = text(
            "SELECT message_id FROM message_search"
            " WHERE session_id = :session AND words @> ARRAY[CAST(:word AS integer)]"
            " ORDER BY message_id DESC LIMIT :most"
        )
        found = connection.execute(query, {"session": session_id, "word": key_of(word), "most": _MOST_HITS})
    return [row[0] for row in found]


def _session_word(session_id: int) -> str:
    # No text contains this word: the character is in none of our words.
    return f"§{session_id}"


def _joined(words: set[str]) -> str:
    return " ".join(_clean(word) for word in words)


def _clean(word: str) -> str:
    return word if word.isascii() else word.encode("utf-8", "replace").decode()


def key_of(word: str) -> int:
    """A word in four bytes, as PostgreSQL counts them.

    As text, the words of a message take more space than the message. Two words may share a key: in a session
    of 100,000 different words, one query in 40,000 finds a message too many.
    """
    return zlib.crc32(_clean(word).encode()) - 2**31
