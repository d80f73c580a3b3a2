"""Comparing what a lake has of a table with what a Delta log says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelake.delta.log.read import LogListing
from tidelake.delta.values.actions import Metadata, Protocol
from tidelake.delta.values.reports import Finding

_PROPERTIES = ("id", "name", "description", "schema", "partition_columns", "configuration")


@dataclass(frozen=True, slots=True)
class ComparedFile:
    """A file as one side has it: its rows, and the positions among them that are deleted. `rows`
    is None where that is not said, `gone` where it cannot be read."""

    path: str
    size: int
    rows: int | None
    gone: frozenset[int] | None


def compare_files(
    ours: Mapping[str, ComparedFile], theirs: Mapping[str, ComparedFile]
) -> Iterator[Finding]:
    for path, file in sorted(ours.items()):
        if path not in theirs:
            yield Finding("missing in log", path, f"{path} is in the lake, not in the log")
        else:
            yield from _compare_file(file, theirs[path])
    for path in sorted(theirs.keys() - ours.keys()):
        yield Finding("missing in lake", path, f"{path} is in the log, not in the lake")


def _compare_file(ours: ComparedFile, theirs: ComparedFile) -> Iterator[Finding]:
    path = ours.path
    if ours.size != theirs.size:
        said = f"{path} has {ours.size:,} bytes in the lake, {theirs.size:,} in the log"
        yield Finding("size", path, said)
    if ours.rows != theirs.rows:
        said = f"{path} has {ours.rows} rows in the lake, {theirs.rows} in the log"
        yield Finding("rows", path, said)
    if theirs.gone is not None and ours.gone is not None and ours.gone != theirs.gone:
        said = (
            f"{path} has {len(ours.gone):,} deleted rows in the lake, {len(theirs.gone):,} in the"
            f" log, and {len(ours.gone ^ theirs.gone):,} of them differ"
        )
        yield Finding("deletes", path, said)


def compare_there(listed: Iterable[ComparedFile], sizes: Mapping[str, int]) -> Iterator[Finding]:
    """Files of the log against what lies there, by path."""
    for file in listed:
        size = sizes.get(file.path)
        if size is None:
            yield Finding("missing file", file.path, f"{file.path} is in the log, and not there")
        elif size != file.size:
            said = f"{file.path} has {size:,} bytes, and the log says {file.size:,}"
            yield Finding("size", file.path, said)


def compare_metadata(ours: Metadata, theirs: Metadata) -> Iterator[Finding]:
    for name in _PROPERTIES:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            yield Finding("metadata", name, f"the log has another {name} than the lake")


def compare_protocol(ours: Protocol, theirs: Protocol) -> Iterator[Finding]:
    if ours != theirs:
        mine, other = (_spelled(each) for each in (ours, theirs))
        yield Finding("protocol", "protocol", f"it is {mine} in the lake, {other} in the log")


def _spelled(protocol: Protocol) -> str:
    features = sorted((protocol.reader_features or set()) | (protocol.writer_features or set()))
    return f"{protocol.reader}/{protocol.writer} ({', '.join(features) or 'no features'})"


def holes(log: LogListing) -> Iterator[Finding]:
    """Versions that are missing between others. Those before the first may have been cleaned up."""
    for version in range(min(log.commits, default=0), log.newest + 1):
        if version not in log.commits and version not in log.checkpoints:
            yield Finding("gap", str(version), f"the log has no version {version}")
