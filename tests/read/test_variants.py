"""Variants on their way through Arrow."""

from pathlib import Path

import tidelake


def test_variants_come_back_as_they_were_given_out(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        table = lake.create_table("t", "a INT, v VARIANT")
        table.append([{"a": 1, "v": {"x": 1, "y": [1, "z"]}}, {"a": 2, "v": None}])
        copy = lake.create_table("copy", "a INT, v VARIANT")
        copy.append(table.to_arrow())
        assert copy.to_pandas().to_dict("records") == table.to_pandas().to_dict("records")
