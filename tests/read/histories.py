"""Random histories: statements that DuckDB runs on one table, whatever they lead to."""

from collections.abc import Callable
from pathlib import Path

import duckdb
from hypothesis import strategies as st

from tests.read.scripts.script import script
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

# A value of each type for row number i.
_VALUES = {
    "TINYINT": "(i % 100)::TINYINT",
    "INTEGER": "(i * 7)::INTEGER",
    "BIGINT": "i * 5000000000",
    "DOUBLE": "CASE i % 5 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN NULL ELSE i / 3 END",
    "DECIMAL(9,2)": "(i / 4)::DECIMAL(9,2)",
    "DECIMAL(18,4)": "(i / 16)::DECIMAL(18,4)",
    "VARCHAR": "CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'it, ' || i END",
    "DATE": "DATE '2024-01-01' + i::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2024-01-01 12:00:00' + i * INTERVAL 90 MINUTE",
    "INTEGER[]": "CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [i::INTEGER, NULL] END",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': i::INTEGER, 'b': 'x' || i}",
    "MAP(VARCHAR, INTEGER)": "MAP {'k' || i: i::INTEGER}",
}
_WIDER = {
    "TINYINT": "INTEGER",
    "INTEGER": "BIGINT",
    "BIGINT": "DOUBLE",
    "DATE": "TIMESTAMP",
    "DECIMAL(9,2)": "DECIMAL(18,4)",
}
_DEFAULTS = {
    "INTEGER": " DEFAULT 42",
    "VARCHAR": " DEFAULT 'dflt'",
    "DATE": " DEFAULT '2020-02-02'",
}
_UPKEEP = (
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "CHECKPOINT",
)
_PARTITIONS = ("(bucket(3, k))", "(k)", "(p)", "(p, bucket(2, k))")

FIXED = ("k", "p", "n")

Step = tuple[str, int, int]
KINDS = (
    "insert",
    "insert",
    "delete",
    "delete",
    "update",
    "add",
    "drop",
    "rename",
    "widen",
    "partition",
    "upkeep",
    "upkeep",
    "expire",
    "limit",
    "rename table",
    "field",
    "vectors",
    "foreign",
)
steps = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 1000), st.integers(0, 1000)),
    min_size=3,
    max_size=12,
)


