"""Checks of files against what the catalog says of them, from their footers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tidelake.engine.parquet.footer import Footer, FooterField, footers
from tidelake.engine.parquet.footer_statistics import Evidence, of_field
from tidelake.engine.parquet.puffin import positions
from tidelake.errors import TidelakeError
from tidelake.model.bounds import is_above, is_below
from tidelake.model.file import MappedField
from tidelake.model.names import fold
from tidelake.model.schema import ROW_ID_FIELD, ROW_SNAPSHOT_FIELD, Column
from tidelake.model.statistics import UNCOUNTED
from tidelake.verify.values import CheckedFile, Problem

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

AT_ONCE = 256
_RESTORE = "restore the file from a copy; it cannot be made again from the catalog"
_ROW_ID = Column(ROW_ID_FIELD, "_ducklake_internal_row_id", "int64")
_SNAPSHOT = Column(ROW_SNAPSHOT_FIELD, "_ducklake_internal_snapshot_id", "int64")
_POSITION = Column(2147483645, "pos", "int64")

Check = Callable[[CheckedFile, Footer], Iterator[Problem]]


def problem(check: str, file: CheckedFile, what: str, mend: str) -> Problem:
    return Problem(check, what, mend, table=file.table, file=file.path)


def presence(file: CheckedFile, size: int | None) -> Iterator[Problem]:
    """Every file is there, with its size."""
    if size is None:
        yield problem("missing-files", file, "the file is not there", _RESTORE)
    elif size != file.bytes:
        what = f"the file has {size:,} bytes, and the catalog says {file.bytes:,}"
        yield problem("file-sizes", file, what, f"{_RESTORE}. Was it overwritten?")


def check_files(work: Workbench, files: Sequence[CheckedFile]) -> list[Problem]:
    """What the footers of files that are there, of the right size, contradict."""
    found: list[Problem] = []
    plain = [f for f in files if not f.is_encrypted and f.format == "parquet"]
    for start in range(0, len(plain), AT_ONCE):
        for file, footer in _footers(work, plain[start : start + AT_ONCE]):
            if isinstance(footer, Footer):
                found += _against(file, footer)
            else:
                found.append(problem("unreadable-files", file, footer.message, _RESTORE))
    for file in files:
        if file.format == "puffin":
            found += _vector(work, file)
    return found


def _footers(
    work: Workbench, files: Sequence[CheckedFile]
) -> Iterable[tuple[CheckedFile, Footer | TidelakeError]]:
    """All at once; one by one if that fails, to find those that are to blame."""
    paths = list(dict.fromkeys(file.path for file in files))
    try:
        found = dict(zip(paths, footers(work.connection, paths), strict=True))
        return [(file, found[file.path]) for file in files]
    except TidelakeError:
        return [(file, _footer(work, file.path)) for file in files]


def _footer(work: Workbench, path: str) -> Footer | TidelakeError:
    try:
        return footers(work.connection, [path])[0]
    except TidelakeError as error:
        return error


def _against(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    checks = DATA_CHECKS if file.deletes_from is None else DELETE_CHECKS
    for check in checks:
        yield from check(file, footer)


def footer_size(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """The footer is as long as the catalog says: DuckDB reads that many bytes."""
    if file.footer_size is not None and file.footer_size != footer.size:
        yield problem(
            "footer-sizes",
            file,
            f"the footer has {footer.size} bytes, and the catalog says {file.footer_size}",
            f"set footer_size to {footer.size}, or to NULL",
        )


def row_count(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    if footer.rows != file.rows:
        yield problem(
            "row-counts",
            file,
            f"the file has {footer.rows:,} rows, and the catalog says {file.rows:,}",
            f"{_RESTORE}. If the file is right, set record_count",
        )


def _has_values(file: CheckedFile, field: MappedField) -> bool:
    """Whether the catalog is sure that the file has values of a column: one that came to the table
    later may be mapped, and not be there."""
    known = file.statistics.get(field.field_id)
    if known is not None and known.value_count:
        return True
    return any(_has_values(file, child) for child in field.children)


def field_ids(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """Fields say which columns they are, down to the last."""
    if file.mapping is not None:
        there = {fold(field.name) for field in footer.fields}
        for each in file.mapping:
            missing = not each.is_partition and fold(each.source_name) not in there
            if missing and _has_values(file, each):
                yield problem(
                    "field-ids",
                    file,
                    f"the name mapping knows a field {each.source_name!r} that the file has not",
                    "register the file again with t.add_files()",
                )
        return
    numbered = {field.id: field for field in footer.fields if field.id is not None}
    nameless = [
        column.name for column in file.columns if not _is_numbered(column, numbered.get(column.id))
    ]
    if not numbered or nameless:
        said = f"within {', '.join(nameless)}" if numbered else "of any column"
        yield problem(
            "field-ids",
            file,
            f"the file has neither field ids {said} nor a name mapping",
            "register the file again with t.add_files(), which makes a mapping",
        )


def _is_numbered(column: Column, field: FooterField | None) -> bool:
    if field is None or not column.is_nested or not field.children:
        return True
    below = {child.id: child for child in field.children}
    return None not in below and all(
        _is_numbered(child, below.get(child.id)) for child in column.children
    )


def row_ids(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """Every row has an id, below the next that will be given."""
    embedded = _own(footer, _ROW_ID)
    if embedded is None and file.row_id_start is None:
        yield problem(
            "row-ids",
            file,
            "the rows have no ids, neither in the file nor by row_id_start",
            "set row_id_start to next_row_id of ducklake_table_stats, and raise that by the"
            " number of rows",
        )
        return
    start = file.row_id_start or 0
    highest = start + file.rows - 1 if embedded is None else _highest(embedded)
    if file.rows and highest is not None and highest > file.last_row_id:
        yield problem(
            "row-ids",
            file,
            f"the file has the row id {highest}, but the next one to be given is"
            f" {file.last_row_id + 1}",
            f"set ducklake_table_stats.next_row_id to at least {highest + 1}",
        )


def partial_files(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """A file of several snapshots says of each row which it is of."""
    embedded = _own(footer, _SNAPSHOT)
    if file.partial_max is None:
        return
    if embedded is None:
        yield problem(
            "partial-files",
            file,
            f"partial_max is {file.partial_max}, but the rows do not say which snapshots they"
            " are of",
            "restore the file; or set partial_max to NULL if all rows are of begin_snapshot",
        )
        return
    highest, lowest = _highest(embedded), _lowest(embedded)
    if highest is not None and highest > file.partial_max:
        yield problem(
            "partial-files",
            file,
            f"the file has rows of snapshot {highest}, and partial_max is {file.partial_max}",
            f"set partial_max to {highest}: older snapshots see these rows now",
        )
    if lowest is not None and lowest < file.begin_snapshot:
        yield problem(
            "partial-files",
            file,
            f"the file has rows of snapshot {lowest}, and begins at {file.begin_snapshot}",
            f"set begin_snapshot to {lowest}: older snapshots miss these rows now",
        )


def file_statistics(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """Statistics of the catalog hold all that the footer's hold: files are skipped by them."""
    for column, field in _leaves(file, footer):
        known = file.statistics.get(column.id)
        if known is None:
            continue
        seen = of_field(footer, column, field)
        wrong = [
            f"a value {text!r} beyond {bound!r}"
            for text, bound in (
                *((low, known.min) for low in seen.lows or ()),
                *((high, known.max) for high in seen.highs or ()),
            )
            if is_below(column.type, text, known.min) or is_above(column.type, text, known.max)
        ]
        if column.type not in UNCOUNTED and not field.is_repeated:
            wrong += _miscounted("nulls", seen.nulls, known.null_count)
            wrong += _miscounted("values", seen.values, known.value_count)
        if wrong:
            yield problem(
                "file-statistics",
                file,
                f"column {column.name} has {'; '.join(wrong)}",
                "set the column's row of ducklake_file_column_stats to what the file has, or"
                " delete that row",
            )


