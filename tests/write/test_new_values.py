"""What update, merge and defaults set is a value of the column, exactly, or refused."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

import tidelake
from tidelake import col, lit
from tidelake.errors import Invalid

COLUMNS = """id BIGINT NOT NULL, n INT, small SMALLINT, amount DECIMAL(10,2), d DATE, ts TIMESTAMP,
    s TIMESTAMP_S, b BOOLEAN, name VARCHAR, f DOUBLE, f4 FLOAT, l BIGINT[], st STRUCT(a INT),
    m MAP(VARCHAR, INT), j JSON, u UUID, h HUGEINT"""
ROW = {
    "id": 1,
    "n": 3,
    "amount": Decimal("10.50"),
    "d": date(2024, 1, 1),
    "ts": datetime(2024, 1, 1, 5),
    "name": "ann",
    "f": 2.5,
}


@pytest.fixture
def table(lake):
    table = lake.create_table("t", COLUMNS)
    table.append([ROW])
    return table


def value(table, column):
    return table.scan(columns=[column]).to_arrow()[column][0].as_py()


REFUSED = [
    ("n", 1.5),
    ("n", 2.0),
    ("n", True),
    ("n", 2**31),
    ("amount", Decimal("1.239")),
    ("amount", 1.005),
    ("amount", Decimal(10**9)),
    ("d", datetime(2024, 1, 1, 23, 59)),
    ("s", datetime(2024, 1, 1, 0, 0, 0, 999999)),
    ("b", 5),
    ("name", 5),
    ("l", [1.5]),
    ("l", 5),
    ("st", {"z": 1}),
    ("id", None),
    ("n", object()),
    ("n", "2.5"),
    ("n", "f"),
    ("n", "amount"),
    ("n", "f / 2"),
    ("n", "'nan'::DOUBLE"),
    ("n", "'12.5'"),
    ("n", "b IS NULL"),
    ("small", "99999"),
    ("small", "id + 40000"),
    ("amount", "1.005"),
    ("amount", "f / 3"),
    ("amount", "amount * 1.111"),
    ("amount", "1e9"),
    ("d", "ts"),
    ("d", "'2024-01-01 10:00'"),
    ("s", "TIMESTAMP '2024-01-01 00:00:00.5'"),
    ("b", "5"),
    ("name", "id"),
    ("l", "[1, 2.5]"),
    ("st", "{'a': 1.5}"),
    ("j", "'{'"),
    ("u", "'x'"),
    ("h", "9007199254740993"),
    ("f", "9007199254740993"),
    ("f4", "1e300"),
    ("id", "nullif(id, 1)"),
]


def test_a_value_that_would_change_is_refused(lake, table):
    before = table.to_arrow()
    for column, given in REFUSED:
        with pytest.raises(Invalid, match=f"main.t: column '{column}'") as refused:
            table.update({column: given})
        assert "Error" not in str(refused.value)
        if isinstance(given, str):
            with pytest.raises(Invalid, match=f"main.t: column '{column}'"):
                lake.sql(f"UPDATE t SET {column} = {given}")
    assert table.to_arrow() == before


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("amount", 1.239),
        ("n", "source.n + 0.5"),
        ("amount", "source.n * 1.001"),
        ("id", "nullif(source.id, 1)"),
        ("d", "target.ts"),
    ],
)
def test_a_merge_refuses_a_value_that_would_change(table, column, given):
    builder = table.merge_builder([{"id": 1, "n": 5}], on="id")
    with pytest.raises(Invalid, match=f"main.t: column '{column}'"):
        builder.when_matched_update({column: given}).execute()


TAKEN = [
    ("n", 7, 7),
    ("n", np.int64(7), 7),
    ("n", None, None),
    ("amount", Decimal("1.20"), Decimal("1.20")),
    ("amount", 3, Decimal(3)),
    ("d", date(2024, 2, 3), date(2024, 2, 3)),
    ("ts", np.datetime64("2024-02-03T04:05"), datetime(2024, 2, 3, 4, 5)),
    ("l", [1, None], [1, None]),
    ("st", {"a": 5}, {"a": 5}),
    ("m", {"k": 1}, [("k", 1)]),
    ("name", lit("id"), "id"),
    ("name", lit("it's"), "it's"),
    ("n", "2.0", 2),
    ("n", "n + 1", 4),
    ("n", "CAST(2.5 AS INT)", 3),
    ("n", "f * 2", 5),
    ("n", "'12'", 12),
    ("n", "floor(random())", 0),
    ("amount", "amount * 1.1", Decimal("11.55")),
    ("amount", "f", Decimal("2.50")),
    ("amount", "amount / 2", Decimal("5.25")),
    ("d", "d + INTERVAL 1 DAY", date(2024, 1, 2)),
    ("d", "'2024-02-03'", date(2024, 2, 3)),
    ("d", "CAST(ts AS DATE)", date(2024, 1, 1)),
    ("ts", "d", datetime(2024, 1, 1)),
    ("b", "n > 1", True),
    ("name", "upper(name)", "ANN"),
    ("name", "NULL", None),
    ("f", "0.1", 0.1),
    ("f", "n", 3.0),
    ("f4", "f * 1.5", 3.75),
    ("l", "[]", []),
    ("l", "['1', '2']", [1, 2]),
    ("st", "{'a': NULL}", {"a": None}),
    ("m", "map {'k': 5}", [("k", 5)]),
    ("j", "'{}'", "{}"),
]


@pytest.mark.slow
def test_a_value_that_fits_is_set(table):
    for column, given, found in TAKEN:
        table.overwrite([ROW])
        assert table.update({column: given}).updated == 1
        assert value(table, column) == found


def test_text_in_values_stands_for_itself(table):
    table.update(values={"name": "id"}, where="id = 1")
    assert value(table, "name") == "id"
    table.update({"n": "n + 1"}, where=col("id") == 1, values={"name": "upper(name)"})
    assert (value(table, "name"), value(table, "n")) == ("upper(name)", 4)
    table.update(values={"d": "2024-05-06"})
    assert value(table, "d") == date(2024, 5, 6)
    with pytest.raises(Invalid, match="'n' is set twice"):
        table.update({"n": 1}, values={"N": 2})
    with pytest.raises(Invalid, match="nothing to set"):
        table.update()
    with pytest.raises(Invalid, match="takes a dict"):
        table.update([("n", 1)])


def test_text_that_names_no_column_says_how_to_give_text(table):
    for text in ("bob", "bob smith", "bob.smith"):
        with pytest.raises(Invalid) as refused:
            table.update({"name": text})
        assert "lit(" in str(refused.value.hint)


def test_conditions_are_no_values(table):
    for given in (col("n"), col("n") > 1):
        with pytest.raises(Invalid, match=r"cannot be set to a col\(…\)"):
            table.update({"n": given})


def test_merges_take_values_that_stand_for_themselves(table):
    builder = table.merge_builder([{"id": 1}, {"id": 2}], on="id")
    builder.when_matched_update({"name": lit("source.id"), "l": [1]})
    builder.when_not_matched_insert({"id": "source.id", "name": lit("new"), "n": 4}).execute()
    found = table.scan(columns=["id", "name", "n", "l"]).to_arrow().to_pylist()
    assert sorted(tuple(row.values())[:3] for row in found) == [
        (1, "source.id", 3),
        (2, "new", 4),
    ]


DEFAULTS = [
    "decimal(4,1) default 1.25",
    "int default 2.5",
    "int default 1.5 + 1",
    "smallint default 99999",
    "date default '2024-01-01 10:00'",
    "timestamp_s default '2024-01-01 00:00:00.5'",
    "boolean default 5",
    "varchar default 5",
    "decimal(10,2) default 1.005::double",
    "hugeint default 9007199254740993",
]


@pytest.mark.slow
def test_defaults_that_would_change_are_refused(lake, table):
    for definition in DEFAULTS:
        with pytest.raises(Invalid, match="'q': the default"):
            table.evolve(add={"q": definition})
        with pytest.raises(Invalid, match="'q': the default"):
            lake.create_table("new", f"a INT, q {definition}")
        with pytest.raises(Invalid, match="the default"):
            lake.sql(f"ALTER TABLE t ADD COLUMN q {definition}")


@pytest.mark.parametrize(
    ("column", "given"),
    [("n", 1.5), ("n", "2.5"), ("amount", Decimal("1.239")), ("b", 5), ("name", 5)],
)
def test_later_defaults_that_would_change_are_refused(table, column, given):
    with pytest.raises(Invalid, match=f"default.*'{column}'|'{column}'.*default"):
        table.evolve(default={column: given})


def test_a_refusal_says_just_that(lake):
    table = lake.create_table("t", "id BIGINT NOT NULL, n INT")
    table.append([{"id": i, "n": i} for i in range(20)])
    with pytest.raises(Invalid) as refused:
        table.overwrite([{"id": 9, "n": 1}], where="id < 5")
    assert refused.value.message == 'main.t: a row to be written does not meet ("id" < 5)'
    with pytest.raises(Invalid) as refused:
        table.update({"id": "nullif(id, 3)"})
    assert refused.value.message == "main.t: column 'id' may not be null"


def test_lit_stands_for_itself_in_conditions_too(table):
    assert table.scan(where=col("name") == lit("ann")).count() == 1
    assert tidelake.lit is lit


@pytest.mark.parametrize("where", [None, "", "  "])
def test_a_delete_without_a_condition_says_how_to_delete_all(table, where):
    with pytest.raises(Invalid, match=r"delete\(\) needs a condition") as refused:
        table.delete(where)
    assert refused.value.hint == 't.delete("true") for all'


def test_merge_in_sql_rounds_nothing(lake, table):
    merge = """MERGE INTO t USING (SELECT 1 AS id, {} AS n) AS s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (id, n)"""
    for given in ("2.5", "'2.5'", "2.5e0", "3000000000"):
        with pytest.raises(Invalid, match="column 'n'"):
            lake.sql(merge.format(given))
    for given, found in (("2.0", 2), ("'7'", 7), ("NULL", None), ("CAST(2.5 AS INT)", 3)):
        lake.sql(merge.format(given))
        assert value(table, "n") == found
