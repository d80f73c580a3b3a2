"""The same bytes at another place."""

import threading
from pathlib import Path

import pytest

from tidelake.errors import Denied, Unavailable
from tidelake.store.copies import move_objects
from tidelake.store.files import Store


def made(folder: Path, names: str) -> list[str]:
    for name in names:
        (folder / name).write_text(name)
    return [str(folder / name) for name in names]


def test_files_move_into_folders_that_are_not_there_yet(tmp_path: Path) -> None:
    one, two, three = made(tmp_path, "abc")
    pairs = [(one, f"{tmp_path}/k=1/x=%20/a"), (two, f"{tmp_path}/k=1/b")]
    pairs.append((f"file://{three}", f"file://{tmp_path}/k=2/%63"))
    assert move_objects(Store(), pairs) == [True, True, True]
    found = {
        str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert found == {"k=1/x=%20/a": "a", "k=1/b": "b", "k=2/c": "c"}
    assert move_objects(Store(), []) == []


def test_a_name_that_is_too_long_is_no_place(tmp_path: Path) -> None:
    one, two = made(tmp_path, "ab")
    pairs = [(one, f"{tmp_path}/{'x' * 300}/a"), (two, f"{tmp_path}/k=1/b")]
    assert move_objects(Store(), pairs) == [False, True]
    assert Path(one).read_text() == "a"


def test_what_is_not_there_cannot_move(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        move_objects(Store(), [(f"{tmp_path}/a", f"{tmp_path}/k=1/a")])
    (one,) = made(tmp_path, "a")
    (tmp_path / "k=2").write_text("in the way")
    with pytest.raises((Unavailable, Denied)):
        move_objects(Store(), [(one, f"{tmp_path}/k=2/a")])


def test_a_folder_may_be_removed_while_it_is_empty(tmp_path: Path) -> None:
    """As an erasure does that has taken its last file."""
    sources, done = [], threading.Event()
    for n in range(2000):
        sources.append(tmp_path / f"{n}")
        sources[-1].write_text("")

    def remove() -> None:
        while not done.is_set():
            for n in range(2000):
                try:
                    (tmp_path / f"k={n}").rmdir()
                except OSError:
                    continue

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        pairs = [(str(path), f"{tmp_path}/k={path.name}/a") for path in sources]
        assert all(move_objects(Store(), pairs))
    finally:
        done.set()
        thread.join()
    assert all(Path(target).exists() for _, target in pairs)


class ShortOf(Store):
    """A store in which some copies come out empty."""

    def __init__(self, *short: str) -> None:
        super().__init__()
        self.short, self.deleted = short, []

    def sizes(self, uris):
        return {uri: 0 if uri in self.short else 7 for uri in uris}

    def delete(self, uris):
        self.deleted += uris


def test_what_was_not_copied_whole_stays_where_it_was(monkeypatch) -> None:
    monkeypatch.setattr("tidelake.store.copies.copy_objects", lambda _store, _pairs: None)
    pairs = [("s3://b/1", "s3://b/k=1/1"), ("s3://b/2", "s3://b/k=2/2")]
    store = ShortOf("s3://b/k=2/2")
    assert move_objects(store, pairs) == [True, False]
    assert store.deleted == ["s3://b/1", "s3://b/k=2/2"]
