"""`tidelake ingest`, once and again and again."""

import json
import subprocess
import sys
import time
from pathlib import Path

import tidelake
from tidelake.testing.place import Place


def command(place: Place, *words: str) -> list[str]:
    start = [sys.executable, "-m", "tidelake", "--catalog", place.url, "--data-path"]
    return [*start, f"{place.data}/", "ingest", *words]


def test_watch(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    (folder / "a.csv").write_text("k;at;v\nx;2024-01-01;1,5\nx;soon;2\n")
    options = ["--delimiter", ";", "--type", "v=VARCHAR", "--type", "at=DATE", "--key", "k"]
    options += ["--event-time", "at", "--partition-by", "k", "--author", "ann"]
    with place.open():
        pass
    once = command(place, "ns.t", f"{folder}/*.csv", *options)
    first = subprocess.run([*once, "--json"], capture_output=True, text=True, check=True)
    told = json.loads(first.stdout)
    assert (told["files"], told["rows"], told["bad_records"], told["known"]) == (1, 1, 1, 0)
    again = subprocess.run(once, capture_output=True, text=True, check=True)
    assert again.stdout == "0 files, 0 rows; 1 file taken before\n"
    watching = subprocess.Popen(
        command(place, "ns.t", f"{folder}/*.csv", "--delimiter", ";", "--watch", "0.1"),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        for number in (2, 3):
            draft = folder / "draft"
            draft.write_text(f"k;at;v\ny;2024-01-0{number};2\n")
            draft.rename(folder / f"{number}.csv")
            assert "1 file, 1 row" in watching.stdout.readline()
            time.sleep(0.05)
    finally:
        watching.kill()
        watching.wait()
    with place.open() as lake:
        t = lake.table("ns.t")
        assert t.count() == 3
        assert t.as_of("2024-01-02").count() == 2
        assert {entry.author for entry in t.log()} == {"ann", None}
        assert isinstance(lake, tidelake.Lake)
