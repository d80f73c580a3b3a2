"""How far two times are from each other, as SQL."""

from __future__ import annotations

from tidelake.join.question import TimeComparison


def distance_sql(clock: TimeComparison, later: str, earlier: str) -> str:
    """As the clock counts: days, a number, or a length of time."""
    if clock.kind == "date":
        return f"date_diff('day', {earlier}, {later})"
    if clock.kind == "number":
        return f"(CAST({later} AS DECIMAL(38, 0)) - CAST({earlier} AS DECIMAL(38, 0)))"
    return f"({later} - {earlier})"


def age_sql(clock: TimeComparison, later: str, earlier: str, *, in_process: bool) -> str:
    """In seconds, or for clocks that are numbers a number; a DOUBLE. From and to infinity there is
    none."""
    distance = distance_sql(clock, later, earlier)
    if clock.kind == "date":
        return f"(CAST({distance} AS DOUBLE) * 86400)"
    if clock.kind == "number":
        return f"(CAST({distance} AS DOUBLE){' / 1000000000' if clock.nanoseconds else ''})"
    if in_process:
        finite = f"isfinite({later}) AND isfinite({earlier})"
        micros = f"CAST(epoch_us({later}) AS HUGEINT) - epoch_us({earlier})"
        return f"CASE WHEN {finite} THEN CAST({micros} AS DOUBLE) / 1000000 END"
    days = f"CAST(EXTRACT(DAY FROM {distance}) AS BIGINT) * 24"
    hours, minutes = (f"EXTRACT({part} FROM {distance})" for part in ("HOUR", "MINUTE"))
    whole = f"(({days} + {hours}) * 60 + {minutes}) * 60"
    rest = f"CAST(EXTRACT(SECOND FROM {distance}) * 1000000 AS BIGINT)"
    return f"(CAST({whole} * 1000000 + {rest} AS DOUBLE) / 1000000)"
