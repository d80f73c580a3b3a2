"""Each check fires on a lake that was damaged in its way, and no other does."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.verify.conftest import Patient

Damage = str | Callable[[Patient], object]

HEAD = "(SELECT max(snapshot_id) FROM ducklake_snapshot)"


def test_the_lake_is_whole_before(patient):
    with patient.open(read_only=True) as lake:
        report = lake.verify(deep=True)
    assert report.ok, str(report)
    assert report.checked["files"] == 9
    assert report.checked["rows"] == 272
    assert "whole" in str(report)


def remove(patient: Patient) -> None:
    patient.path("t").unlink()


def remove_deletes(patient: Patient) -> None:
    patient.path("t", kind="delete_file").unlink()


def grow(patient: Patient) -> None:
    with patient.path("t").open("ab") as file:
        file.write(b"more")


def scribble(patient: Patient) -> None:
    """Other bytes in the footer, as many as before."""
    path = patient.path("t")
    raw = path.read_bytes()
    path.write_bytes(raw[:-60] + bytes(60))


def spoil_pages(patient: Patient) -> None:
    """Other bytes where the rows are; the footer is as it was."""
    path = patient.path("t")
    raw = bytearray(path.read_bytes())
    raw[4:400] = bytes(396)
    path.write_bytes(bytes(raw))


def without_ids(patient: Patient) -> None:
    def change(table: pa.Table) -> pa.Table:
        schema = pa.schema([pa.field(f.name, f.type) for f in table.schema])
        return pa.Table.from_arrays(table.columns, schema=schema)

    patient.rewrite(patient.path("p"), change)


def without_inner_ids(patient: Patient) -> None:
    def change(table: pa.Table) -> pa.Table:
        plain = pa.list_(pa.field("element", pa.float64()))
        inner = pa.struct([pa.field("a", pa.int32()), pa.field("l", plain)])
        fields = [f if f.name != "n" else f.with_type(inner) for f in table.schema]
        return table.cast(pa.schema(fields))

    patient.rewrite(patient.path("t"), change)


def unordered_deletes(patient: Patient) -> None:
    path = patient.path("t", kind="delete_file")
    patient.rewrite(path, lambda rows: rows.take([2, 1, 0]))


def deletes_twice(patient: Patient) -> None:
    path = patient.path("t", kind="delete_file")
    patient.rewrite(path, lambda rows: rows.take([0, 1, 1]))


def deletes_beyond(patient: Patient) -> None:
    path = patient.path("t", kind="delete_file")

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(1, rows.schema.field(1), pa.array([3, 4, 5000]))

    patient.rewrite(path, change)


def deletes_in_the_future(patient: Patient) -> None:
    path = patient.path("t", kind="delete_file")

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(2, rows.schema.field(2), pa.array([4, 5, 5000]))

    patient.rewrite(path, change)


def same_row_deleted_in_both(patient: Patient) -> None:
    with patient.open() as lake:
        id_ = lake.table("t").info.id
    patient.sql(f"CREATE TABLE ducklake_inlined_delete_{id_} (file_id, row_id, begin_snapshot)")
    patient.sql(
        f"INSERT INTO ducklake_inlined_delete_{id_} SELECT data_file_id, 4, begin_snapshot"
        " FROM ducklake_delete_file"
    )


def one_row_id_twice(patient: Patient) -> None:
    """The second file's rows get the ids of the first's."""
    patient.sql(
        "UPDATE ducklake_data_file SET row_id_start = 50 WHERE table_id = {t}"
        " AND row_id_start = 100"
    )


def other_partition(patient: Patient) -> None:
    patient.sql(
        "UPDATE ducklake_file_partition_value SET partition_value = '7' WHERE table_id = {p}"
        " AND partition_value = '1'"
    )


DAMAGES: dict[str, tuple[str, Damage]] = {
    # the catalog's shape
    "a table is missing": ("tables", "DROP TABLE ducklake_macro"),
    "a column too many": ("tables", "ALTER TABLE ducklake_snapshot ADD COLUMN more BIGINT"),
    "a table of another version": ("tables", "CREATE TABLE ducklake_view_column_tag (a BIGINT)"),
    "another version": (
        "version",
        "INSERT INTO ducklake_metadata VALUES ('version', '0.4', NULL, NULL)",
    ),
    "an unknown scope": (
        "version",
        "INSERT INTO ducklake_metadata VALUES ('x', 'y', 'column', 1)",
    ),
    "a word for a number": (
        "values",
        "UPDATE ducklake_data_file SET file_order = 'many' WHERE table_id = {p}",
    ),
    "no time": (
        "values",
        "UPDATE ducklake_snapshot SET snapshot_time = 'soon' WHERE snapshot_id=1",
    ),
    # snapshots
    "changes without a snapshot": (
        "snapshot-changes",
        "DELETE FROM ducklake_snapshot WHERE snapshot_id = 1",
    ),
    "a snapshot without changes": (
        "snapshot-changes",
        "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 1",
    ),
    "unknown words": (
        "changes",
        "UPDATE ducklake_snapshot_changes SET changes_made = 'burnt:1' WHERE snapshot_id = 2",
    ),
    "time goes backwards": (
        "snapshot-times",
        "UPDATE ducklake_snapshot SET snapshot_time = '2001-01-01 00:00:00+00'"
        " WHERE snapshot_id = 2",
    ),
    "a file of a future snapshot": (
        "head",
        "UPDATE ducklake_data_file SET end_snapshot = 5000 WHERE table_id = {p}",
    ),
    "the counter of files is behind": (
        "counters",
        "UPDATE ducklake_snapshot SET next_file_id = 3",
    ),
    "the counter of tables is behind": (
        "counters",
        f"UPDATE ducklake_snapshot SET next_catalog_id = 1 WHERE snapshot_id = {HEAD}",
    ),
    "the version goes back": (
        "counters",
        "UPDATE ducklake_snapshot SET schema_version = 0 WHERE snapshot_id = 3",
    ),
    "one id for two things": (
        "ids",
        "UPDATE ducklake_delete_file SET delete_file_id ="
        " (SELECT min(data_file_id) FROM ducklake_data_file)",
    ),
    "ends before it begins": (
        "spans",
        "UPDATE ducklake_table SET end_snapshot = begin_snapshot WHERE table_name = 'gone'",
    ),
    "a catalog row ends before it begins": (
        "spans",
        lambda patient: patient.sql(
            f"UPDATE {inline_table(patient)} SET end_snapshot = begin_snapshot WHERE i = 2"
        ),
    ),
    "a tag in the void": ("tags", "UPDATE tidelake_tag SET snapshot_id = 4000"),
    "a consumer in the void": ("consumers", "UPDATE tidelake_consumer SET snapshot_id = 4000"),
    # what points at what
    "a comment on nothing": (
        "references",
        "INSERT INTO ducklake_tag VALUES (4242, 1, NULL, 'comment', 'x')",
    ),
    "no versions of columns": (
        "references",
        "DELETE FROM ducklake_schema_versions WHERE table_id = {p}",
    ),
    "no columns": ("references", "DELETE FROM ducklake_column WHERE table_id = {gone}"),
    "a version of no table": (
        "references",
        "INSERT INTO ducklake_schema_versions VALUES (1, 1, 4242)",
    ),
    "a table without a schema": ("references", "UPDATE ducklake_view SET schema_id = 77"),
    "columns of no table": (
        "references",
        "UPDATE ducklake_column SET table_id = 7777 WHERE table_id = {gone}",
    ),
    "a file of no table": (
        "references",
        "INSERT INTO ducklake_table_stats VALUES (4242, 0, 0, 0)",
    ),
    "statistics of no file": (
        "references",
        "UPDATE ducklake_file_column_stats SET data_file_id = 8888 WHERE table_id = {merged}",
    ),
    "statistics of no column": (
        "references",
        "UPDATE ducklake_table_column_stats SET column_id = 99 WHERE table_id = {merged}",
    ),
    "a child of no column": (
        "references",
        "UPDATE ducklake_partition_column SET column_id = 55",
    ),
    "a mapping of no table": (
        "references",
        "INSERT INTO ducklake_column_mapping VALUES (2, 4242, 'map_by_name')",
    ),
    "deletes of no file": ("references", "UPDATE ducklake_delete_file SET data_file_id = 3333"),
    "sorted by nothing": (
        "references",
        "INSERT INTO ducklake_sort_expression VALUES (99, {t}, 0, 'id', 'duckdb', 'ASC', 'x')",
    ),
    "no values of a partition": (
        "partition-values",
        "DELETE FROM ducklake_file_partition_value WHERE table_id = {p}",
    ),
    "no table for rows in the catalog": (
        "inline-tables",
        lambda patient: patient.sql(f"DROP TABLE {inline_table(patient)}"),
    ),
    "an unknown table for rows in the catalog": (
        "inline-tables",
        "CREATE TABLE ducklake_inlined_data_1_77 AS SELECT 1 AS row_id, 1 AS begin_snapshot",
    ),
    "two tables of a name": (
        "names",
        "UPDATE ducklake_table SET table_name = 't' WHERE table_name = 'p'",
    ),
    "two tables whose names differ in case": (
        "names",
        "UPDATE ducklake_table SET table_name = 'T' WHERE table_name = 'p'",
    ),
    "two columns of a name": (
        "names",
        "UPDATE ducklake_column SET column_name = 'k' WHERE table_id = {p}",
    ),
    "two columns of an id": (
        "names",
        "INSERT INTO ducklake_column SELECT column_id, begin_snapshot, end_snapshot, table_id, 9,"
        " 'other', column_type, NULL, NULL, 1, NULL, NULL, NULL FROM ducklake_column"
        " WHERE table_id = {merged}",
    ),
    # files
    "two delete files": (
        "delete-overlap",
        "INSERT INTO ducklake_delete_file SELECT 0 - delete_file_id, table_id, begin_snapshot,"
        " end_snapshot, data_file_id, path, path_is_relative, format, delete_count,"
        " file_size_bytes, footer_size, encryption_key, partial_max FROM ducklake_delete_file",
    ),
    "more deletes than rows": (
        "file-facts",
        "UPDATE ducklake_data_file SET file_format = 'orc' WHERE table_id = {p}",
    ),
    "a needed file is going": (
        "scheduled",
        "INSERT INTO ducklake_files_scheduled_for_deletion SELECT data_file_id, 'main/p/' || path,"
        " 1, '2024-01-01 00:00:00+00' FROM ducklake_data_file WHERE table_id = {p}",
    ),
    "deletes in the catalog beyond the file": (
        "inlined-deletes",
        lambda patient: patient.sql("UPDATE ducklake_inlined_delete_{f} SET row_id = 50"),
    ),
    "deletes in the catalog of no file": (
        "inlined-deletes",
        lambda patient: patient.sql("UPDATE ducklake_inlined_delete_{f} SET file_id = 4444"),
    ),
    "a row id that was never given": (
        "row-ids",
        "UPDATE ducklake_table_stats SET next_row_id = 10 WHERE table_id = {t}",
    ),
    "a row id in the catalog that was never given": (
        "row-ids",
        "UPDATE ducklake_table_stats SET next_row_id = 1 WHERE table_id = {small}",
    ),
    "rows without ids": (
        "row-ids",
        "UPDATE ducklake_data_file SET row_id_start = NULL WHERE table_id = {p}",
    ),
    "a file is missing": ("missing-files", remove),
    "a delete file is missing": ("missing-files", remove_deletes),
    "a file has grown": ("file-sizes", grow),
    "a file is not Parquet": ("unreadable-files", scribble),
    "another footer": (
        "footer-sizes",
        "UPDATE ducklake_data_file SET footer_size = 7 WHERE table_id = {p}",
    ),
    "other rows than said": (
        "row-counts",
        "UPDATE ducklake_data_file SET record_count = 8 WHERE table_id = {p} AND record_count = 9",
    ),
    "no field ids": ("field-ids", without_ids),
    "no field ids inside": ("field-ids", without_inner_ids),
    "a mapping to fields that are not there": (
        "field-ids",
        "UPDATE ducklake_name_mapping SET source_name = 'c' WHERE source_name = 'b'",
    ),
    "rows beyond partial_max": (
        "partial-files",
        "UPDATE ducklake_data_file SET partial_max = begin_snapshot WHERE table_id = {merged}",
    ),
    "partial without snapshots": (
        "partial-files",
        "UPDATE ducklake_data_file SET partial_max = begin_snapshot WHERE table_id = {p}",
    ),
    "values beyond a file's maximum": (
        "file-statistics",
        "UPDATE ducklake_file_column_stats SET max_value = '1' WHERE table_id = {f}",
    ),
    "nulls that a file does not say": (
        "file-statistics",
        "UPDATE ducklake_file_column_stats SET null_count = 0 WHERE table_id = {p}",
    ),
    "values beyond the table's minimum": (
        "table-statistics",
        "UPDATE ducklake_table_column_stats SET min_value = '2' WHERE table_id = {merged}",
    ),
    "nulls that the table does not say": (
        "table-statistics",
        "UPDATE ducklake_table_column_stats SET contains_null = 0 WHERE table_id = {p}",
    ),
    "fewer rows than there are": (
        "table-statistics",
        "UPDATE ducklake_table_stats SET record_count = 5 WHERE table_id = {f}",
    ),
    "deletes beyond the file": ("delete-positions", deletes_beyond),
    "deletes of the future": ("delete-positions", deletes_in_the_future),
    "other deletes than said": (
        "delete-counts",
        "UPDATE ducklake_delete_file SET delete_count = 2",
    ),
}

DEEP: dict[str, tuple[str, Damage]] = {
    "rows are spoilt": ("unreadable-files", spoil_pages),
    "floats beyond a file's maximum": (
        "file-statistics",
        "UPDATE ducklake_file_column_stats SET max_value = '1.5' WHERE table_id = {p}"
        " AND max_value = '8.0'",
    ),
    "NaN that a file does not say": (
        "file-statistics",
        "UPDATE ducklake_file_column_stats SET contains_nan = 0 WHERE table_id = {p}",
    ),
    "values in a list beyond a file's maximum": (
        "file-statistics",
        "UPDATE ducklake_file_column_stats SET max_value = '3.0' WHERE table_id = {t}"
        " AND max_value = '49.5'",
    ),
    "rows of another partition": ("partition-values", other_partition),
    "deletes out of order": ("delete-order", unordered_deletes),
    "a row id twice": ("row-ids", one_row_id_twice),
    "catalog rows beyond the table's maximum": (
        "table-statistics",
        "UPDATE ducklake_table_column_stats SET max_value = '2' WHERE table_id = {small}"
        " AND max_value = '3'",
    ),
}


def inline_table(patient: Patient) -> str:
    rows = patient.sql(
        "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = {small}"
    )
    return str(rows[0][0])


def checks_that_fire(patient: Patient, damage: Damage, *, deep: bool = False) -> set[str]:
    with patient.open(read_only=True) as lake:
        patient.sql(damage) if isinstance(damage, str) else damage(patient)
        report = lake.verify(deep=deep)
    for problem in report.problems:
        assert problem.mend, problem
        assert str(problem) in str(report)
    assert not report.ok
    return {problem.check for problem in report.problems}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_found_and_named(patient, name):
    check, damage = DAMAGES[name]
    assert checks_that_fire(patient, damage) == {check}


@pytest.mark.parametrize("name", DEEP)
def test_a_damage_of_rows_is_found_by_reading_them(patient, name):
    check, damage = DEEP[name]
    assert checks_that_fire(patient, damage, deep=True) == {check}


def test_rows_deleted_twice_in_a_file_are_counted_twice_too(patient):
    found = checks_that_fire(patient, deletes_twice, deep=True)
    assert found == {"delete-order", "row-counts"}


def test_rows_deleted_in_a_file_and_in_the_catalog(patient):
    assert checks_that_fire(patient, same_row_deleted_in_both) == {"inlined-deletes"}
