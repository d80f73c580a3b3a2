"""A Parquet file without rows, to be read beside one with rows."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.model.names import text_literal

if TYPE_CHECKING:
    import duckdb

    from tidelake.scratch import Scratch

_FIELD_ID = 2147483000
"""No column has it."""


def empty_file(connection: duckdb.DuckDBPyConnection, scratch: Scratch) -> str | None:
    """The one of this folder, which is made when it is first needed; None if nobody named a place
    for files."""
    if not scratch.path:
        return None
    path = Path(scratch.path, "empty.parquet")
    if not path.exists():
        begun = path.with_suffix(f".{secrets.token_hex(4)}")
        connection.execute(
            f"COPY (SELECT 1 AS a WHERE false) TO {text_literal(str(begun))}"
            f" (FORMAT parquet, FIELD_IDS {{a: {_FIELD_ID}}})"
        )
        begun.replace(path)
    return str(path)
