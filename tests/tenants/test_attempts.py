"""Thousands of ways out, each of which must end at a wall, and change and tell nothing."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tidelake
from tests.tenants.attempts import Attempt, Target, attempts
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.testing.place import Place, files_below

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer

_EVERY = 101
"""One in so many is tried by `make test`."""


def _fill(lake: tidelake.Lake) -> None:
    rows = pa.table({"id": range(500), "zqcolumn": ["zqvalue"] * 500})
    lake.create_table("zqowner", "id BIGINT, zqcolumn VARCHAR").append(rows, message="zqmessage")
    acme = lake.create_tenant("acme")
    acme.create_table("t", "id BIGINT, s VARCHAR").append(
        pa.table({"id": range(500), "s": ["own"] * 500})
    )
    acme.close()
    bolt = lake.create_tenant("bolt")
    for name in ("zqtable", "zqgone"):
        table = bolt.create_table(name, "id BIGINT, zqcolumn VARCHAR", comment="zqmessage")
        table.append(rows, author="zqmessage")
    bolt.drop("zqgone")
    bolt.create_schema("inner")
    bolt.create_table("inner.zqdeep", "zqcolumn VARCHAR").append([{"zqcolumn": "zqvalue"}])
    bolt.create_view("zqview", "SELECT zqcolumn FROM zqtable")
    bolt.close()
    lake.tag("zqtag")


def _target(place: Place, lake: tidelake.Lake) -> Target:
    own = place.data / "tenants" / "acme"
    files = [lake.table(name).files()[0].path for name in ("bolt.zqtable", "zqowner")]
    (own / "link").symlink_to(Path(files[0]).parent)
    return Target(
        tuple(files),
        f"{own}/",
        f"{place.data}/",
        str(place.folder / "lake.db"),
        tuple(each.snapshot_id for each in lake.snapshots()),
    )


def _listing(place: Place) -> list[tuple[str, int, int]]:
    found = ((path, path.stat()) for path in files_below(place.data))
    return sorted((str(path), facts.st_size, facts.st_mtime_ns) for path, facts in found)


def _told(outcome: Any) -> str:
    """All that can be heard of an error, or of an answer."""
    said, seen = [], set()
    while isinstance(outcome, BaseException) and id(outcome) not in seen:
        seen.add(id(outcome))
        said.append(f"{outcome} {getattr(outcome, 'hint', '')}")
        outcome = outcome.__cause__ or outcome.__context__
    if not isinstance(outcome, BaseException):
        said.append(str(outcome.to_pylist()) if isinstance(outcome, pa.Table) else repr(outcome))
    return " ".join(said).lower()


def _try_all(
    acme: tidelake.Lake,
    tried: Iterable[Attempt],
    words: Iterable[str],
    also: Sequence[type[TidelakeError]] = (),
) -> int:
    """Each is refused, or tells of the tenant's own alone. How many there were."""
    listed = list(tried)
    for attempt in listed:
        try:
            outcome: Any = attempt.do(acme)
        except (Denied, NotFound, Invalid, *also) as error:
            outcome = error
        told, said = _told(outcome), attempt.said.lower()
        leaked = [word for word in words if word in told and word not in said]
        assert not leaked, f"{attempt.said!r} told of {leaked}: {told}"
    return len(listed)


@pytest.fixture
def walls(place: Place) -> Iterator[tuple[tidelake.Lake, tidelake.Lake, Target]]:
    with place.open() as lake:
        _fill(lake)
        acme = lake.tenant("acme", role="maintain")
        yield lake, acme, _target(place, lake)
        acme.close()


def _check(place: Place, walls: tuple[tidelake.Lake, tidelake.Lake, Target], every: int) -> int:
    lake, acme, target = walls
    before = place.state(), _listing(place)
    count = _try_all(acme, list(attempts(target))[::every], target.words)
    assert (place.state(), _listing(place)) == before
    assert acme.table("t").count() == 500
    assert lake.table("bolt.zqtable").count() == 500
    return count


def test_some_attempts(place: Place, walls: tuple[tidelake.Lake, tidelake.Lake, Target]) -> None:
    assert _check(place, walls, _EVERY) > 150


