"""The connection breaks while a commit is under way: it lands once, and the caller is told so."""

import random
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from _pytest.mark import ParameterSet

import tidelake
from tests.concurrency import audit
from tidelake.errors import Unavailable
from tidelake.model.change import WriteResult
from tidelake.testing.faults import Proxy
from tidelake.testing.place import Place

SERVERS = ("postgresql", "mariadb")


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    """A lake with a table whose rows are in a file and in the catalog, and with deletes of both
    kinds."""
    place: Place = new_place(request.param)
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, v VARCHAR")
        table.append(rows(0, 200))
        table.delete("id < 50")
        table.append(rows(200, 203))
        lake.create_table("u", "id BIGINT, v VARCHAR")
    return place


@pytest.fixture
def wire(place: Place) -> Iterator[Proxy]:
    """A wire to the place's server."""
    with place.open() as lake, Proxy(urlsplit(place.url).port or 0, lambda: count(lake)) as proxy:
        yield proxy


def rows(first: int, last: int) -> list[dict[str, object]]:
    return [{"id": number, "v": f"v{number}"} for number in range(first, last)]


def count(lake: tidelake.Lake) -> int:
    found: int = audit.rows(lake, "SELECT count(*) FROM ducklake_snapshot")[0][0]
    return found


def ids(place: Place, table: str = "t") -> list[int]:
    with place.open() as lake:
        return sorted(lake.table(table).to_arrow()["id"].to_pylist())


def move(lake: tidelake.Lake) -> WriteResult:
    with lake.transaction() as tx:
        tx.table("u").append(rows(150, 200))
        tx.table("t").delete("id BETWEEN 150 AND 199")
    assert tx.result is not None
    return tx.result


START = [*range(50, 203)]
WRITES: dict[str, tuple[Callable[[tidelake.Lake], WriteResult], list[int]]] = {
    "append to the catalog": (lambda lake: lake.table("t").append(rows(300, 302)), [300, 301]),
    "append a file": (lambda lake: lake.table("t").append(rows(300, 350)), [*range(300, 350)]),
    "delete a few": (lambda lake: lake.table("t").delete("id IN (60, 61)"), [-60, -61]),
    "delete many": (lambda lake: lake.table("t").delete("id < 100"), [-n for n in range(50, 100)]),
    "update": (lambda lake: lake.table("t").update({"id": "id + 900"}, "id = 99"), [-99, 999]),
    "merge": (lambda lake: lake.table("t").merge(rows(190, 230), on="id"), [*range(203, 230)]),
    "overwrite": (lambda lake: lake.table("t").overwrite(rows(50, 60)), [-n for n in START[10:]]),
    "evolve": (lambda lake: lake.table("t").evolve(add={"x": "int32"}), []),
    "two tables": (move, [-n for n in range(150, 200)]),
}


def expected(changes: list[int]) -> list[int]:
    gone = {-change for change in changes if change < 0}
    return sorted({*START, *(change for change in changes if change > 0)} - gone)


def cases() -> Iterator[ParameterSet]:
    """Where nothing had landed there is little to go wrong: one will do."""
    for place, write in enumerate(WRITES):
        yield pytest.param(write, True, marks=pytest.mark.slow if place % 2 else ())
        yield pytest.param(write, False, marks=pytest.mark.slow if place else ())


@pytest.mark.parametrize(("write", "landed"), list(cases()))
def test_a_lost_commit(place: Place, wire: Proxy, write: str, landed: bool) -> None:
    do, changes = WRITES[write]
    before = wire.snapshots()
    with wire.through(place).open() as lake:
        wire.lose_commit(landed=landed)
        result = do(lake)
        assert wire.fired == 1
        assert (result.duplicate, result.attempts) == (landed, 2)
        assert result.snapshot_id == before
        assert wire.snapshots() == before + 1
        lake.table("u").append(rows(0, 1))  # and the lake is as usable as before
    assert ids(place) == expected(changes)
    audit.check(place, "t", "u")
    with place.open() as lake:
        assert audit.check_files(place, lake) == 0


def test_cuts_at_any_byte(place: Place, wire: Proxy) -> None:
    """No write fails, and each is done once, however often the wire breaks."""
    moments = random.Random(1)
    through = wire.through(place)
    with through.open() as lake:
        table = lake.table("t")
        for number in range(14):
            wire.cut_after(moments.randrange(1, 9000))
            few = moments.random() < 0.5
            assert table.append(rows(1000 * number, 1000 * number + (1 if few else 20))).inserted
            wire.cut_after(moments.randrange(1, 9000))
            assert table.delete(f"id = {1000 * number}").deleted == 1
        assert wire.fired > 6
    found = [n for n in ids(place) if n >= 1000]
    assert len(set(found)) == len(found)
    audit.check(place, "t")


@pytest.mark.slow
@pytest.mark.parametrize("landed", [True, False])
def test_nobody_knows_whether_it_landed(place: Place, wire: Proxy, landed: bool) -> None:
    """Then the files stay: the lake may refer to them."""
    with wire.through(place).tuned(patience_s=0.3).open() as lake:
        table = lake.table("t")
        table.append(rows(300, 301))
        wire.lose_commit(landed=landed)
        wire.refuse()
        with pytest.raises(Unavailable) as caught:
            table.append(rows(400, 450))
        assert wire.fired == 1
        assert caught.value.hint
    assert ids(place) == [*START, 300, *(range(400, 450) if landed else ())]
    audit.check(place, "t")
    with place.open() as lake:
        assert audit.check_files(place, lake) == (0 if landed else 1)
