"""What a new process does not wait for."""

import subprocess
import sys
from pathlib import Path

import pytest

_BEGIN = """
import sys, tidelake
lake = tidelake.connect({url!r})
t = lake.create_table("t", {{"i": "BIGINT", "v": "VARCHAR", "b": "BLOB"}})
rows = [{{"i": n, "v": f"it's {{n}}", "b": b"a"}} for n in range(9)]
t.append(rows)
"""
_CALLS = {
    "scan": "assert t.scan(where='i < 8').to_dicts() == rows[:8]",
    "count": "assert t.scan(where=\"v <> 'it''s 2'\").count() == 8",
    "delete": "t.delete('i = 3'); assert t.count() == 8",
    "merge": "t.merge([{'i': 1, 'v': 'x', 'b': None}], on=['i']); assert t.count() == 9",
    "sql": "assert lake.sql('SELECT sum(i) AS s FROM t').to_dicts() == [{'s': 36}]",
    "files": "lake.compact(); assert t.scan(where='i < 8').to_dicts() == rows[:8]",
}


@pytest.mark.parametrize("call", _CALLS)
def test_pandas_is_imported_by_nobody_who_does_not_ask_for_it(tmp_path: Path, call: str) -> None:
    code = _BEGIN.format(url=f"sqlite:///{tmp_path}/lake.db") + _CALLS[call]
    code += "\nprint('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
