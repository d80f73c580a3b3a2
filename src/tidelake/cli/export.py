"""Rows as a file: `export`."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
    table_at,
)
from tidelake.cli.row_options import all_of, columns_option, listed_columns, where_option
from tidelake.errors import Denied, Invalid, TidelakeError, Unavailable
from tidelake.model import json_values
from tidelake.session.progress import TellRows, row_progress

if TYPE_CHECKING:
    from tidelake.session.lazy_rows import LazyRows


@click.command()
@click.argument("table", required=False, shell_complete=lake_names.tables)
@click.option("--sql", "query", metavar="QUERY", help="The rows of a query instead of a table's.")
@click.option("--to", metavar="FILE", required=True, help="The file; - is standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet", "jsonl", "arrow"]),
    help="The format [default: as the file's name ends].",
)
@columns_option
@where_option
@as_of_option
@known_at_option
@global_options
@pass_options
def export(options: Options, /, table: str | None, to: str, **given: Any) -> None:
    """Write rows to a file: CSV, Parquet, JSON lines or Arrow.

    Write all rows of TABLE, or of a query, into a file: CSV, Parquet, JSON lines or Arrow.
    Rows stream. The file appears when it is whole; one of that name is replaced then.

    \b
    Example:
        tidelake export prices --to prices.parquet
        tidelake export --sql "SELECT * FROM prices ORDER BY symbol" \\
            --to prices.csv
        tidelake export prices --where "price > 10" --to - --format jsonl
    """
    _check(table, to, given)
    write = _WRITERS[given["form"] or _ending(to)]
    with options.lake() as lake:
        if given["query"] is not None:
            moments = {name: given[name] for name in ("as_of", "known_at")}
            rows: LazyRows = lake.sql(given["query"], **moments)
        else:
            found = table_at(lake, str(table), given["known_at"])
            rows = found.scan(
                columns=listed_columns(given["lists"]),
                where=all_of(given["conditions"]),
                as_of=given["as_of"],
            )
        if to == "-":
            write(rows.to_batches(), sys.stdout.buffer)
            return
        whole = given["query"] is None and not given["conditions"] and given["as_of"] is None
        total = found.count() if whole else None
        with (
            _whole_file(Path(to).resolve()) as file,
            row_progress(f"exporting to {to}", total) as tell,
        ):
            count = write(_Counted(rows.to_batches(), tell), file)
    size = Path(to).stat().st_size
    if options.as_json:
        render.document({"file": to, "rows": count, "bytes": size})
    else:
        render.line(f"{to}: {count:,} {'row' if count == 1 else 'rows'}, {size:,} bytes")


class _Counted:
    """Batches that are told of as they pass."""

    def __init__(self, batches: Any, tell: TellRows) -> None:
        self._batches = batches
        self._tell = tell
        self.schema = batches.schema

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            yield batch
            self._tell(batch.num_rows, batch.nbytes)


def _check(table: str | None, to: str, given: dict[str, Any]) -> None:
    from tidelake.sql.run import is_query

    if (table is None) == (given["query"] is None):
        raise click.UsageError("give TABLE or --sql, one of them")
    if given["query"] is not None and (given["lists"] or given["conditions"]):
        raise click.UsageError("--columns and --where go with TABLE, not with --sql")
    if given["query"] is not None and not is_query(given["query"]):
        raise click.UsageError("--sql takes a SELECT")
    if "://" in to:
        raise Invalid(f"{to} is no file on this machine", hint="export to a file, and copy that")
    if to != "-" and os.path.exists(to) and not os.path.isfile(to):  # noqa: PTH110, PTH113 - any name
        raise Invalid(
            f"{to} is there and is no file", hint="name another, or - for standard output"
        )


def _ending(to: str) -> str:
    found = Path(to).suffix.lower().lstrip(".")
    if found not in _WRITERS:
        raise click.UsageError(f"say what to write: --format {'|'.join(_WRITERS)}")
    return found


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name when all is in it, and is gone if that fails."""
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, TidelakeError):
            raise _not_written(path, error) from error
        raise


def _not_written(path: Path, error: OSError) -> TidelakeError:
    said = f"cannot write {path}: {error.strerror or error}"
    if error.errno == errno.ENOSPC:
        return Unavailable(said, hint="free some space, then try again")
    if isinstance(error, PermissionError):
        return Denied(said, hint="check the permissions of the folder, or name another file")
    return Invalid(said, hint="name another file")


def _write_csv(batches: Any, file: IO[bytes]) -> int:
    """Null is an empty field, and an empty text is two quotes."""
    file.write((",".join(map(_quoted, batches.schema.names)) + "\r\n").encode())
    count = 0
    for batch in batches:
        lines = (",".join(map(_field, row)) + "\r\n" for row in json_values.rows(batch))
        file.write("".join(lines).encode())
        count += batch.num_rows
    return count


def _field(value: Any) -> str:
    if value is None:
        return ""
    return _quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _quoted(text: str) -> str:
    if text and not any(sign in text for sign in '",\r\n') and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'


def _write_jsonl(batches: Any, file: IO[bytes]) -> int:
    names = batches.schema.names
    count = 0
    for batch in batches:
        rows = (dict(zip(names, row, strict=True)) for row in json_values.rows(batch))
        file.write("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode())
        count += batch.num_rows
    return count


def _write_parquet(batches: Any, file: IO[bytes]) -> int:
    from tidelake.engine.parquet.row_file import write_parquet

    return write_parquet(batches, file)


def _write_arrow(batches: Any, file: IO[bytes]) -> int:
    from tidelake.engine.parquet.row_file import write_arrow

    return write_arrow(batches, file)


_WRITERS: dict[str, Callable[[Any, IO[bytes]], int]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
    "arrow": _write_arrow,
}
