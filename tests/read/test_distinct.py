"""Conditions with IS DISTINCT FROM, in files of which a column has only NULLs."""

import tidelake

_ONE, _TWO = "CAST(1 AS DECIMAL(9, 2))", "CAST(2 AS DECIMAL(9, 2))"
_CONDITIONS = [
    f"x = {_ONE} OR x IS DISTINCT FROM {_TWO}",
    f"x IS NOT DISTINCT FROM {_ONE} OR NOT (x IS  NOT  DISTINCT  FROM {_TWO})",
    f"(x = {_ONE} OR x is distinct from {_TWO}) AND id > 0",
]


def test_rows_with_only_nulls_are_found_and_deleted(lake: tidelake.Lake) -> None:
    for n, condition in enumerate(_CONDITIONS):
        table = lake.create_table(f"t{n}", "id BIGINT, x DECIMAL(9, 2)")
        lake.set_option("data_inlining_row_limit", 0, table=f"t{n}")
        table.append([{"id": 1, "x": None}, {"id": 2, "x": None}])
        table.append([{"id": 3, "x": 2}])
        found = table.scan(where=condition).to_dicts()
        assert sorted(row["id"] for row in found) == [1, 2]
        assert table.update({"id": "id + 10"}, where=condition).updated == 2
        assert table.delete(condition).deleted == 2
        assert table.count() == 1
