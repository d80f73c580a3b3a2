"""A log and the lake it mirrors: version by version the same rows."""

from pathlib import Path

import tidelake
from tests.delta.readers import Readers
from tidelake.delta.log.names import commit_version
from tidelake.delta.mirror import records as mirrors
from tidelake.testing import canonical


def assert_agree(lake: tidelake.Lake, name: str, readers: Readers) -> int:
    """The newest version, once all have been read. Versions are without gaps, each snapshot has
    one at most, and the last shows the newest rows."""
    info = lake.table(name).info
    with lake.session.reading() as reader:
        known = mirrors.known_versions(reader, info.id)
    log = Path(info.path) / "_delta_log"
    there = sorted(v for p in log.iterdir() if (v := commit_version(p.name)) is not None)
    assert there == list(range(len(there))) == sorted(known)
    snapshots = [known[version][0] for version in there]
    assert len(set(snapshots)) == len(snapshots)
    for version, at in zip(there, snapshots, strict=True):
        wanted = canonical.rows(lake.known_at(at).table(name).to_arrow())  # type: ignore[arg-type]
        _assert_shown(readers, info.path, version, wanted)
    _assert_shown(readers, info.path, None, canonical.rows(lake.table(name).to_arrow()))
    return there[-1]


def _assert_shown(
    readers: Readers, root: str, version: int | None, wanted: list[tuple[object, ...]]
) -> None:
    for reader, (_, rows) in readers.read(root, version).items():
        assert rows == wanted, (reader, version, len(rows), len(wanted))
