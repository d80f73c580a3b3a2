"""Whether data written with one schema can be read with another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidelake.drawing.report import DrawableReport
from tidelake.errors import Invalid
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.widening import why_not, widens

MODES = ("backward", "forward", "full")


@dataclass(frozen=True, slots=True)
class Compatibility(DrawableReport):
    """True if nothing speaks against it; otherwise `reasons` say what does, column by column."""

    mode: str
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        if self:
            return f"{self.mode} compatible"
        return "\n".join([f"not {self.mode} compatible:", *(f"- {r}" for r in self.reasons)])


def is_compatible(
    old: Sequence[Column], new: Sequence[Column], mode: str = "backward"
) -> Compatibility:
    """Compare two schemas, column by column and field by field, by name; order does not matter.

    backward: readers with the new schema can read data written with the old one.
    forward: readers with the old schema can read data written with the new one.
    full: both.

    | change                              | backward | forward |
    |-------------------------------------|----------|---------|
    | column added, nullable or defaulted | yes      | yes     |
    | column added, required, no default  | no       | yes     |
    | column dropped                      | yes      | no      |
    | type widened without loss           | yes      | no      |
    | type narrowed                       | no       | yes     |
    | any other change of type            | no       | no      |
    | required becomes nullable           | yes      | no      |
    | nullable becomes required           | no       | yes     |

    A column or field that is dropped breaks those who still name it, which are the readers with
    the old schema. A rename is a drop and an addition, since data is matched by name here.
    Defaults that are expressions count: a reader can compute them. Fields inside columns may
    always be null.
    """
    if mode not in MODES:
        raise Invalid(f"mode {mode!r} is not known", hint=f"it is one of {', '.join(MODES)}")
    reasons: list[str] = []
    if mode != "forward":
        reasons += _obstacles(old, new, _Sides("old", "new"))
    if mode != "backward":
        reasons += _obstacles(new, old, _Sides("new", "old"))
    return Compatibility(mode, tuple(dict.fromkeys(reasons)))


@dataclass(frozen=True, slots=True)
class _Sides:
    """Which schema writes, which reads, and where in them we are."""

    writer: str
    reader: str
    path: str = ""

    def of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _obstacles(written: Sequence[Column], read: Sequence[Column], sides: _Sides) -> Iterator[str]:
    """What keeps readers of one schema from data of the other."""
    there = {fold(column.name): column for column in written}
    for column in read:
        source = there.get(fold(column.name))
        if source is None:
            yield from _missing(column, written, read, sides)
        else:
            yield from _differences(source, column, sides)


def _missing(
    column: Column, written: Sequence[Column], read: Sequence[Column], sides: _Sides
) -> Iterator[str]:
    dropped = sides.reader == "old"
    if not dropped and (column.nullable or column.default is not None or sides.path):
        return
    known = {fold(other.name) for other in read}
    alike = [
        other.name
        for other in written
        if fold(other.name) not in known and other.duckdb_type == column.duckdb_type
    ]
    renamed = f" (if {alike[0]!r} was renamed: that is a drop and an addition)" if alike else ""
    if dropped:
        yield f"{sides.of(column.name)!r} is gone: who still names it cannot read new data{renamed}"
        return
    yield (
        f"{sides.of(column.name)!r} is required by the {sides.reader} schema, has no default,"
        f" and is not in data of the {sides.writer} one{renamed}"
    )


def _differences(source: Column, column: Column, sides: _Sides) -> Iterator[str]:
    path = sides.of(column.name)
    if source.is_nested or column.is_nested:
        if source.type != column.type:
            yield (
                f"{path!r} is {source.type} in the {sides.writer} schema and {column.type} in the"
                f" {sides.reader} one"
            )
            return
        yield from _obstacles(source.children, column.children, replace(sides, path=path))
    elif not widens(source.type, column.type):
        yield (
            f"{path!r} cannot be read as {column.type} where it was written as {source.type}:"
            f" {why_not(source.type, column.type)}"
        )
    if source.nullable and not column.nullable and not sides.path:
        yield (
            f"{path!r} may be null in the {sides.writer} schema and is required by the"
            f" {sides.reader} one"
        )
