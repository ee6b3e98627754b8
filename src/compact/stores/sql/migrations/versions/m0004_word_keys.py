"""PostgreSQL: the words of a message as keys of four bytes; as lexemes they took more room than its text."""

from __future__ import annotations

import zlib

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_BATCH = 500


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    op.execute(
        "CREATE TABLE message_keys "
        "(message_id BIGINT NOT NULL, session_id BIGINT NOT NULL, words INTEGER[] NOT NULL)"
    )
    _copy(op.get_bind())
    op.execute("DROP TABLE message_search")
    op.execute("ALTER TABLE message_keys RENAME TO message_search")
    op.execute("ALTER TABLE message_search ADD CONSTRAINT message_search_pkey PRIMARY KEY (message_id)")
    op.execute(
        "ALTER TABLE message_search ADD CONSTRAINT message_search_message_id_fkey "
        "FOREIGN KEY (message_id) REFERENCES messages(id) ON DELETE CASCADE"
    )
    op.execute("CREATE INDEX ix_message_search_session_id ON message_search (session_id)")
    # Each search reads the whole list of rows still to be indexed: 4 MB by default, also in a small store.
    op.execute(
        "CREATE INDEX ix_message_search_words ON message_search USING GIN (words) "
        "WITH (gin_pending_list_limit = 512)"
    )


def _copy(connection: sa.Connection) -> None:
    page = sa.text(
        "SELECT message_id, session_id, tsvector_to_array(words) AS words FROM message_search "
        "WHERE message_id > :after ORDER BY message_id LIMIT :count"
    )
    add = sa.text("INSERT INTO message_keys VALUES (:id, :session, CAST(:words AS integer[]))")
    after = -1
    while rows := connection.execute(page, {"after": after, "count": _BATCH}).all():
        connection.execute(
            add,
            [{"id": row.message_id, "session": row.session_id, "words": _keys(row.words)} for row in rows],
        )
        after = rows[-1].message_id


def _keys(words: list[str]) -> list[int]:
    return sorted({zlib.crc32(word.encode()) - 2**31 for word in words})
