"""Receipts: proof of what was injected, and what a session took over with it.

Owns the record of an injection. Promises that what is read back is byte for byte what the host was
given, or an error. Never renders.
"""

from __future__ import annotations

import json

from swapcache.capture import capture
from swapcache.errors import StoreError
from swapcache.model import SYSTEM, Message, NewRecord, Receipt, Session
from swapcache.store import sessions
from swapcache.store.store import Store, now
from swapcache.wake.scene import Scene, known, taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swapcache.wake.wake import Woken

KIND = "wake"
TAKEN_OVER = (
    "next",
    "task",
    "request",
    "unknown",
    "question",
    "decision",
    "constraint",
    "insight",
    "error",
    "change",
    "commit",
    "fact",
    "done",
    "discussed",
    "name",
    "plan",
)


def keep(store: Store, found: Scene, woken: Woken, epoch: str) -> bool:
    """Seals what was injected, and what the session took over with it.

    False, and nothing is kept, when somebody else took the same work over meanwhile.
    """
    with store.writing() as writer:
        me = sessions.session(store.db, found.me.number)
        ledger = capture.Ledger(store, writer, me)
        parent = None
        if woken.form == "full" and found.subject and found.subject.number != me.number:
            parent = found.subject.number
            if taken(store, parent, me.number):
                return False
            if not take_over(store, ledger, found.subject):
                parent = None
        meta = {
            "at": woken.at,
            "cause": woken.cause,
            "epoch": epoch,
            "form": woken.form,
            "kind": KIND,
            "omitted": woken.omitted,
            "origin": SYSTEM,
            "session": me.id,
            "tokens": woken.tokens,
            "verdict": woken.verdict.name,
            "wall": now(),
            "withheld": woken.withheld,
        }
        seq = writer.append([NewRecord(woken.text.encode("utf-8", "replace"), meta)])
        sessions.add_receipt(store.db, seq, me.number, epoch)
        ledger.save(parent=parent)
    return True


def take_over(store: Store, ledger: capture.Ledger, subject: Session) -> bool:
    """Puts what `subject` left open into the ledger's session. Inside a writing transaction.

    False, and nothing is put, when something may have been taken away from it: what was shown as
    unverified notes must not be sealed as this session's own.
    """
    found = known(store, subject)
    if not found.whole:
        return False
    items = [i for i in found.state.items if i.kind in TAKEN_OVER and i.record >= 0]
    text = json.dumps(items, ensure_ascii=False)
    ledger.state_record(Message("system", "inherited", text, SYSTEM, now()), "wake")
    return True


def answers(store: Store, seq: int) -> int:
    """Answers of the model in the session of the receipt at `seq` since then: each was a request
    that carried the injected text."""
    (session,) = store.db.execute("SELECT session FROM receipt WHERE seq=?", (seq,)).fetchone()
    query = (
        "SELECT count(*) FROM record JOIN source ON record.source = source.number"
        " WHERE source.session=? AND seq>? AND json_extract(meta, '$.role')='assistant'"
    )
    return int(store.db.execute(query, (session, seq)).fetchone()[0])


def shown(store: Store, me: Session, epoch: str) -> Receipt | None:
    """What a session was shown in this epoch, if its sealed record says the same.

    The row that names the record is not sealed: it may name another one, or none.
    """
    seq = sessions.receipt(store.db, me.number, epoch)
    found = None if seq is None else store.record(seq)
    if seq is None or found is None or not found[1]:
        return None
    meta = found[0].meta
    if (meta.get("kind"), meta.get("epoch"), meta.get("session")) != (KIND, epoch, me.id):
        return None
    return read(store, seq)


def read(store: Store, seq: int) -> Receipt:
    """The receipt at `seq`. Raises StoreError when it is none or does not verify."""
    found = store.record(seq)
    if found is None or not found[1] or found[0].meta.get("kind") != KIND:
        raise StoreError(f"receipt #{seq} does not verify; run: swapcache verify --full")
    meta, text = found[0].meta, found[0].body.decode("utf-8", "replace")
    return Receipt(
        seq,
        str(meta["session"]),
        str(meta["epoch"]),
        str(meta["form"]),
        str(meta["cause"]),
        str(meta["verdict"]),
        str(meta["at"]),
        str(meta["wall"]),
        text,
        int(meta["tokens"]),
        int(meta["omitted"]),
        int(meta["withheld"]),
    )
