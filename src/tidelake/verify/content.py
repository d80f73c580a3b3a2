"""What rows hold, as one number that anybody can recompute: the same for the same rows and columns,
whatever their order, their ids and the files they lie in.

How a row is hashed is part of the format (docs/format.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.model.names import quote
from tidelake.model.schema import Column
from tidelake.plan.scan import ScanPlan
from tidelake.session.session import Session
from tidelake.verify.fingerprint_sql import digest_sql
from tidelake.verify.values import Content

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_WORD = 1 << 64
_TASK_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class RowsHash:
    """How many rows, and the fingerprint of them."""

    rows: int
    fingerprint: str


def rows_hash(session: Session, plan: ScanPlan) -> RowsHash:
    """Of the rows of a plan: files are read by tasks of the lake's engine, rows of the catalog
    here. Requires: the plan gives all columns that it reads, or filters by those that it gives."""
    doing = f"cannot read {plan.table}"
    found = Content()
    with session.engine.job(doing) as job:
        for each in job.run(_tasks(plan), _read):
            found = found.plus(each)
    if any(inlined.rows for inlined in plan.inlined):
        with session.local.job(doing) as job:
            for each in job.run([replace(plan, files=())], _read):
                found = found.plus(each)
    return RowsHash(found.rows, _fingerprint(found, _given(plan)))


def _tasks(plan: ScanPlan) -> list[ScanPlan]:
    """Some files each."""
    groups: list[list[int]] = []
    size = _TASK_BYTES
    for place, file in enumerate(plan.files):
        if size >= _TASK_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(place)
        size += file.bytes
    return [
        replace(plan, files=tuple(plan.files[place] for place in group), inlined=())
        for group in groups
    ]


def _given(plan: ScanPlan) -> list[Column]:
    known = {column.name: column for column in plan.columns}
    return [known[name] for name in plan.output]


def _read(work: Workbench, plan: ScanPlan) -> Content:
    columns = _given(plan)
    digest = digest_sql([(column, f"_tidelake_r.{quote(column.name)}") for column in columns])
    sql = (
        "SELECT count(*), COALESCE(sum(('0x' || substring(d, 1, 16))::UBIGINT::HUGEINT), 0),"
        " COALESCE(sum(('0x' || substring(d, 17, 16))::UBIGINT::HUGEINT), 0)"
        f" FROM (SELECT {digest} AS d FROM ({work.scan(plan)}) AS _tidelake_r)"
    )
    ((rows, upper, lower),) = work.run(
        f"cannot read {plan.table}", lambda: work.connection.execute(sql).fetchall()
    )
    return Content(int(rows), int(upper), int(lower))


def _fingerprint(content: Content, columns: Sequence[Column]) -> str:
    sums = f"{content.upper % _WORD:016x}{content.lower % _WORD:016x}"
    text = f"{_described(columns)}\n{content.rows}\n{sums}"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _described(columns: Iterable[Column]) -> str:
    """Names and types; not ids, which the same columns of another table have too."""
    return ",".join(f"{c.name} {c.type}({_described(c.children)})" for c in columns)