def _miscounted(what: str, seen: int | None, said: int | None) -> list[str]:
    if seen is None or said is None or seen == said:
        return []
    return [f"{seen} {what} where the catalog says {said}"]


def _leaves(file: CheckedFile, footer: Footer) -> Iterator[tuple[Column, FooterField]]:
    fields: dict[int, FooterField] = {}
    _number(footer.fields, file.mapping, fields)
    for column in file.columns:
        for leaf in column.leaves():
            field = fields.get(leaf.id)
            if field is not None and field.leaf is not None:
                yield leaf, field


def _number(
    found: Sequence[FooterField],
    mapping: Sequence[MappedField] | None,
    into: dict[int, FooterField],
) -> None:
    by_name = {fold(each.source_name): each for each in mapping or ()}
    for field in found:
        mapped = by_name.get(fold(field.name))
        number = field.id if mapping is None else mapped.field_id if mapped else None
        if number is not None:
            into[number] = field
            _number(field.children, mapped.children if mapped else mapping, into)


def delete_positions(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """Deletes are of rows that the data file has, and of snapshots that there have been."""
    if len(footer.fields) < 2:
        yield problem("unreadable-files", file, "a delete file needs two columns", _RESTORE)
        return
    where = of_field(footer, _POSITION, footer.fields[1])
    highest, lowest = _highest(where), _lowest(where)
    outside = [p for p in (lowest, highest) if p is not None and not 0 <= p < _rows_below(file)]
    if outside:
        yield problem(
            "delete-positions",
            file,
            f"the file deletes row {outside[0]} of {_rows_below(file)}",
            "restore the delete file, or the data file that it is of",
        )
    if len(footer.fields) > 2 and footer.fields[2].name == _SNAPSHOT.name:
        latest = _highest(of_field(footer, _SNAPSHOT, footer.fields[2]))
        if latest is not None and latest > file.last_snapshot:
            yield problem(
                "delete-positions",
                file,
                f"the file deletes rows at snapshot {latest}, which has not been",
                "restore the delete file; or was the newest snapshot lost?",
            )


def delete_count(file: CheckedFile, footer: Footer) -> Iterator[Problem]:
    """DuckDB counts rows by it."""
    if footer.rows != file.rows:
        yield _miscounting(file, footer.rows)


def _miscounting(file: CheckedFile, number: int) -> Problem:
    return problem(
        "delete-counts",
        file,
        f"the file deletes {number:,} rows, and the catalog says {file.rows:,}",
        f"set delete_count to {number}; count(*) is wrong until then",
    )


def _vector(work: Workbench, file: CheckedFile) -> Iterator[Problem]:
    try:
        gone = positions(work.store.read(file.path), file.path)
    except TidelakeError as error:
        yield problem("unreadable-files", file, error.message, _RESTORE)
        return
    if len(gone) != file.rows:
        yield _miscounting(file, len(gone))
    if set(gone) & set(file.inlined_deletes):
        yield deleted_twice(file, len(set(gone) & set(file.inlined_deletes)))
    if gone and max(gone) >= _rows_below(file):
        yield problem(
            "delete-positions",
            file,
            f"the file deletes row {max(gone)} of {_rows_below(file)}",
            "restore the delete file, or the data file that it is of",
        )


def deleted_twice(file: CheckedFile, number: int) -> Problem:
    return problem(
        "inlined-deletes",
        file,
        f"{number} rows that the file deletes are deleted in the catalog too: DuckDB then brings"
        " deleted rows back",
        "delete these positions from the catalog's ducklake_inlined_delete table",
    )


def _rows_below(file: CheckedFile) -> int:
    return file.deletes_from or 0


def _own(footer: Footer, column: Column) -> Evidence | None:
    field = next((field for field in footer.fields if field.id == column.id), None)
    return None if field is None or field.leaf is None else of_field(footer, column, field)


def _highest(found: Evidence) -> int | None:
    return max(map(int, found.highs)) if found.highs else None


def _lowest(found: Evidence) -> int | None:
    return min(map(int, found.lows)) if found.lows else None


DATA_CHECKS: tuple[Check, ...] = (
    footer_size,
    row_count,
    field_ids,
    row_ids,
    partial_files,
    file_statistics,
)
DELETE_CHECKS: tuple[Check, ...] = (footer_size, delete_count, delete_positions)
