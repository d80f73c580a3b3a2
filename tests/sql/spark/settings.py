"""Settings of a Spark session that change what its SQL means."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]


@contextmanager
def settings(spark: Any, zone: str, ansi: bool) -> Iterator[None]:
    wanted = {
        "spark.sql.session.timeZone": zone,
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.sql.parser.escapedStringLiterals": str(not ansi).lower(),
    }
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
        assert all(spark.conf.get(name) == value for name, value in wanted.items())
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
