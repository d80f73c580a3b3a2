"""Whether many objects lie where they may: as `is_within` says of each."""

from pathlib import Path

from tidelake.store.files import is_within
from tidelake.store.within import Within


def test_as_for_each_alone(tmp_path: Path) -> None:
    table, other = tmp_path / "table", tmp_path / "other"
    for folder in (table / "p=1", other):
        folder.mkdir(parents=True)
        (folder / "a").write_text("a")
    (table / "out").symlink_to(other / "a")
    (table / "in").symlink_to(table / "p=1" / "a")
    (table / "folder").symlink_to(other)
    (other / "back").symlink_to(table / "p=1")
    names = ["a", "p=1/a", "p=1", "out", "in", "folder/a", "folder", "nowhere/b", ""]
    names += ["../other/a", "../other/back/a", "../other/back", "../table/x", "p=1/../a", "p=1/.."]
    uris = [f"{table}/{name}" for name in names]
    uris += [f"file://{uri}" for uri in uris] + ["a", "../a", "s3://bucket/t/a", "s3://b/a"]
    for places in ([f"{table}/"], [f"file://{table}/"], [f"{other}/", "s3://bucket/t/"]):
        within = Within(places)
        for uri in uris:
            wanted = any(is_within(uri, place) for place in places)
            assert within.holds(uri) is wanted, (uri, places)
        assert within.holds(uris[0]) is any(is_within(uris[0], each) for each in places)
