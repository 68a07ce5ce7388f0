"""With which session a record lies, and whether its seal says the same.

The metadata of records are sealed; the rows of sources and sessions, which say whose they are, are
not. Owns the comparison. Promises work that grows with what came behind a record. Never checks a
seal: `Store.linked` does, before the metadata are believed.
"""

import sqlite3


def newest(db: sqlite3.Connection, session: int) -> int:
    """Sequence number of the newest record that lies with a session, -1 for none."""
    row = db.execute(
        "SELECT max((SELECT seq FROM record WHERE source = source.number"
        "  ORDER BY position DESC LIMIT 1)) FROM source WHERE session=?",
        (session,),
    ).fetchone()
    return -1 if row[0] is None else int(row[0])


def astray(db: sqlite3.Connection, after: int) -> int | None:
    """The first record behind record `after` (-1: of all) that lies elsewhere than its seal says.

    None when there is none. A person who adopts a store takes what is in it as it lies.
    """
    row = db.execute(
        "SELECT min(record.seq) FROM record"
        " LEFT JOIN source ON source.number = record.source"
        " LEFT JOIN session ON session.number = source.session"
        " WHERE record.seq > (SELECT coalesce(max(seq), ?1) FROM record WHERE seq > ?1"
        "  AND json_extract(meta, '$.kind') = 'trust' AND json_extract(meta, '$.event') = 'adopt')"
        " AND json_extract(meta, '$.kind') IN ('raw', 'statement')"
        " AND (json_extract(meta, '$.session') IS NOT session.id"
        "  OR coalesce(json_extract(meta, '$.window'), 0) IS NOT session.window)",
        (after,),
    ).fetchone()
    return None if row[0] is None else int(row[0])
