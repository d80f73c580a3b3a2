"""Checkpoints of Delta logs: Parquet files whose rows are actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.delta.values.actions import (
    Action,
    Add,
    Domain,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Txn,
    Vector,
    plainly,
)
from tidelake.delta.values.mirror import FIRST_ROW, ShownFiles
from tidelake.duck import settle
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Corrupt, TidelakeError
from tidelake.model.names import quote, text_literal

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.engine.local.workbench import Workbench

_VECTOR = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
_ADD = ("path", "size", "modificationTime", "dataChange", "partitionValues", "stats", "tags")
_REMOVE = ("path", "deletionTimestamp", "dataChange", "size")
_BATCH = 20_000


def read_checkpoint(engine: LocalEngine, paths: Sequence[str]) -> Iterator[Action]:
    """All actions of a checkpoint's files, in any order; whoever wrote them may have left out
    what was not needed."""
    work = engine.workbench()
    with translate_duckdb_errors("cannot read a checkpoint"), _checked(paths):
        work.reach_unknown(paths)
        listed = ", ".join(map(text_literal, paths))
        source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
        shape = _shape(work, source)
        for kind, make in _MAKERS.items():
            if kind in shape:
                yield from make(work, source, shape[kind])


@contextmanager
def _checked(paths: Sequence[str]) -> Iterator[None]:
    """What is not as a checkpoint should be comes out as an error of our own."""
    try:
        yield
    except TidelakeError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Corrupt(
            f"{paths[0]} is not a checkpoint of a Delta log: {plainly(error)}",
            hint="restore it from a copy, or the commits before it",
        ) from None


def row_counts(engine: LocalEngine, paths: Sequence[str]) -> dict[str, int]:
    """How many rows Parquet files have, by their footers."""
    work = engine.workbench()
    with translate_duckdb_errors("cannot read footers"):
        work.reach_unknown(paths)
        listed = ", ".join(map(text_literal, paths))
        sql = f"SELECT file_name, num_rows FROM parquet_file_metadata([{listed}])"
        return dict(work.connection.execute(sql).fetchall())


Fields = Mapping[str, Any]


def _shape(work: Workbench, source: str) -> dict[str, Fields]:
    """The fields of every kind of action, and what is below them."""
    found = settle(work.connection).sql(f"SELECT * FROM {source}")
    return {name: _below(kind) for name, kind in zip(found.columns, found.types, strict=True)}


def _below(kind: Any) -> Fields:
    return {n: _below(k) for n, k in kind.children} if kind.id == "struct" else {}


def _rows(
    work: Workbench, source: str, kind: str, chosen: Sequence[str], needed: str
) -> Iterator[Any]:
    there = f"{quote(kind)}.{quote(needed)} IS NOT NULL"
    sql = f"SELECT {', '.join(chosen)} FROM {source} WHERE {there}"
    cursor = work.connection.cursor().execute(sql)
    while rows := cursor.fetchmany(_BATCH):
        yield from rows


def _chosen(kind: str, fields: Fields, wanted: Sequence[str]) -> list[str]:
    return [f"{quote(kind)}.{quote(name)}" if name in fields else "NULL" for name in wanted]


def _chosen_vector(kind: str, fields: Fields) -> list[str]:
    below = fields.get("deletionVector", {})
    inside = f'{quote(kind)}."deletionVector"'
    return [f"{inside}.{quote(name)}" if name in below else "NULL" for name in _VECTOR]


def _adds(work: Workbench, source: str, fields: Fields) -> Iterator[Action]:
    chosen = _chosen("add", fields, _ADD) + _chosen_vector("add", fields)
    if "stats_parsed" in fields:
        chosen[5] = f'coalesce({chosen[5]}, CAST(to_json("add".stats_parsed) AS VARCHAR))'
    if "partitionValues" not in fields and "partitionValues_parsed" in fields:
        chosen[4] = _as_texts(fields["partitionValues_parsed"])
    for path, size, modified, changes, values, stats, tags, *vector in _rows(
        work, source, "add", chosen, "path"
    ):
        if not isinstance(path, str):
            raise TypeError(f"{path!r} is no path")
        yield Add(
            path,
            size or 0,
            modified or 0,
            bool(changes),
            values or {},
            stats,
            _vector(vector),
            tags=tags or {},
        )


def _as_texts(parsed: Fields) -> str:
    """Partition values that are there with their types alone, as texts."""
    inside = '"add"."partitionValues_parsed"'
    texts = (f"{text_literal(name)}: CAST({inside}.{quote(name)} AS VARCHAR)" for name in parsed)
    return f"MAP {{{', '.join(texts)}}}"


def _vector(found: Sequence[Any]) -> Vector | None:
    storage, place, offset, size, cardinality = found
    if storage is None:
        return None
    return Vector(str(storage), str(place), int(size), int(cardinality), offset)


def _removes(work: Workbench, source: str, fields: Fields) -> Iterator[Action]:
    chosen = _chosen("remove", fields, _REMOVE) + _chosen_vector("remove", fields)
    for path, at, changes, size, *vector in _rows(work, source, "remove", chosen, "path"):
        yield Remove(path, at or 0, bool(changes), size, _vector(vector))


_ONE = {
    "protocol": (Protocol, "minReaderVersion"),
    "metaData": (Metadata, "schemaString"),
    "txn": (Txn, "appId"),
    "domainMetadata": (Domain, "domain"),
    "sidecar": (Sidecar, "path"),
}


def _singles(kind: str) -> Any:
    made, needed = _ONE[kind]

    def make(work: Workbench, source: str, _: Fields) -> Iterator[Action]:
        for (value,) in _rows(work, source, kind, [quote(kind)], needed):
            yield made.of(value)  # type: ignore[attr-defined]

    return make


_MAKERS: dict[str, Any] = {kind: _singles(kind) for kind in _ONE} | {
    "add": _adds,
    "remove": _removes,
}


def checkpoint_bytes(
    files: ShownFiles, removes: Sequence[Remove], others: Sequence[Action]
) -> bytes:
    """A classic checkpoint, which every reader knows: one file, a row for each action."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema()
    parts = [_alone(schema, each) for each in others]
    parts += [_many(schema, "add", _add_columns(files)) if files.paths else None]
    parts += [_many(schema, "remove", _remove_columns(removes)) if removes else None]
    whole = pa.concat_tables([part for part in parts if part is not None])
    sink = pa.BufferOutputStream()
    pq.write_table(whole, sink, compression="snappy")
    return bytes(sink.getvalue())


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema({name: pa.struct(fields) for name, fields in _kinds().items()})


