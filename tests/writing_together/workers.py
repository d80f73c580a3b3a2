"""What the processes of these tests do."""

from collections.abc import Iterable

from tests.writing_together.place import Place


def append_one_by_one(place: Place, numbers: Iterable[int]) -> list[int]:
    """The snapshots that the appends made."""
    with place.open() as lake:
        table = lake.table("t")
        results = [table.append([{"n": number, "who": "us"}]) for number in numbers]
    return [result.snapshot_id or 0 for result in results]


def duck_insert_one_by_one(place: Place, numbers: Iterable[int]) -> None:
    with place.duck() as duck:
        duck.execute("SET ducklake_max_retry_count = 100")
        for number in numbers:
            duck.execute(f"INSERT INTO lake.t VALUES ({number}, 'duck')")