class History:
    """Turns steps into statements for a table whose columns it keeps track of."""

    def __init__(self) -> None:
        self.columns = {"k": "INTEGER", "p": "INTEGER", "n": "STRUCT", "s": "VARCHAR"}
        self.fields = {"a": "INTEGER", "b": "VARCHAR"}
        self.name = "t"
        self._rows = 0
        self._files = 0

    @property
    def creation(self) -> str:
        return "CREATE TABLE t (k INTEGER, p INTEGER, n STRUCT(a INTEGER, b VARCHAR), s VARCHAR)"

    def statement(self, step: Step) -> str:
        kind, a, b = step
        make: dict[str, Callable[[int, int], str]] = {
            "insert": self._insert,
            "delete": self._delete,
            "update": self._update,
            "add": self._add,
            "drop": self._drop,
            "rename": self._rename,
            "widen": self._widen,
            "partition": self._partition,
            "upkeep": self._upkeep,
            "expire": self._expire,
            "limit": self._limit,
            "rename table": self._rename_table,
            "field": self._field,
            "vectors": self._vectors,
            "foreign": self._foreign,
        }
        return make[kind](a, b)

    def _insert(self, a: int, b: int) -> str:
        count = a % 4 + 1 if b % 2 else a % 20 + 8
        return f"INSERT INTO {self.name} {self._select(count)}"

    def _select(self, count: int) -> str:
        """New rows for all columns, numbered on from the last."""
        start, self._rows = self._rows, self._rows + count
        values = [f"{self._value(name)} AS {name}" for name in self.columns]
        return f"SELECT {', '.join(values)} FROM range({start}, {start + count}) r(i)"

    def _value(self, column: str) -> str:
        if column == "n":
            fields = ", ".join(f"'{name}': {_VALUES[kind]}" for name, kind in self.fields.items())
            return f"CASE WHEN i % 5 <> 0 THEN {{{fields}}} END"
        numbers = {"k": "i::INTEGER", "p": "(i % 3)::INTEGER"}
        return numbers.get(column) or _VALUES[self.columns[column]]

    def _delete(self, a: int, b: int) -> str:
        if a % 12 == 0:
            return f"DELETE FROM {self.name}"
        return f"DELETE FROM {self.name} WHERE k % {a % 7 + 2} = {b % 2} AND k >= {b % 20}"

    def _update(self, a: int, b: int) -> str:
        name = list(self.columns)[1 + a % (len(self.columns) - 1)]
        value = f"(SELECT {self._value(name)} FROM (SELECT {b % 40} AS i))" if b % 3 else "NULL"
        return f"UPDATE {self.name} SET {name} = {value} WHERE k % {a % 5 + 2} = 0"

    def _add(self, a: int, b: int) -> str:
        kind = list(_VALUES)[a % len(_VALUES)]
        free = [n for n in ("c", "d", "e", "f", "g") if n not in self.columns]
        if not free:
            return "SELECT 1"
        self.columns[free[0]] = kind
        default = _DEFAULTS.get(kind, "") if b % 2 else ""
        return f"ALTER TABLE {self.name} ADD COLUMN {free[0]} {kind}{default}"

    def _drop(self, a: int, b: int) -> str:
        loose = [n for n in self.columns if n not in FIXED]
        if not loose:
            return "SELECT 1"
        del self.columns[name := loose[a % len(loose)]]
        return f"ALTER TABLE {self.name} DROP COLUMN {name}"

    def _rename(self, a: int, b: int) -> str:
        loose = [n for n in self.columns if n not in FIXED]
        free = [n for n in ("c", "d", "e", "x", "y") if n not in self.columns]
        if not loose or not free:
            return "SELECT 1"
        old, new = loose[a % len(loose)], free[b % len(free)]
        self.columns = {new if n == old else n: kind for n, kind in self.columns.items()}
        return f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}"

    def _widen(self, a: int, b: int) -> str:
        loose = [n for n, kind in self.columns.items() if kind in _WIDER and n not in FIXED]
        if not loose:
            return "SELECT 1"
        name = loose[a % len(loose)]
        self.columns[name] = _WIDER[self.columns[name]]
        return f"ALTER TABLE {self.name} ALTER COLUMN {name} TYPE {self.columns[name]}"

    def _partition(self, a: int, b: int) -> str:
        if a % 4 == 0:
            return f"ALTER TABLE {self.name} RESET PARTITIONED BY"
        return f"ALTER TABLE {self.name} SET PARTITIONED BY {_PARTITIONS[b % len(_PARTITIONS)]}"

    def _field(self, a: int, b: int) -> str:
        """Add, drop, rename or widen a field of the struct."""
        old = list(self.fields)[b % len(self.fields)]
        new = next(n for n in ("a", "b", "c", "d", "e", "f") if n not in self.fields)
        if a % 4 == 0 and len(self.fields) < 5:
            self.fields[new] = kind = ("INTEGER", "VARCHAR", "INTEGER[]")[b % 3]
            return f"ALTER TABLE {self.name} ADD COLUMN n.{new} {kind}"
        if a % 4 == 1 and len(self.fields) > 1:
            del self.fields[old]
            return f"ALTER TABLE {self.name} DROP COLUMN n.{old}"
        if a % 4 == 2:
            self.fields = {new if n == old else n: kind for n, kind in self.fields.items()}
            return f"ALTER TABLE {self.name} RENAME COLUMN n.{old} TO {new}"
        self.fields = {n: _WIDER.get(k, k) if n == old else k for n, k in self.fields.items()}
        fields = ", ".join(f"{name} {kind}" for name, kind in self.fields.items())
        return f"ALTER TABLE {self.name} ALTER COLUMN n SET DATA TYPE STRUCT({fields})"

    def _vectors(self, a: int, b: int) -> str:
        return f"CALL lake.set_option('write_deletion_vectors', {'false' if a % 3 else 'true'})"

    def _foreign(self, a: int, b: int) -> str:
        """A file from elsewhere, perhaps without the last column."""
        self._files += 1
        path = f"$FILES/{self._files}.parquet"
        left_out = f"EXCLUDE ({list(self.columns)[-1]})" if b % 2 else ""
        rows = f"SELECT * {left_out} FROM ({self._select(a % 15 + 1)})"
        add = (
            f"CALL ducklake_add_data_files('lake', '{self.name}', '{path}', allow_missing => true)"
        )
        return f"COPY ({rows}) TO '{path}';\n{add}"

    def _upkeep(self, a: int, b: int) -> str:
        return _UPKEEP[a % len(_UPKEEP)]

    def _expire(self, a: int, b: int) -> str:
        return f"CALL ducklake_expire_snapshots('lake', versions => [{a % 9}])"

    def _limit(self, a: int, b: int) -> str:
        return f"CALL lake.set_option('data_inlining_row_limit', {(0, 5, 40)[a % 3]})"

    def _rename_table(self, a: int, b: int) -> str:
        old, self.name = self.name, f"t{a % 4}"
        return f"ALTER TABLE {old} RENAME TO {self.name}" if old != self.name else "SELECT 1"


def sql_of(plan: list[Step]) -> str:
    history = History()
    return ";\n".join([history.creation, *(history.statement(step) for step in plan)])


def make_history(oracle: Oracle, sql: str, folder: Path, limit: int) -> Place | None:
    """The lake of a history, or None where it breaks DuckDB itself."""
    place = Place.at("sqlite", folder)
    try:
        script("history", sql).make(oracle, place, limit, tolerant=True)
    except (duckdb.InternalException, duckdb.FatalException):
        return None
    return place
