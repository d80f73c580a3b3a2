"""Is the lake whole? The catalog against itself, and files against the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelake.catalog import inventory
from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import tags
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import NotFound
from tidelake.history import consumer_records as consumers
from tidelake.model.names import TableName, fold
from tidelake.session.progress import Tell, progress
from tidelake.session.session import Session
from tidelake.store.files import Store, is_local
from tidelake.verify import deep as verify_deep
from tidelake.verify import footers as file_checks
from tidelake.verify import rows as row_checks
from tidelake.verify.checks import coverage as checks_coverage
from tidelake.verify.checks import data_sets as checks_data_sets
from tidelake.verify.checks import erasures as checks_erasures
from tidelake.verify.checks import files as checks_files
from tidelake.verify.checks import references as checks_references
from tidelake.verify.checks import rollups as checks_rollups
from tidelake.verify.checks import snapshots as checks_snapshots
from tidelake.verify.checks import statistics as checks_statistics
from tidelake.verify.coverage import check_coverage
from tidelake.verify.expected_files import expected_files
from tidelake.verify.findings import Findings
from tidelake.verify.rollups import check_rollups
from tidelake.verify.values import CheckedFile, Problem, VerifyReport

_CATALOG_CHECKS = (
    *checks_snapshots.CHECKS,
    *checks_references.CHECKS,
    *checks_files.CHECKS,
)
_READING_CHECKS = (
    *checks_references.READING_CHECKS,
    *checks_files.READING_CHECKS,
    *checks_rollups.READING_CHECKS,
    *checks_coverage.READING_CHECKS,
    *checks_erasures.READING_CHECKS,
    *checks_data_sets.READING_CHECKS,
)
_FEW = 100


def verify(
    session: Session, *, deep: bool, fingerprint: bool, tables: Sequence[str] | None
) -> VerifyReport:
    """Everything that is wrong with the lake, or with some tables of it."""
    found = Findings()
    if fingerprint:
        verify_deep.check_writable(session)
    with session.reading() as reader:
        known = _check_catalog(session, reader, found, tables)
        files = _check_tables(reader, known, found) if known.of("snapshot") else []
    with progress("verifying", files=len(files), bytes=sum(file.bytes for file in files)) as tell:
        found.attempt(_check_files, session, files, tell)
        if known.of("snapshot"):
            found.attempt(check_rollups, session, known, deep)
        if deep and known.of("snapshot"):
            found.attempt(check_coverage, session, known, found.doubtful)
            found.attempt(checks_data_sets.data_set_rows, session, known)
        if (deep or fingerprint) and known.of("snapshot"):
            rows = verify_deep.Pass(session, known, found, deep, fingerprint)
            verify_deep.check_rows(rows, files, tell)
    return VerifyReport(tuple(dict.fromkeys(found.problems)), dict(found.checked), deep)


def _check_catalog(
    session: Session, reader: Reader, found: Findings, tables: Sequence[str] | None
) -> Inventory:
    taken = inventory.take(reader, session.data_path)
    found.problems += taken.problems
    found.checked["checks"] += 2
    if not taken.of("snapshot"):
        if not taken.problems:
            what = "the catalog has no snapshots"
            found.problems.append(Problem("head", what, "restore the catalog from a backup"))
        return taken
    known = replace(taken, only=None if tables is None else _ids(taken, tables))
    for check in _CATALOG_CHECKS:
        found.attempt(check, known)
    for reading in (*_READING_CHECKS, *(each.check for each in session.formats)):
        found.attempt(reading, known, reader)
    found.attempt(_check_marks, known, reader)
    found.checked["snapshots"] = len(known.snapshot_ids)
    return known


def _ids(known: Inventory, tables: Sequence[str]) -> frozenset[int]:
    """The tables of these names, now or formerly."""
    wanted = {TableName.parse(name): name for name in tables}
    found = {
        name: row.table_id
        for row in known.of("table")
        for name in wanted
        if fold(row.table_name) == fold(name.name)
        and fold(known.schemas[row.schema_id].schema_name) == fold(name.schema)
    }
    for name in wanted:
        if name not in found:
            raise NotFound(f"there has never been a table {name}", hint="check its name")
    return frozenset(found.values())


def _check_marks(known: Inventory, reader: Reader) -> Iterable[Problem]:
    return checks_snapshots.marks(known, tags.every(reader), consumers.every(reader))


def _check_tables(reader: Reader, known: Inventory, found: Findings) -> list[CheckedFile]:
    """Check the statistics of each table; what the catalog says of its files."""
    files: list[CheckedFile] = []

    def check_files_of(table_id: int) -> Iterable[Problem]:
        statistics = checks_statistics.file_statistics(known, reader, table_id)
        files.extend(expected_files(known, reader, table_id, statistics))
        yield from checks_statistics.table_counts(known, reader, table_id)
        yield from checks_statistics.table_bounds(known, statistics, table_id)

    for table_id in known.wanted_tables:
        found.attempt(check_files_of, table_id)
    found.checked["tables"] = len(known.wanted_tables)
    found.checked["files"] = len(files)
    found.checked["bytes"] = sum(file.bytes for file in files)
    return files


def _check_files(session: Session, files: Sequence[CheckedFile], tell: Tell) -> Iterable[Problem]:
    """Every file is there, and its footer says what the catalog says."""
    found = list(_file_problems(session, files, tell)) if files else []
    lost = {p.file for p in found if p.check in ("missing-files", "unreadable-files")}
    gone = _let_go(session, [file for file in files if file.path in lost])
    return [problem for problem in found if problem.file not in gone]


def _file_problems(session: Session, files: Sequence[CheckedFile], tell: Tell) -> Iterator[Problem]:
    sizes = _sizes(session.local.store, [file.path for file in files], session.data_path)
    sound = []
    for file in files:
        wrong = list(file_checks.presence(file, sizes.get(file.path)))
        yield from wrong
        sound += [] if wrong else [file]
    tell(phase="footers")
    work = session.local.workbench()
    work.reach(file.path for file in sound)
    for start in range(0, len(sound), file_checks.AT_ONCE):
        some = sound[start : start + file_checks.AT_ONCE]
        yield from file_checks.check_files(work, some)
        with translate_duckdb_errors("cannot read delete files"):
            both = [file for file in some if file.inlined_deletes]
            yield from list(row_checks.check_deletes(work, both))
        tell(files=len(some), bytes=sum(file.bytes for file in some))


def _let_go(session: Session, lost: Sequence[CheckedFile]) -> set[str]:
    """Those that the catalog no longer names: somebody expired and removed them meanwhile."""
    if not lost:
        return set()
    with session.reading() as reader:
        named = inventory.named_files(reader)
    return {file.path for file in lost if (file.deletes_from is not None, file.id) not in named}


def _sizes(store: Store, paths: Sequence[str], data_path: str) -> Mapping[str, int]:
    """The sizes of those that are there. Of many in a remote store, a list of all that lies there
    tells most; what it does not show is asked for."""
    listed: dict[str, int] = {}
    if len(paths) > _FEW and not is_local(data_path):
        listed = {each.uri: each.bytes for each in store.walk(data_path)}
    return listed | store.sizes([path for path in paths if path not in listed])
