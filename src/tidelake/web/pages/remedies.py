"""Doing something about what was found: what it would do first, then the thing itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from tidelake.drawing.amounts import quantity
from tidelake.errors import Invalid
from tidelake.web.site import Ask


def run(ask: Ask, given: dict[str, Any]) -> Response:
    """A remedy, or with `dry_run` what it would do."""
    operation = str(given.get("operation", ""))
    table = str(given.get("table") or "") or None
    age = str(given.get("older_than") or "") or None
    dry = bool(given.get("dry_run", True))
    if not dry:
        ask.check_writable()
    lake = ask.lake
    known: dict[str, Callable[[], object]] = {
        "compact": lambda: (
            lake.compact(dry_run=dry) if table is None else lake.table(table).compact(dry_run=dry)
        ),
        "expire": lambda: lake.expire(age, dry_run=dry),
        "cleanup": lambda: lake.cleanup(age, dry_run=dry),
        "drop_rollups": lambda: _of_table(ask, table, dry=dry),
        "sync_mirrors": lambda: _mirrors(ask, dry=dry),
    }
    if operation not in known:
        raise Invalid(f"there is no remedy {operation!r}", hint="load the page again")
    return ask.json({"dry_run": dry, "text": str(known[operation]())})


def _of_table(ask: Ask, table: str | None, *, dry: bool) -> str:
    if table is None:
        raise Invalid("it is not said of which table", hint="load the page again")
    found = ask.lake.table(table)
    if dry:
        return f"would drop {len(found.rollups()):,} rollups of {table}"
    return f"dropped {found.drop_rollups():,} rollups of {table}"


def _mirrors(ask: Ask, *, dry: bool) -> str:
    behind = [each for each in ask.lake.mirrors() if each.behind]
    if dry:
        told = (
            f"would publish {quantity(each.behind, 'commit')} of {each.table}" for each in behind
        )
        return "\n".join(told) or "nothing to publish"
    stands = (f"{each.table}: {each.behind:,} behind" for each in ask.lake.sync_mirrors())
    return "\n".join(stands) or "there are no mirrors"
