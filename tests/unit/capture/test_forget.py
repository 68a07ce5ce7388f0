"""A text that was forgotten is in no byte of the store, and the chain still proves the rest."""

import contextlib
import json
import os
import zlib
from pathlib import Path

import pytest

from swapcache import config, paths
from swapcache.capture import events, forget, story
from swapcache.errors import SealError
from swapcache.model import Event, Identity
from swapcache.store import forgetting, identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.wake import wake
from tests.rows import Claude

SECRET = 'Grüße an "Frau Özil" / 13'
OTHER = "the boiler is loud"


def whose(project: Path, home: Path) -> Identity:
    return identity.identify("claude-code", str(home / ".claude"), str(project))


@pytest.fixture
def store_id(project: Path, home: Path) -> str:
    """A store in which the text stands wherever it can."""
    rows = Claude(home / "t.jsonl", cwd=str(project))
    event = Event("claude-code", "turn-end", whose(project, home), "s1", "s1", str(rows.path))
    with contextlib.closing(open_store(event.identity)) as store:
        for number in range(3):
            rows.user(f"{OTHER} {number}")
            rows.user(f"write {SECRET} down")
            rows.say(f"I wrote {SECRET}")
            rows.call(f"c{number}", "Bash", command=f"echo '{SECRET}' > a")
            rows.result(f"c{number}", json.dumps({"said": SECRET}), error=number == 1)
            rows.raw(f"not JSON: {SECRET}\n".encode())
            events.record(store, event, config.DEFAULTS)
        started = event._replace(name="start", session_id="s2", session_key="s2", transcript="")
        wake.start(store, started, config.DEFAULTS)
        late = event._replace(name="prompt", prompt=f"again {SECRET}", transcript="")
        events.record(store, late, config.DEFAULTS)
        return store.id


def scan(store_id: str, text: str) -> list[str]:
    """Where a text stands, by a search that shares no code with ours: every column of every table,
    chunks unpacked, and the raw files."""
    spellings = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    spellings |= {json.dumps(s)[1:-1] for s in list(spellings)}
    spellings |= {json.dumps(s, ensure_ascii=False)[1:-1] for s in list(spellings)}
    wanted = [s.encode() for s in spellings]
    found = []
    with contextlib.closing(Store(store_id)) as store:
        for table in ("chunk", "record", "state", "session", "source", "damage", "receipt"):
            for row in store.db.execute(f"SELECT * FROM {table}"):
                for value in row:
                    data = value.encode() if isinstance(value, str) else value
                    if isinstance(data, bytes):
                        data = zlib.decompress(data) if table == "chunk" else data
                        found += [f"{table}: {data[:60]!r}" for w in wanted if w in data]
    for name in os.listdir(paths.store_dir(store_id)):
        data = Path(paths.store_dir(store_id), name).read_bytes()
        found += [name for w in wanted if w in data]
    return found


def test_a_text_is_gone_and_the_chain_still_holds(store_id: str) -> None:
    assert scan(store_id, SECRET)
    text = forgetting.text_of(SECRET)
    with contextlib.closing(Store(store_id)) as store:
        before = {r.seq: (r.meta, good) for r, good in store.read(0, 1 << 62)}
        anchor = store.head()
        masked = forget.forget(store, text)
        assert len(masked) >= 12
        assert forget.search(store, text).nothing
        assert store.verify().good
        assert store.tag(anchor[0]) == anchor[1], "an anchor from before still fits"
        for seq, (meta, _) in before.items():
            found = store.record(seq)
            assert found is not None and found[1] and found[0].meta == meta
    assert scan(store_id, SECRET) == []
    assert scan(store_id, OTHER), "everything else is still there"
    assert scan(store_id, forgetting.MASK)


def test_what_is_told_afterwards_equals_a_fold_of_the_records(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        forget.forget(store, forgetting.text_of(SECRET))
        for session in sessions.sessions(store.db):
            row = sessions.load_state(store.db, store.keys, session.number)
            assert row is not None
            assert row[1] == story.refold(store, session)[0].dump()
            assert SECRET not in row[1] + row[2]


def test_a_masked_record_that_is_edited_again_is_found(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        (first, *_) = forget.forget(store, forgetting.text_of(SECRET))
        (number,) = store.db.execute("SELECT chunk FROM record WHERE seq=?", (first,)).fetchone()
        data = store.chunk(number).replace(b"[forgotten]", b"[rewritten]")
        store.db.execute("UPDATE chunk SET data=? WHERE id=?", (zlib.compress(data), number))
    with contextlib.closing(Store(store_id)) as store:
        assert store.verify().name == "PREFIX"


def test_more_can_be_forgotten_later(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        forget.forget(store, forgetting.text_of(SECRET))
        forget.forget(store, forgetting.text_of(OTHER))
        assert store.verify().good
    assert scan(store_id, SECRET) == scan(store_id, OTHER) == []


def test_nothing_is_taken_out_of_a_broken_chain(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        store.db.execute("UPDATE head SET mac='0'")
    with contextlib.closing(Store(store_id)) as store:
        before = scan(store_id, SECRET)
        with pytest.raises(SealError):
            forget.forget(store, forgetting.text_of(SECRET))
        assert scan(store_id, SECRET) == before


def test_a_text_that_is_not_there_changes_nothing(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        head = store.head()
        text = forgetting.text_of("never said by anybody")
        assert forget.search(store, text).nothing
        assert forget.forget(store, text) == []
        assert store.head() == head


def test_a_row_whose_structure_is_hit_stays_readable(store_id: str) -> None:
    with contextlib.closing(Store(store_id)) as store:
        forget.forget(store, forgetting.text_of('"role": "user", "content"'))
        assert store.verify().good
        bodies = [r.body for r, _ in store.read(0, 1 << 62) if b"forgotten" in r.body]
        assert all(json.loads(body) for body in bodies if body.startswith(b'{"type"'))
