"""Tokens that have been used up: what each was used for, and what came of it.

A caller gives a token with `once=`. It is written in the transaction of the commit that it is for,
so it is there if and only if that is. A token `NAME/NUMBER` is of the stream NAME: as long as the
lake lives, the last one of a stream is kept, because a stream that starts again begins with that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.errors import Corrupt, Invalid
from tidelake.model.change import WriteResult
from tidelake.model.terms import Purpose

TABLE = "tidelake_once"
own_tables.know(
    {
        TABLE: OwnTable(
            "token name!, snapshot_id int, operation text, names text, result text,"
            " stream name, stream_number int, made_at time",
            needed="token snapshot_id operation names result",
            index=("tidelake_once_stream", "stream"),
            wall="token",
        )
    }
)
_COLUMNS = (
    "token",
    "snapshot_id",
    "operation",
    "names",
    "result",
    "stream",
    "stream_number",
    "made_at",
)
_COUNTS = tuple(
    each.name
    for each in fields(WriteResult)
    if each.name not in ("snapshot_id", "attempts", "duplicate", "commit_ms")
)
_STREAM = re.compile(r"(.+)/([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class OnceRecord:
    """A token that has been used. `result` is that of the first time, called a duplicate."""

    token: str
    purpose: Purpose
    result: WriteResult

    def check(self, wanted: Purpose) -> None:
        """Raise Invalid if it was used for something else."""
        if not wanted.fits(self.purpose):
            raise Invalid(
                f"the token {self.token!r} was used for {self.purpose}"
                f" (snapshot {self.result.snapshot_id}), and now for {wanted}",
                hint="give every job a token of its own",
            )


class TokenFound(Exception):
    """Somebody has committed under the token already: nothing is to be done."""

    def __init__(self, result: WriteResult) -> None:
        super().__init__("the token has been used")
        self.result = result


def find(reader: Reader, token: str) -> OnceRecord | None:
    if not reader.has_table(TABLE):
        return None
    row = reader.row(
        f"SELECT snapshot_id, operation, names, result FROM {TABLE} WHERE token = :token",
        token=token,
    )
    if row is None:
        return None
    at, operation, names, result = row
    try:
        counts = {key: value for key, value in json.loads(result).items() if key in _COUNTS}
        purpose = Purpose(operation, tuple(map(str, json.loads(names))))
        return OnceRecord(token, purpose, WriteResult(at, duplicate=True, **counts))
    except (ValueError, TypeError, AttributeError):
        raise Corrupt(
            f"what {TABLE} says of the token {token!r} is no JSON",
            hint=f"look whether the job is done, and delete the row from {TABLE}",
        ) from None


def ensure(writer: Writer) -> None:
    own_tables.ensure(writer, TABLE)


def put(writer: Writer, token: str, purpose: Purpose, result: WriteResult) -> None:
    """Requires: the table is there, and the token is not in it."""
    match = _STREAM.fullmatch(token)
    counts = {key: value for key, value in asdict(result).items() if key in _COUNTS and value}
    values = (
        token,
        result.snapshot_id,
        purpose.operation,
        json.dumps(purpose.names, ensure_ascii=False),
        json.dumps(counts),
        match[1] if match else None,
        int(match[2]) if match else None,
        writer.dialect.moment(datetime.now(UTC)),
    )
    writer.insert_values(TABLE, _COLUMNS, [values])


def outlived_tokens(reader: Reader) -> list[str]:
    """Tokens whose snapshots are gone, but for the last ones of their streams."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(
        f"SELECT token, stream, stream_number FROM {TABLE} o WHERE NOT EXISTS"
        " (SELECT 1 FROM ducklake_snapshot s WHERE s.snapshot_id = o.snapshot_id)"
    )
    last = dict(
        reader.rows(
            f"SELECT stream, max(stream_number) FROM {TABLE} WHERE stream IS NOT NULL"
            " GROUP BY stream"
        )
        if rows
        else ()
    )
    return [token for token, stream, number in rows if stream is None or number != last.get(stream)]


def forget(writer: Writer, tokens: Sequence[str]) -> None:
    given = {f"token{place}": token for place, token in enumerate(tokens)}
    listed = ", ".join(f":{name}" for name in given)
    writer.execute(f"DELETE FROM {TABLE} WHERE token IN ({listed})", **given)
