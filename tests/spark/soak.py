"""The programs of the soak, each a process of its own: `stream` is killed again and again, two of
`batches` write beside it, and `upkeep` tidies up. `python -m tests.spark.soak PROGRAM SETTINGS`.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tidelake
from tidelake.errors import Conflict, Unavailable

TABLE = "facts"
COLUMNS = "k BIGINT NOT NULL, ts TIMESTAMP NOT NULL, v VARCHAR, gone BOOLEAN"
KEYS = 40
_SECONDS_OF_A_STEP = 60


@dataclass(frozen=True)
class Soak:
    """Where everything is, and how much is to be written."""

    url: str
    storage_options: dict[str, Any]
    incoming: str
    checkpoint: str
    files: int
    rows_of_a_file: int
    batches: int

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def open(self) -> tidelake.Lake:
        return tidelake.connect(self.url, storage_options=self.storage_options)


def fact(writer: int, number: int) -> dict[str, Any]:
    """What a writer says as its so-manieth: no two facts about a key have the same time, and some
    are late."""
    late = number % 7 == 3
    moment = (number // 2 if late else number) * 10 + writer
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(1_700_000_000 + moment * 60 + late * 20))
    return {
        "k": (number * 7 + writer) % KEYS,
        "ts": stamp,
        "v": f"{writer}/{number}",
        "gone": number % 11 == 5,
    }


def facts_of_file(soak: Soak, number: int) -> list[dict[str, Any]]:
    first = number * soak.rows_of_a_file
    return [fact(0, first + n) for n in range(soak.rows_of_a_file)]


def stream(soak: Soak) -> None:
    """Until somebody kills it, or all files have been read."""
    from tests.servers.spark import session_for_streams

    spark = session_for_streams()
    read = spark.readStream.schema("k LONG, ts TIMESTAMP_NTZ, v STRING, gone BOOLEAN")
    rows = read.option("maxFilesPerTrigger", 1).json(soak.incoming)
    write = rows.writeStream.format("tidelake").option("checkpointLocation", soak.checkpoint)
    write = write.option("catalog", soak.url)
    for name, value in soak.storage_options.items():
        write = write.option(f"storage.{name}", str(value))
    query = write.trigger(availableNow=True).start(TABLE)
    print("started", flush=True)
    query.awaitTermination()
    print("all is read", flush=True)
    spark.stop()


def batches(soak: Soak, writer: int) -> None:
    with soak.open() as lake:
        table = lake.table(TABLE)
        for number in range(soak.batches):
            rows = [fact(writer, number * 5 + n) for n in range(5)]
            for _ in range(2):  # whoever is not sure does it again
                table.append(rows, once=f"writer-{writer}/{number}")


def upkeep(soak: Soak) -> None:
    """Until somebody ends it. What others are quicker with is done the next time."""
    done = Path(soak.checkpoint).with_name("done")
    with soak.open() as lake:
        while not done.exists():
            try:
                lake.table(TABLE).compact()
                lake.table(TABLE).rollup(as_of="2024-01-01")
                lake.expire(older_than="20 seconds")
                lake.cleanup(older_than="10 minutes")
                lake.sync_mirrors()
            except (Conflict, Unavailable):
                continue
            finally:
                time.sleep(1)


PROGRAMS = {"stream": stream, "batches": batches, "upkeep": upkeep}


if __name__ == "__main__":
    name, settings, *more = sys.argv[1:]
    PROGRAMS[name](Soak(**json.loads(settings)), *map(int, more))  # type: ignore[operator]
