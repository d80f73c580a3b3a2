"""What processes do that deliver rows to a series at the same time."""

from itertools import count

from tests.coverage.deliveries import as_arrow, as_dicts, minutes
from tidelake.errors import Overlap
from tidelake.testing.place import Place


def deliver(place: Place, policy: str, entity: str, span: range, value: int) -> str:
    """What became of the delivery."""
    rows = minutes(entity, span, value)
    with place.open() as lake:
        table = lake.table(policy)
        try:
            done = table.append(as_dicts(rows) if len(span) < 10 else as_arrow(rows))
        except Overlap:
            return "Overlap"
        return "landed" if done.inserted == len(rows) else f"{done.inserted} rows landed"


def duck_inserts(place: Place, policy: str, who: int) -> None:
    with place.duck() as duck:
        duck.execute("SET ducklake_max_retry_count = 100")
        for number in range(10):
            moment = f"TIMESTAMP '2024-01-01' + INTERVAL {number} HOUR"
            duck.execute(f"INSERT INTO lake.{policy} VALUES ('duck{who}', {moment}, {number})")


def keep_replacing(place: Place) -> None:
    """Until it is killed."""
    with place.open() as lake:
        table = lake.table("replace")
        found = table.to_arrow()["v"].to_pylist()
        for number in count(found[0] + 1):
            table.append(as_arrow(minutes("a", range(40), number)))
