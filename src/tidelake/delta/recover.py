"""Ids that rows bear in their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelake.engine.local.errors import translated
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_ID_FIELD

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine


def numbered_files(engine: LocalEngine, paths: Sequence[str]) -> dict[str, int]:
    """Those of the files whose rows bear their ids, with the first id that is free after them."""
    work = engine.workbench()
    with translated("cannot read row ids"):
        work.reach(paths)
        listed = ", ".join(map(text_literal, paths))
        sql = f"SELECT file_name, name FROM parquet_schema([{listed}]) WHERE field_id = $1"
        found = work.connection.execute(sql, [ROW_ID_FIELD]).fetchall()
        return {path: _free(work.connection, path, name) for path, name in found}


def _free(connection: Any, path: str, column: str) -> int:
    sql = f"SELECT max({quote(column)}) + 1 FROM read_parquet({text_literal(path)})"
    ((found,),) = connection.execute(sql).fetchall()
    return int(found or 0)
