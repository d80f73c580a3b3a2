"""A lake whose files have been moved opens where they are."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.store.files import Store
from tidelake.testing.agreement import past
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


def lived(lake: tidelake.Lake, folder: Path) -> dict[int, Any]:
    """Data files, deletes, rollups, a mirror, registered files inside and outside."""
    t = lake.create_table(
        "t", "i BIGINT, ts TIMESTAMP", key="i", event_time="ts", partition_by=["bucket(2, i)"]
    )
    rows = [{"i": n, "ts": datetime(2024, 1, 1 + n % 28)} for n in range(100)]
    t.append(rows)
    t.delete("i > 70")
    t.rollup(as_of="2024-02-01")
    u = lake.create_table("u", "i BIGINT")
    inside = Path(lake.data_path, "raw")
    for number, raw in enumerate((inside, folder / "elsewhere")):
        raw.mkdir(parents=True)
        pq.write_table(pa.table({"i": [number, 10]}), raw / "found.parquet")
        u.add_files(str(raw / "found.parquet"))
    m = lake.create_table("m", "i BIGINT")
    lake.mirror("m", "delta")
    m.append([{"i": n} for n in range(20)])
    return past(lake)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_a_moved_lake(place: Place, tmp_path: Path) -> None:
    with place.open() as lake:
        before = lived(lake, tmp_path)
    new = tmp_path / "new place" / "data"
    new.parent.mkdir()
    shutil.move(place.data, new)
    with tidelake.connect(place.url, str(new), override_data_path=True) as lake:
        done = lake.move(new)
        assert (done.data_path, done.before) == (f"{new}/", f"{place.data}/")
        assert done.missing == 0
        assert past(lake) == before
    with tidelake.connect(place.url, str(new)) as lake:
        assert past(lake) == before
        assert lake.verify(deep=True).ok
        assert lake.table("t").scan(as_of="2024-02-02").explain().rollup is not None
        lake.table("m").append([{"i": n} for n in range(20, 40)])
        root = lake.mirrored("m").root
        assert root.startswith(str(new))
        assert deltalake.DeltaTable(root).to_pyarrow_table().num_rows == 40
        lake.table("t").append([{"i": 7, "ts": datetime(2024, 3, 1)}])
        lake.compact()
        lake.cleanup("0 seconds")
        last = max(before)
        assert past(lake)[last] == before[last]
    assert not place.data.exists()


def test_duckdb_finds_it_too(place: Place, tmp_path: Path) -> None:
    with place.open() as lake:
        lived(lake, tmp_path)
    shutil.copytree(place.data, tmp_path / "copy")
    with place.open() as lake:
        lake.move(tmp_path / "copy")
        assert not list((place.data / "_tidelake").glob("lake-*"))
    shutil.rmtree(place.data)
    with duck_connection() as duck:
        duck.execute(f"ATTACH '{place.ducklake}' AS lake")
        assert duck.execute("SELECT count(i), max(i) FROM lake.t").fetchall() == [(71, 70)]
        assert duck.execute("SELECT sum(i) FROM lake.u").fetchall() == [(21,)]


def test_files_must_be_there(place: Place, tmp_path: Path) -> None:
    with place.open() as lake:
        lived(lake, tmp_path)
        with pytest.raises(NotFound, match="files are not at") as caught:
            lake.move(tmp_path / "nowhere")
        assert "force=True" in str(caught.value)
        assert lake.data_path == f"{place.data}/"
        done = lake.move(tmp_path / "nowhere", force=True)
        assert done.missing == done.files > 0
        lake.move(place.data)
        assert len(lake.table("t").to_arrow()) == 71


def test_not_into_another_lake(place: Place, tmp_path: Path) -> None:
    tidelake.connect(f"sqlite:///{tmp_path}/b.db", f"{tmp_path}/b/").close()
    with place.open() as lake:
        for where in ("b", "b/deeper", "."):
            with pytest.raises(Invalid, match="another lake"):
                lake.move(tmp_path / where, force=True)
        with lake.transaction() as tx, pytest.raises(Invalid, match="cannot be in a transaction"):
            tx.move(tmp_path / "x")


def test_to_an_object_store(s3_server: "S3Server", place: Place, tmp_path: Path) -> None:
    options = s3_server.storage_options
    root = f"s3://{s3_server.new_bucket()}/lake/"
    with place.open() as lake:
        lake.create_table("t", "i BIGINT").append([{"i": n} for n in range(50)])
    for path in place.data.rglob("*"):
        if path.is_file():
            Store(options).write(root + str(path.relative_to(place.data)), path.read_bytes())
    with tidelake.connect(
        place.url, root, storage_options=options, override_data_path=True
    ) as lake:
        lake.move(root)
    shutil.rmtree(place.data)
    with tidelake.connect(place.url, storage_options=options) as lake:
        assert len(lake.table("t").to_arrow()) == 50
