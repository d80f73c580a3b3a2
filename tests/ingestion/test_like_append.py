"""A record is good if and only if `append` takes it by itself, and then it is the same row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.errors import TidelakeError

TYPES = [
    "TINYINT", "BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "BOOLEAN",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMP_S", "INTERVAL", "UUID",
    "JSON", "BLOB", "VARCHAR",
]  # fmt: skip
FEW = ("TINYINT", "DECIMAL(10,2)", "TIMESTAMPTZ", "JSON")
TEXTS = [
    "0", "-1", "1.0", "1.005", "127", "128", "1e3", " 7 ", "007", "+5", "abc", "NaN", "inf", "true",
    "2024-02-30", "2024-02-29", "2024-02-29 25:00", "2024-02-29T12:00:00.123456789+02:00",
    "2024-02-29 12:00:00.1234567", "24:00:00", "12:00:00.5", "infinity", "1 day", "null", "{}",
    "9223372036854775808", "0x10", "1_000", "d9428888-122b-11e1-b85c-61cd3cbb3210", "\\xAA", "é",
    "'", "9007199254740993", "-0.0",
]  # fmt: skip
NOT_IN_FILES = {"TIMESTAMP_S": ("inf", "infinity"), "INTERVAL": ("-1",)}
"""What Parquet cannot hold: the catalog keeps a few such rows of an append."""


def cases() -> list[Any]:
    return [pytest.param(t, marks=() if t in FEW else pytest.mark.slow) for t in TYPES]


def one_by_one(lake: tidelake.Lake, paths: list[Path]) -> tuple[list[str], set[int]]:
    """The rows that append takes, and the numbers of the files that it does not."""
    refused = set()
    for number, path in enumerate(paths):
        try:
            lake.table("one").append(str(path))
        except TidelakeError:
            refused.add(number)
    return told(lake, "one"), refused


def told(lake: tidelake.Lake, table: str) -> list[str]:
    found = lake.sql(f"SELECT n, v::VARCHAR FROM {table}").to_arrow().to_pylist()
    return sorted(repr(tuple(row.values())) for row in found)


def compare(lake: tidelake.Lake, kind: str, paths: list[Path]) -> None:
    for name in ("one", "all_"):
        lake.create_table(name, f"n INT, v {kind}")
    rows, refused = one_by_one(lake, paths)
    done = tidelake.ingest(lake, "all_", paths)
    assert told(lake, "all_") == rows
    wrong = set()
    if refused:
        bad = lake.table("all__quarantine").to_arrow().to_pylist()
        wrong = {paths.index(Path(row["file"])) for row in bad}
        assert {row["line"] for row in bad} <= {1, 2}
    assert wrong == refused
    assert (done.rows, done.bad_records) == (len(rows), len(refused))


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases())
def test_csv(lake: tidelake.Lake, tmp_path: Path, kind: str) -> None:
    paths = []
    kept = [text for text in TEXTS if text not in NOT_IN_FILES.get(kind, ())]
    for number, text in enumerate([*kept, ""]):
        quoted = '"' + text.replace('"', '""') + '"' if number % 2 and text else text
        paths.append(tmp_path / f"{number}.csv")
        paths[-1].write_text(f"n,v\n{number},{quoted}\n")
    compare(lake, kind, paths)


JSONS = [
    "0", "-1", "1.0", "1.50", "1.005", "127", "128", "1e3", "-0", "-0.0", "true", "null", "[1]",
    "{}", '{"v": 1.25}', "NaN", "1e999", '"x"', '"1"', '"1.5"', '"\\u00e9"', '"\\ud800"', '"a\\nb"',
    '"é"', '""', '"v"', '"2024-02-29"', '"2024-02-30"', '"2024-02-29T12:00:00"',
    '"2024-02-29 24:00:00"',
    '"2024-02-29T12:00:00.5Z"', '"2024-02-29T12:00:00.1234567"', '"2024-02-29T12:00:00+02:00"',
    "9223372036854775808", "18446744073709551616", "9007199254740993", "0.1000000000000000055511",
    "12345678.90", "0.30000000000000004", "1.25, \"v\": 2", "1,", "1.50000", '"true"', "01", "+1",
    "123456789.12", "99999999999.5", "1.5e0", '"2024-2-9"', '"infinity"',
]  # fmt: skip
JSON_TYPES = [
    "TINYINT", "BIGINT", "UBIGINT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,20)", "BOOLEAN", "DATE",
    "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR", "FLOAT", "JSON", "UUID", "TIME", "VARCHAR NOT NULL",
    "BIGINT DEFAULT 5",
]  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [pytest.param(t, marks=() if t in FEW else pytest.mark.slow) for t in JSON_TYPES],
)
def test_json(lake: tidelake.Lake, tmp_path: Path, kind: str) -> None:
    paths = []
    for number, text in enumerate([*JSONS, ""]):
        value = f', "v": {text}' if text else ""
        paths.append(tmp_path / f"{number}.jsonl")
        paths[-1].write_text(f'{{"n": {number}{value}}}\n')
    compare(lake, kind, paths)


VALUES: dict[str, pa.Array] = {
    "int": pa.array([0, 127, 128, -1, None, 1 << 40], pa.int64()),
    "float": pa.array([0.0, -0.0, 1.5, float("nan"), 1e300, None]),
    "text": pa.array(["1", "x", None, "{}", "2024-01-01", ""]),
    "moment": pa.array([0, 1, 1_000_000_001, None, -1, 1 << 55], pa.timestamp("ns")),
    "lists": pa.array([[1, 2], [], None, [1 << 40], [None], [3]], pa.list_(pa.int64())),
}
PAIRS = [
    ("int", "TINYINT"), ("int", "DOUBLE"), ("int", "DECIMAL(5,2)"), ("float", "FLOAT"),
    ("float", "BIGINT"), ("text", "JSON"), ("text", "UUID"), ("moment", "TIMESTAMP"),
    ("moment", "TIMESTAMPTZ"), ("moment", "TIMESTAMP_S"), ("lists", "BIGINT[]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kind"),
    [pytest.param(*p, marks=() if p[1] in FEW else pytest.mark.slow) for p in PAIRS],
)
def test_parquet(lake: tidelake.Lake, tmp_path: Path, given: str, kind: str) -> None:
    values, paths = VALUES[given], []
    for number in range(len(values)):
        paths.append(tmp_path / f"{number}.parquet")
        one = pa.table({"n": pa.array([number], pa.int32()), "v": values.slice(number, 1)})
        pq.write_table(one, paths[-1])
    lake.create_table("probe", f"n INT, v {kind}")
    try:
        lake.table("probe").append([str(paths[0])])
    except TidelakeError as error:
        if "and the data has" in error.message:  # the types never go together: the file is refused
            with pytest.raises(TidelakeError, match="and the data has"):
                tidelake.ingest(lake, "probe", paths)
            return
    compare(lake, kind, paths)
