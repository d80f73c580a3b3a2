"""Footers are looked at once."""

from collections.abc import Sequence

from tidelake.engine.local.known_files import KnownFiles
from tidelake.model.file import DeleteFile


def test_of_a_delete_file_the_columns_are_looked_up_once() -> None:
    looked: list[str] = []

    def look(files: Sequence[DeleteFile]) -> list[tuple[str, ...]]:
        looked.extend(file.path for file in files)
        return [(file.path, "pos") for file in files]

    known = KnownFiles()
    first, second, other = file("a", 1), file("b", 1), file("a", 2)
    assert known.columns([first], look) == [("a", "pos")]
    assert known.columns([second, first, second], look) == [
        ("b", "pos"),
        ("a", "pos"),
        ("b", "pos"),
    ]
    assert known.columns([first, other], look) == [("a", "pos"), ("a", "pos")]
    assert looked == ["a", "b", "b", "a"], "another size is another file"
    assert known.columns([first, second, other], look)[1] == ("b", "pos")
    assert len(looked) == 4


def file(path: str, size: int) -> DeleteFile:
    return DeleteFile(1, path, "parquet", 1, size, 1)
