"""Who works on a session, as several processes on one database see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from compact.server.studio import presence as presences
from compact.server.studio.presence import Presence, Work, work_in
from compact.stores import open_store
from compact.stores.sql import SqlStore

REPLY, OTHER = Work("reply", 4), Work("other", 6)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with open_store(f"sqlite:///{tmp_path}/presence.db") as store:
        store.put_session("s", title="Roof")
        yield store


@pytest.fixture
def here(store: SqlStore) -> Presence:
    return Presence(store, shared=True)


def holder(store: SqlStore) -> Work | None:
    thread = store.session("s")
    assert thread is not None
    return work_in(thread)


def test_a_session_is_claimed_by_one_at_a_time(here: Presence, store: SqlStore) -> None:
    assert here.claim("s", REPLY) is None
    refused = here.claim("s", OTHER)
    assert refused is not None and work_in(refused) == REPLY == holder(store)
    here.renew("s", Work("reply", 5))
    assert holder(store) == Work("reply", 5)


def test_a_renewal_that_comes_after_the_end_claims_nothing(here: Presence, store: SqlStore) -> None:
    here.claim("s", REPLY)
    here._change("s", REPLY, {"turn": None})
    here.renew("s", REPLY)
    assert holder(store) is None and here.claim("s", OTHER) is None


def test_whoever_was_too_slow_does_not_end_the_work_of_another(
    here: Presence, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(presences, "time", SimpleNamespace(time=lambda: now[0]))
    here.claim("s", REPLY)
    now[0] += 16  # its process hangs or was killed: the claim is worth nothing any more
    assert holder(store) is None and here.claim("s", OTHER) is None
    here.renew("s", REPLY)
    here._change("s", REPLY, {"turn": None})
    assert holder(store) == OTHER


def test_a_claim_that_ran_out_is_renewed_where_nobody_took_it(
    here: Presence, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(presences, "time", SimpleNamespace(time=lambda: now[0]))
    here.claim("s", REPLY)
    now[0] += 60
    here.renew("s", REPLY)
    assert holder(store) == REPLY


def test_a_session_that_was_deleted_does_not_come_back(here: Presence, store: SqlStore) -> None:
    here.claim("s", REPLY)
    store.delete_session("s")
    here.renew("s", REPLY)
    assert here.is_gone("s", None) and store.session("s") is None
