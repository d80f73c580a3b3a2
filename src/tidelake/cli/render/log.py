"""Snapshots in words: what `log` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.cli import render

if TYPE_CHECKING:
    from tidelake.history.values import LogEntry
    from tidelake.lake.lake import Lake

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


def entries(lake: Lake, snapshots: Sequence[LogEntry]) -> list[dict[str, Any]]:
    """Snapshots as `--json` prints them, with their changes in words."""
    names = lake.names()
    return [
        {
            "snapshot_id": snapshot.snapshot_id,
            "time": snapshot.time.isoformat(),
            "author": snapshot.author,
            "message": snapshot.message,
            "operation": snapshot.operation,
            "tables": list(snapshot.tables),
            "changes": list(dict.fromkeys(in_words(c, names) for c in snapshot.changes)),
            "inserted": snapshot.inserted,
            "updated": snapshot.updated,
            "deleted": snapshot.deleted,
            "files": snapshot.files,
            "bytes": snapshot.bytes,
            "seconds": snapshot.seconds,
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


def print_log(snapshots: Sequence[Mapping[str, Any]], *, more: bool = False) -> None:
    """A line for each; columns that would be empty are left out. `more`: there are older ones."""
    lines = [
        {
            "snapshot": each["snapshot_id"],
            "time (UTC)": each["time"][:19].replace("T", " "),
            "author": each["author"] or "",
            "operation": _operation(each),
            "rows": _rows(each),
            "files": _number(each["files"]),
            "took": _took(each["seconds"]),
            "message": each["message"] or "",
        }
        for each in snapshots
    ]
    always = ("snapshot", "time (UTC)", "operation")
    columns = [n for n in (lines[0] if lines else always) if n in always or _any(lines, n)]
    render.grid(columns, [[line[name] for name in columns] for line in lines])
    if more:
        render.line("(there are older: use --limit)")


def _any(lines: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(line[name] for line in lines)


def _operation(snapshot: Mapping[str, Any]) -> str:
    """`append main.prices`; where no table is concerned, the changes themselves."""
    if not snapshot["tables"]:
        return "; ".join(snapshot["changes"])
    return f"{snapshot['operation']} {', '.join(snapshot['tables'])}"


def _rows(snapshot: Mapping[str, Any]) -> str:
    """`+5 ~3 -2`: inserted, updated and deleted; ? where nobody knows."""
    signs = {"inserted": "+", "updated": "~", "deleted": "-"}
    shown = {name: _number(snapshot[name]) for name in signs}
    if set(shown.values()) == {"?"}:
        return "?"
    return " ".join(f"{signs[name]}{count}" for name, count in shown.items() if count)


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}" if count else ""


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"
