"""Point-in-time joins that insist on complete tables, and facts that end by themselves."""

from datetime import datetime

import pytest

import tidelake
from tidelake.errors import Incomplete, Invalid

LABELS = [{"k": "a", "at": datetime(2024, 3, 3, 12)}]


def series(lake: tidelake.Lake, *days: int) -> tidelake.Table:
    t = lake.create_table(
        "t",
        "k VARCHAR, ts TIMESTAMP, v INTEGER",
        key="k",
        event_time="ts",
        entity="k",
        bucket="1d",
    )
    t.append([{"k": "a", "ts": datetime(2024, 3, day), "v": day} for day in days])
    return t


def test_a_table_that_lacks_days_is_refused(lake: tidelake.Lake) -> None:
    t = series(lake, 1, 2, 4).as_of("2024-03-04")
    joined = tidelake.asof_join(LABELS, t, on="k", left_time="at", right_time="ts", require=0.9)
    with pytest.raises(Incomplete, match=r"75\.0 % complete") as refused:
        joined.to_arrow()
    assert refused.value.required == 0.9
    enough = tidelake.asof_join(LABELS, {"t": t}, on="k", left_time="at", require=0.75)
    assert enough.to_arrow().num_rows == 1


@pytest.mark.parametrize("sides", ["'t'", "['t']", "{'x': {'table': 't', 'columns': ['v']}}"])
def test_in_sql_too(lake: tidelake.Lake, sides: str) -> None:
    series(lake, 1, 2, 4)
    ask = (
        "FROM asof_join('SELECT ''a'' AS k, TIMESTAMP ''2024-03-03 12:00'' AS made',"
        f" {sides}, left_time => 'made', require => $part)"
    )
    with pytest.raises(Incomplete, match=r"75\.0 % complete") as refused:
        lake.sql(ask, {"part": 0.9}, as_of="2024-03-04").to_arrow()
    assert refused.value.required == 0.9
    for part in ("0.75", "CAST(0.75 AS DOUBLE)", "NULL"):
        found = lake.sql(ask.replace("$part", part), as_of="2024-03-04").to_arrow()
        assert found.num_rows == 1
    with pytest.raises(Invalid, match="no part of a whole"):
        lake.sql(ask, {"part": 2})
    lake.sql("CREATE VIEW seen AS FROM t")
    with pytest.raises(Invalid, match="only a table"):
        lake.sql(ask.replace("'t'", "'seen'"), {"part": 1})


def test_what_a_table_requires_of_itself_holds_in_joins(lake: tidelake.Lake) -> None:
    t = series(lake, 1, 3)
    with pytest.raises(Incomplete):
        tidelake.asof_join(LABELS, t.as_of("2024-03-03", require=1.0), left_time="at").to_arrow()


def test_frames_cannot_tell(lake: tidelake.Lake) -> None:
    with pytest.raises(Invalid, match="only a table"):
        tidelake.asof_join(LABELS, LABELS, on="k", left_time="at", right_time="at", require=1.0)
    plain = lake.create_table("plain", "k VARCHAR, ts TIMESTAMP", key="k", event_time="ts")
    with pytest.raises(Invalid, match="coverage is not kept"):
        tidelake.asof_join(LABELS, plain, left_time="at", require=1.0)


def test_facts_that_end_by_themselves_give_way_to_older_ones(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "ending",
        "k VARCHAR, ts TIMESTAMP, until TIMESTAMP, v INTEGER",
        key="k",
        event_time="ts",
        valid_to="until",
    )
    first, last = datetime(2024, 3, 1), datetime(2024, 3, 2)
    t.append([{"k": "a", "ts": first, "until": last, "v": 1}])
    join = tidelake.asof_join(LABELS, t.scan(columns=["k", "ts", "v"]), left_time="at")
    assert join.to_arrow().column_names == ["k", "at", "ts", "v"]
    assert join.to_arrow()["v"].to_pylist() == [None]
    t.append([{"k": "a", "ts": datetime(2024, 2, 1), "until": None, "v": 2}])
    assert join.to_arrow()["v"].to_pylist() == [2]
    found = tidelake.asof_join(LABELS, t.as_of("2024-03-01"), left_time="at").to_arrow()
    assert found["v"].to_pylist() == [1]
