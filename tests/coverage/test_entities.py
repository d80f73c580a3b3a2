"""Entities of any content: no two are alike, and each is found under its own name."""

from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelake
from tidelake.coverage.values.clock import Clock
from tidelake.coverage.values.series import Series
from tidelake.errors import Corrupt, Invalid
from tidelake.model.schema import Column
from tidelake.testing.place import Place

NOON = datetime(2024, 3, 1, 12)
TEXTS = [
    *("", " ", "a", "A", "a ", "'", "''", '"', '["a"]', "null", "\\", "\\u0000", "\x00", "a\x00b"),
    *("ü", "u\u0308", "\u2603", "\U0001f30a", "\ufffd", "\n", "1", "x" * 100_000, "%_", "ß", "ss"),
    None,
]


def lake_at(folder: Path) -> tidelake.Lake:
    return Place.at("sqlite", folder).open()


def covered_entities(table: tidelake.Table) -> dict[tuple[Any, ...], int]:
    return {entity: each.covered for entity, each in table.coverage().each.items()}


@pytest.mark.parametrize("inlined", [True, False])
def test_strings(inlined: bool, tmp_path: Path) -> None:
    with lake_at(tmp_path) as lake:
        lake.set_option("data_inlining_row_limit", 1000 if inlined else 0)
        t = lake.create_table(
            "t", "k VARCHAR, ts TIMESTAMP", entity="k", event_time="ts", bucket="1h"
        )
        t.append([{"k": text, "ts": NOON.replace(hour=n % 24)} for n, text in enumerate(TEXTS)])
        assert covered_entities(t) == {(text,): 1 for text in TEXTS}
        for n, text in enumerate(TEXTS):
            if text is not None:
                assert t.coverage(entity=text).start == NOON.replace(hour=n % 24)
        assert t.coverage(entity="nobody").covered == 0
        assert t.coverage(entity=(None,)).covered == 1


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TINYINT", [-128, 0, 127]),
        ("BIGINT", [-(2**63), -1, 0, 2**63 - 1]),
        ("UBIGINT", [0, 2**63, 2**64 - 1]),
        ("UUID", [UUID(int=0), UUID(int=1), UUID(int=2**128 - 1), UUID(int=2**127)]),
        ("DATE", [date.min, date(1969, 12, 31), date.max, "10000-01-01", "5881580-07-10"]),
        ("DATE", ["0001-01-01 (BC)", "5877642-06-25 (BC)", "infinity", "-infinity"]),
    ],
)
def test_other_types(kind: str, values: list[Any], tmp_path: Path) -> None:
    with lake_at(tmp_path) as lake:
        t = lake.create_table(
            "t", f"k {kind}, ts TIMESTAMP", entity="k", event_time="ts", bucket="1h"
        )
        listed = ", ".join(f"(CAST('{v}' AS {kind}), TIMESTAMP '{NOON}')" for v in values)
        lake.set_option("data_inlining_row_limit", 0)
        lake.sql(f"INSERT INTO t VALUES {listed}, (NULL, TIMESTAMP '{NOON}')")
        assert covered_entities(t) == {(value,): 1 for value in [*values, None]}
        for value in values:
            assert t.coverage(entity=value).covered == 1


def test_of_several_columns(tmp_path: Path) -> None:
    pairs = [("a", 1), ("a,1", None), (None, 1), ('a"', 11), ("a", 11), ("", 0), (None, None)]
    with lake_at(tmp_path) as lake:
        t = lake.create_table(
            "t",
            "k VARCHAR, n INTEGER, ts TIMESTAMP",
            entity=["k", "n"],
            event_time="ts",
            bucket="1h",
        )
        t.append([{"k": k, "n": n, "ts": NOON} for k, n in pairs])
        assert covered_entities(t) == dict.fromkeys(pairs, 1)
        assert t.coverage(entity={"N": 1, "k": None}).covered == 1


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TIMESTAMP", ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806", "infinity"]),
        ("TIMESTAMPTZ", ["290309-12-22 (BC) 12:00:00+00", "294247-01-09 00:00:00+00", "-infinity"]),
        ("TIMESTAMP_S", ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"]),
        ("TIMESTAMP_MS", ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775"]),
        ("TIMESTAMP_NS", ["1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806"]),
        ("DATE", ["5877642-06-25 (BC)", "5881580-07-10", "infinity"]),
        ("BIGINT", [str(-(2**63)), str(2**63 - 1)]),
        ("UBIGINT", ["0", str(2**64 - 1)]),
    ],
)
def test_moments_at_the_ends_of_time_are_accepted(
    kind: str, values: list[str], tmp_path: Path
) -> None:
    """As they are without coverage: rows at infinity are in no bucket."""
    narrow = {"DATE": "1d", "TIMESTAMP_S": "1s"}.get(kind, "1ms")
    widths = ("1", "1000") if kind.endswith("INT") else (narrow, "1w", "1mo", "100y")
    finite = sum(not value.endswith("infinity") for value in values)
    with lake_at(tmp_path) as lake:
        t = lake.create_table("t", f"ts {kind}", event_time="ts", bucket=widths[0])
        rows = ", ".join(f"(CAST({v!r} AS {kind}))" for v in values)
        lake.sql(f"INSERT INTO t VALUES {rows}")
        lake.set_option("data_inlining_row_limit", 0)
        for width in widths:
            t.set_coverage(width)
            lake.sql(f"INSERT INTO t VALUES {rows}")
            found = t.coverage()
            assert found.covered == finite
            assert found.gaps
            assert found.longest_gap is not None
        assert t.count() == (1 + len(widths)) * len(values)


def test_nothing_is_in_no_bucket(tmp_path: Path) -> None:
    with lake_at(tmp_path) as lake:
        t = lake.create_table("t", "k VARCHAR, ts TIMESTAMP")
        t.append(pa.table({"k": ["a", "b"], "ts": pa.array([NOON, None], pa.timestamp("us"))}))
        with pytest.raises(Invalid):
            t.set_event_time("ts", key="k")
        t.set_coverage("1h", entity="k", event_time="ts")
        assert covered_entities(t) == {("a",): 1}


COLUMNS = {
    "varchar": st.text(),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "date": st.dates(),
    "uuid": st.uuids(),
}


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_kept_is_read_back(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=3))
    columns = tuple(Column(n, f"c{n}", kind) for n, kind in enumerate(kinds))
    series = Series(columns, Column(9, "ts", "timestamp"), Clock.of("1h", "timestamp"))
    one, other = (tuple(data.draw(st.none() | COLUMNS[kind]) for kind in kinds) for _ in range(2))
    assert series.entity_of(series.text(one)) == one
    assert (series.text(one) == series.text(other)) == (one == other)
    assert series.given(dict(zip((c.name for c in columns), one, strict=True))) == one


@pytest.mark.parametrize("text", ["", "1", "[]", "[1, 2]", "[1.5]", '["a"', '[["a"]]', "[true]"])
def test_what_is_no_entity(text: str) -> None:
    column = Column(1, "k", "int64")
    series = Series((column,), Column(9, "ts", "timestamp"), Clock.of("1h", "timestamp"))
    with pytest.raises(Corrupt):
        series.entity_of(text)
