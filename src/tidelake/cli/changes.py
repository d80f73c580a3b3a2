"""Snapshots in words: what `log` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.cli import render

if TYPE_CHECKING:
    from tidelake.model.snapshot import Snapshot
    from tidelake.session.lake import Lake

_WORDS = {
    "created_schema": "created schema",
    "created_table": "created",
    "created_view": "created view",
    "created_scalar_macro": "created macro",
    "created_table_macro": "created table macro",
    "dropped_schema": "dropped schema",
    "dropped_table": "dropped",
    "dropped_view": "dropped view",
    "dropped_scalar_macro": "dropped macro",
    "dropped_table_macro": "dropped table macro",
    "inserted_into_table": "inserted into",
    "deleted_from_table": "deleted from",
    "altered_table": "altered",
    "altered_view": "altered view",
    "inlined_insert": "inserted into",
    "inlined_delete": "deleted from",
    "inline_flush": "moved rows from the catalog to files of",
    "flushed_inlined": "moved rows from the catalog to files of",
    "merge_adjacent": "merged files of",
    "rewrite_delete": "rewrote files with deletes of",
    "compacted_table": "compacted",
}
_OF_TABLES = {word for word in _WORDS if "schema" not in word and "macro" not in word}


def told(lake: Lake, snapshots: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """Snapshots as `--json` prints them, with their changes in words."""
    names = lake.names()
    return [
        {
            "snapshot_id": snapshot.snapshot_id,
            "time": snapshot.time.isoformat(),
            "author": snapshot.author,
            "message": snapshot.message,
            "changes": list(dict.fromkeys(in_words(c, names) for c in snapshot.changes)),
        }
        for snapshot in snapshots
    ]


def in_words(change: str, names: Mapping[int, str]) -> str:
    """`inserted_into_table:1` as `inserted into main.prices`."""
    kind, _, subject = change.partition(":")
    words = _WORDS.get(kind.lower(), kind.replace("_", " "))
    if not subject.isdigit():
        return f"{words} {_unquoted(subject)}"
    unknown = f"table {subject}" if kind in _OF_TABLES else subject
    return f"{words} {names.get(int(subject), unknown)}"


def _unquoted(subject: str) -> str:
    """Names are always quoted in a change; keep the quotes only where SQL needs them."""
    from tidelake.errors import Invalid
    from tidelake.model.names import TableName

    if '"."' not in subject:
        return subject.strip('"')
    try:
        return str(TableName.parse(subject))
    except Invalid:
        return subject


def print_log(snapshots: Sequence[Mapping[str, Any]], *, left_out: int = 0) -> None:
    rows = [
        [
            each["snapshot_id"],
            each["time"][:19].replace("T", " "),
            each["author"] or "",
            "; ".join(each["changes"]),
            each["message"] or "",
        ]
        for each in snapshots
    ]
    names = ["snapshot", "time (UTC)", "author", "changes", "message"]
    told_of = [n for n in range(len(names)) if n != 2 or any(row[2] for row in rows)]
    told_of = [n for n in told_of if n != 4 or any(row[4] for row in rows)]
    render.listing([names[n] for n in told_of], [[row[n] for n in told_of] for row in rows])
    if left_out:
        render.line(f"({left_out:,} older: use --limit)")
