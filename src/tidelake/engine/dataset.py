"""Rows as a dataset of pyarrow's, which DataFusion, DuckDB, Polars and others read with the columns
and conditions that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.dataset

from tidelake.engine.arrow_filter import as_condition, check_same
from tidelake.errors import Invalid, Unsupported
from tidelake.model.predicate import Predicate
from tidelake.plan.scan import ScanPlan

Read = Callable[[Sequence[str] | None, Predicate | None], pa.RecordBatchReader]
_BATCH = 122_880


class RowsDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """Every scan is planned anew: columns that are not asked for are not read, and a filter skips
    files as the condition of a scan does. It means what it means in SQL: NaN is greater than any
    number, and null is neither in a list nor not. What is not understood is applied by pyarrow,
    to all rows, or refused where that would mean another thing."""

    def __init__(self, schema: pa.Schema, read: Read, told: str) -> None:  # no super().__init__()
        self._own_schema = schema
        self._read = read
        self._told = told

    @property
    def schema(self) -> pa.Schema:
        return self._own_schema

    @property
    def partition_expression(self) -> Any:
        return pyarrow.dataset.scalar(True)

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,  # noqa: A002
        batch_size: int = _BATCH,
        **_: Any,
    ) -> Any:
        """A scan that begins when its rows are asked for. Options of threads and memory are of no
        use here."""
        where = None if filter is None else as_condition(filter, self._own_schema)
        left = filter if where is None else None
        if left is not None:
            check_same(left, self._own_schema)
        named = isinstance(columns, Sequence) and left is None
        wanted = self._own_schema.names if not named else list(dict.fromkeys(columns or ()))
        wanted = wanted or self._own_schema.names[:1]
        schema = pa.schema([self._own_schema.field(name) for name in wanted])
        batches = self._batches(wanted if named else None, where)
        rows = pa.RecordBatchReader.from_batches(schema, batches)
        return pyarrow.dataset.Scanner.from_batches(
            rows, columns=columns, filter=left, batch_size=batch_size
        )

    def _batches(
        self, columns: Sequence[str] | None, where: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        yield from self._read(columns, where)

    def get_fragments(self, filter: Any = None) -> Iterator[_Whole]:  # noqa: A002, ARG002
        """One: DuckDB reads its files side by side."""
        yield _Whole(self)

    def to_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        yield from self.scanner(*args, **options).to_batches()

    def to_table(self, *args: Any, **options: Any) -> pa.Table:
        return self.scanner(*args, **options).to_table()

    def head(self, num_rows: int, *args: Any, **options: Any) -> pa.Table:
        return self.scanner(*args, **options).head(num_rows)

    def take(self, indices: Any, *args: Any, **options: Any) -> pa.Table:
        return self.scanner(*args, **options).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:  # noqa: A002
        return int(self.scanner(columns=[], filter=filter, **options).count_rows())

    # What pyarrow's own classes do with files of their own.

    def filter(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported("this dataset keeps no filter", hint="give it to to_table(filter=…)")

    def replace_schema(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported("this dataset has the schema of its rows", hint="cast what was read")

    def join(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported("this dataset joins nothing", hint="join with lake.sql(…)")

    def join_asof(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported("this dataset joins nothing", hint="use tidelake.asof_join(…)")

    def sort_by(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported("this dataset sorts nothing", hint="use t.order_by(…)")

    def __reduce__(self) -> NoReturn:
        raise Invalid(
            "a dataset of rows cannot be sent to another process", hint="send the table itself"
        )

    def __repr__(self) -> str:
        return f"<Dataset of {self._told}>"


def files_dataset(plan: ScanPlan, schema: pa.Schema) -> pyarrow.dataset.Dataset:
    """The files of a table as they are; Unsupported if they do not serve so."""
    if (reason := _does_not_serve(plan)) is not None:
        raise Unsupported(
            f"the files of {plan.table} do not serve as they are: {reason}",
            hint="to_dataset() reads them as the lake does",
        )
    paths = [file.path for file in plan.files]
    found = pyarrow.dataset.dataset(paths, schema=schema, format="parquet") if paths else None
    for fragment in () if found is None else found.get_fragments():
        if not _is_same(schema, fragment.physical_schema):
            raise Unsupported(
                f"the files of {plan.table} do not serve as they are: {fragment.path} has other"
                " columns or types",
                hint="to_dataset() reads them as the lake does",
            )
    return pyarrow.dataset.dataset(schema.empty_table()) if found is None else found


def _does_not_serve(plan: ScanPlan) -> str | None:
    files = plan.files
    if plan.inlined:
        return "some rows are in the catalog; compact() puts them into files"
    if any(file.has_deletes for file in files):
        return "rows of them were deleted; compact() may rewrite them"
    if any(file.encryption_key for file in files):
        return "they are encrypted"
    if any(file.mapping_id is not None for file in files):
        return "some were registered, and are read by other rules"
    if any("://" in file.path for file in files):
        return "they are in an object store, to which pyarrow has no keys"
    if any(file.partial_max is not None and file.partial_max > plan.snapshot_id for file in files):
        return "some hold later rows"
    if plan.renamed is None or plan.renamed or plan.reshaped or plan.promoted:
        return "columns were renamed, widened or changed inside"
    return None


def _is_same(schema: pa.Schema, physical: pa.Schema) -> bool:
    """Whether a file has all columns in their types; it may have lineage beside them."""
    plain = {field.name: field.type for field in physical}
    return all(plain.get(field.name) == field.type for field in schema)


class _Whole:
    """All rows of a dataset, for those who read it piece by piece."""

    def __init__(self, dataset: RowsDataset) -> None:
        self._dataset = dataset
        self.physical_schema = dataset.schema

    def scanner(self, schema: pa.Schema | None = None, **options: Any) -> Any:  # noqa: ARG002
        return self._dataset.scanner(**options)