@pytest.mark.slow
def test_all_attempts(place: Place, walls: tuple[tidelake.Lake, tidelake.Lake, Target]) -> None:
    assert _check(place, walls, 1) > 10_000


@pytest.fixture(scope="module")
def standing(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Place, tidelake.Lake, Target]]:
    place = Place.at("sqlite", tmp_path_factory.mktemp("standing"))
    with place.open() as lake:
        _fill(lake)
        acme = lake.tenant("acme", role="maintain")
        yield place, acme, _target(place, lake)
        acme.close()


_PIECES = (
    "bolt",
    "zqtable",
    "acme",
    "main",
    "__",
    ".",
    "..",
    "/",
    "//",
    "\\",
    "%2e",
    "%2F",
    "%00",
    "\0",
    "*",
    "**",
    "?",
    "[ab]",
    "{a,b}",
    "~",
    "$HOME",
    "file://",
    "s3://",
    "\u0131",
    "\uff42\uff4f\uff4c\uff54",
    "\u200b",
    "\u202e",
    "\ud800",
    '"',
    "'",
    ";",
    "--",
    " ",
    "\n",
    "x" * 300,
)
_TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=5), min_size=1, max_size=7).map(
    "".join
)
_TRIES = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_TRIES
@given(name=_TEXTS)
def test_any_name(standing: tuple[Place, tidelake.Lake, Target], name: str) -> None:
    place, acme, target = standing
    own = {each.rpartition(".")[2].lower() for each in acme.tables()}
    assume(name.strip().strip('"').rpartition(".")[2].lower() not in own)  # it may drop its own
    before = place.state()
    quoted = '"' + name.replace('"', '""') + '"'
    tried = [
        Attempt(name, lambda lake: lake.table(name)),
        Attempt(name, lambda lake: lake.drop(name)),
        Attempt(name, lambda lake: lake.known_at(name)),
        Attempt(name, lambda lake: lake.sql(f"SELECT * FROM {quoted}").to_arrow()),
        Attempt(name, lambda lake: lake.sql(f"SELECT * FROM acme.{quoted}").to_arrow()),
        Attempt(name, lambda lake: lake.sql(f"SELECT * FROM {quoted}.t2").to_arrow()),
        Attempt(name, lambda lake: lake.sql(f"DELETE FROM {name}")),
    ]
    _try_all(acme, tried, target.words)
    assert place.state() == before


@_TRIES
@given(text=_TEXTS, begin=st.sampled_from(["", "own", "data", "file"]))
def test_any_path(standing: tuple[Place, tidelake.Lake, Target], text: str, begin: str) -> None:
    place, acme, target = standing
    before = place.state(), _listing(place)
    starts = {"own": target.own_folder, "data": target.data_path, "file": "file://"}
    path = starts.get(begin, "") + text
    tried = [
        Attempt(path, lambda lake: lake.table("t").append(path)),
        Attempt(path, lambda lake: lake.table("t").add_files(path)),
        Attempt(path, lambda lake: tidelake.import_delta(lake, path, "mine")),
        Attempt(path, lambda lake: lake.session.store.delete([path, f"{path}x"])),
    ]
    _try_all(acme, tried, target.words, [TidelakeError])  # it may be nonsense in its own folder
    assert (place.state(), _listing(place)) == before


@pytest.mark.parametrize("every", [797, pytest.param(29, marks=pytest.mark.slow)])
def test_attempts_in_a_role(postgres_server: "PostgresServer", tmp_path: Path, every: int) -> None:
    """The same, by one who has a login to the catalog."""
    place = Place.at("postgresql", tmp_path / "lake", postgres_server)
    with place.open() as lake:
        _fill(lake)
        target = _target(place, lake)
        login = lake.tenant_login("acme", role="maintain")
        before = _dump(place), _listing(place)
        with tidelake.connect(login.url) as acme:
            count = _try_all(acme, list(attempts(target))[::every], target.words)
            assert acme.table("t").count() == 500
        assert (_dump(place), _listing(place)) == before
        assert count > 10_000 // every


def _dump(place: Place) -> dict[str, list[Any]]:
    with psycopg.connect(place.url) as owner:
        names = owner.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        return {
            name: sorted(owner.execute(f'SELECT t::text FROM "{name}" t').fetchall())  # type: ignore[arg-type]
            for (name,) in names
        }