def _kinds() -> dict[str, dict[str, pa.DataType]]:
    """The fields of every kind of action."""
    import pyarrow as pa

    words, text, long, whole, yes = pa.string(), pa.string(), pa.int64(), pa.int32(), pa.bool_()
    mapped, listed = pa.map_(words, words), pa.list_(words)
    return {
        "txn": {"appId": text, "version": long, "lastUpdated": long},
        "add": {
            "path": text,
            "partitionValues": mapped,
            "size": long,
            "modificationTime": long,
            "dataChange": yes,
            "stats": text,
            "tags": mapped,
            "deletionVector": _vector_type(),
        },
        "remove": {
            "path": text,
            "deletionTimestamp": long,
            "dataChange": yes,
            "extendedFileMetadata": yes,
            "partitionValues": mapped,
            "size": long,
            "deletionVector": _vector_type(),
        },
        "metaData": {
            "id": text,
            "name": text,
            "description": text,
            "format": pa.struct({"provider": text, "options": mapped}),
            "schemaString": text,
            "partitionColumns": listed,
            "configuration": mapped,
            "createdTime": long,
        },
        "protocol": {
            "minReaderVersion": whole,
            "minWriterVersion": whole,
            "readerFeatures": listed,
            "writerFeatures": listed,
        },
        "domainMetadata": {"domain": text, "configuration": text, "removed": yes},
    }


def _vector_type() -> pa.StructType:
    import pyarrow as pa

    return pa.struct(
        {
            "storageType": pa.string(),
            "pathOrInlineDv": pa.string(),
            "offset": pa.int32(),
            "sizeInBytes": pa.int32(),
            "cardinality": pa.int64(),
        }
    )


def _alone(schema: pa.Schema, action: Action) -> pa.Table:
    """The row of one action, which is as its line in a log would be."""
    import pyarrow as pa

    return pa.Table.from_pylist([action.fields()], schema)


def _many(schema: pa.Schema, kind: str, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    import pyarrow as pa

    fields = list(schema.field(kind).type)
    arrays = [pa.array(columns[field.name], field.type) for field in fields]
    rows = pa.StructArray.from_arrays(arrays, fields=fields)
    others = {f.name: pa.nulls(len(rows), f.type) for f in schema if f.name != kind}
    return pa.table({f.name: rows if f.name == kind else others[f.name] for f in schema}, schema)


def _add_columns(files: ShownFiles) -> dict[str, Sequence[Any]]:
    count = len(files.paths)
    return {
        "path": files.paths,
        "partitionValues": [[]] * count,
        "size": files.sizes,
        "modificationTime": files.modified,
        "dataChange": [False] * count,
        "stats": files.stats,
        "tags": [None if row is None else [(FIRST_ROW, str(row))] for row in files.first_rows],
        "deletionVector": [each.fields() if each else None for each in files.vectors],
    }


def _remove_columns(removes: Sequence[Remove]) -> dict[str, Sequence[Any]]:
    return {
        "path": [each.path for each in removes],
        "deletionTimestamp": [each.deleted_at for each in removes],
        "dataChange": [False] * len(removes),
        "extendedFileMetadata": [True] * len(removes),
        "partitionValues": [[] for _ in removes],
        "size": [each.size for each in removes],
        "deletionVector": [each.vector.fields() if each.vector else None for each in removes],
    }
