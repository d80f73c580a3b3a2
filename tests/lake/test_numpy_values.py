"""Scalars of numpy and pandas stand wherever Python's own values do."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from tidelake import col
from tidelake.errors import Invalid, NotFound
from tidelake.model.numpy_scalar import python_value
from tidelake.testing.place import Place

COLUMNS = """i INT, f DOUBLE, b BOOLEAN, s VARCHAR, d DATE, ts TIMESTAMP, ns TIMESTAMP_NS,
    iv INTERVAL, j JSON, l BIGINT[]"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    with Place.at("sqlite", folder).open() as lake:
        yield lake


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (np.int8(3), 3),
        (np.uint64(2**63), 2**63),
        (np.float32(1.5), 1.5),
        (np.float16(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.datetime64("2024-01-02"), date(2024, 1, 2)),
        (np.datetime64("2024-01"), date(2024, 1, 1)),
        (np.datetime64("2024-01-02T03:04"), datetime(2024, 1, 2, 3, 4)),
        (np.datetime64("2024-01-02T03:04:05.000006000"), datetime(2024, 1, 2, 3, 4, 5, 6)),
        (np.datetime64("2024-01-02T00:00:00.000000001"), "2024-01-02T00:00:00.000000001"),
        (np.datetime64("NaT"), None),
        (np.timedelta64(5, "s"), timedelta(seconds=5)),
        (np.timedelta64(5000, "ns"), timedelta(microseconds=5)),
        (np.timedelta64("NaT"), None),
        (5, 5),
        ("x", "x"),
    ],
)
def test_scalars_become_what_they_are_equal_to(given, found):
    value = python_value(given)
    assert (value, type(value)) == (found, type(found))


def test_what_has_no_equal_stays():
    for given in (np.timedelta64(1, "M"), np.timedelta64(1, "ns"), np.array([1]), pd.Timestamp(0)):
        assert python_value(given) is given


def test_dicts_take_them(lake):
    table = lake.create_table("dicts", COLUMNS)
    table.append(
        [
            {
                "i": np.int64(1),
                "f": np.float32(0.5),
                "b": np.bool_(False),
                "s": np.str_("x"),
                "d": np.datetime64("2024-01-02"),
                "ts": np.datetime64("2024-01-02T03"),
                "ns": np.datetime64("2024-01-02T00:00:00.000000001"),
                "iv": np.timedelta64(90, "m"),
                "j": {"a": np.int64(1), "b": [np.float64(0.5)]},
                "l": np.array([1, 2]),
            },
            {"ts": np.datetime64("NaT"), "iv": np.timedelta64("NaT"), "d": pd.NaT},
        ]
    )
    first, second = table.scan(columns=["d", "ts", "iv", "j", "l"]).to_duckdb().fetchall()
    assert first == (
        date(2024, 1, 2),
        datetime(2024, 1, 2, 3),
        timedelta(minutes=90),
        '{"a": 1, "b": [0.5]}',
        [1, 2],
    )
    assert second == (None,) * 5
    for wrong in ({"iv": np.timedelta64(1, "M")}, {"i": np.float64(1.5)}, {"d": pd.Timestamp(0)}):
        with pytest.raises(Invalid):
            table.append([wrong])


def test_conditions_take_them(lake):
    table = lake.create_table("conditions", COLUMNS)
    table.append([{"i": 2, "f": 0.5, "ts": datetime(2024, 1, 2), "d": date(2024, 1, 2)}])
    for condition in (
        col("f") > np.float32(0.25),
        col("i") == np.int8(2),
        col("ts") == np.datetime64("2024-01-02T00:00"),
        col("d") >= np.datetime64("2024-01-02"),
        col("ts") < pd.Timestamp("2024-01-03"),
        col("i").is_in(np.array([1, 2])),
    ):
        assert table.scan(where=condition).count() == 1
    with pytest.raises(Invalid):
        _ = col("f") > np.array([1])


def test_moments_take_them(lake):
    table = lake.create_table(
        "facts", "k INT NOT NULL, ts TIMESTAMP NOT NULL", key="k", event_time="ts"
    )
    at = table.append([{"k": 1, "ts": datetime(2024, 1, 2)}]).snapshot_id
    table.append([{"k": 2, "ts": datetime(2024, 1, 3)}])
    assert table.known_at(np.int64(at)).count() == 1
    later = datetime.now(UTC).date() + timedelta(days=2)
    for moment in (later, pd.Timestamp(later), np.datetime64(later), np.datetime64(later, "ns")):
        assert table.known_at(moment).count() == 2
        assert lake.known_at(moment).table("facts").count() == 2
    for moment in (date(2024, 1, 2), np.datetime64("2024-01-02"), pd.Timestamp("2024-01-02")):
        assert table.as_of(moment).count() == 1
        with pytest.raises(NotFound):
            table.known_at(moment)
    for wrong in (pd.NaT, np.datetime64("NaT"), np.float64(1.5), True):
        with pytest.raises(Invalid):
            table.known_at(wrong)
