"""Which files there are behind paths and patterns, the oldest first."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tidelake.engine.incoming.from_files import kind_of
from tidelake.errors import Invalid, NotFound
from tidelake.ingestion.values import SourceFile
from tidelake.model.ownership import lies_within
from tidelake.store.failures import reporting
from tidelake.store.files import Store, is_local, local_path, same_place
from tidelake.store.glob import glob_regex

_WILD = re.compile(r"[*?\[]")


def discover(store: Store, patterns: Sequence[str], data_path: str) -> list[SourceFile]:
    """Every file once, but for the lake's own. A pattern that matches nothing is no error: nothing
    has come yet. A folder stands for all files below it that are of a known kind, but for hidden
    ones."""
    found: dict[str, SourceFile] = {}
    for pattern in patterns:
        if not isinstance(pattern, str | Path) or not str(pattern):
            raise Invalid(f"{pattern!r} is no path", hint='ingest(lake, "t", "incoming/*.csv")')
        listed = _listed_here if is_local(str(pattern)) else _listed_there
        with reporting("list", str(pattern)):
            found |= {file.path: file for file in listed(store, str(pattern))}
    own = f"{same_place(data_path).rstrip('/')}/"
    come = [file for file in found.values() if not lies_within(file.path, own)]
    return sorted(come, key=lambda file: (file.modified, file.path))


def look_again(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Local files as they are now; one that is gone is left out. What a store has is there whole,
    or not at all, and does not change under somebody who reads it."""
    found = []
    for file in files:
        if not is_local(file.path):
            found.append(file)
        elif Path(file.path).is_file():
            found.append(_facts(Path(file.path)))
    return found


def _listed_here(_: Store, pattern: str) -> Iterator[SourceFile]:
    path = local_path(pattern).absolute()
    if path.is_file():
        yield _facts(path)
        return
    if path.is_dir():
        below = (each for each in path.rglob("*") if _is_data(each.relative_to(path).as_posix()))
        yield from (_facts(each) for each in below if each.is_file())
        return
    if not _WILD.search(pattern):
        raise NotFound(f"there is no file {pattern}", hint="check the path")
    for name in glob.iglob(str(path), recursive=True):  # noqa: PTH207
        if Path(name).is_file():
            yield _facts(Path(name))


def _facts(path: Path) -> SourceFile:
    """Under the name that it has whichever way it was found."""
    facts = path.stat()
    modified = datetime.fromtimestamp(facts.st_mtime, UTC)
    return SourceFile(same_place(str(path)), facts.st_size, modified)


def _listed_there(store: Store, pattern: str) -> Iterator[SourceFile]:
    wild = _WILD.search(pattern)
    if wild is None and not pattern.endswith("/") and store.exists(pattern):
        yield SourceFile(pattern, store.size(pattern), store.modified(pattern))
        return
    folder = pattern[: wild.start()].rpartition("/")[0] if wild else pattern.rstrip("/")
    accepted = glob_regex(pattern) if wild else None
    for each in store.walk(f"{folder}/"):
        if accepted.fullmatch(each.uri) if accepted else _is_data(each.uri[len(folder) :]):
            yield SourceFile(each.uri, each.bytes, each.modified)


def _is_data(path: str) -> bool:
    parts = [part for part in path.split("/") if part]
    return kind_of(path) is not None and not any(part[0] in "._" for part in parts)
