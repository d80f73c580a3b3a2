"""pandas frames as Arrow data: their columns, and an index where that carries data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelake.errors import Invalid
from tidelake.model.names import fold

if TYPE_CHECKING:
    import pyarrow as pa

_LEAVE_OUT = "reset_index(drop=True) leaves the index out"


def with_index(frame: Any, place: str) -> Any:
    """The frame with its index as columns, first, as `reset_index()` has them. The index that
    pandas makes by itself is nobody's data, and so is one without names of a frame without rows.
    """
    names = list(frame.index.names)
    if names == [None] and (_is_default(frame.index) or not len(frame)):
        return frame
    if None in names:
        raise Invalid(
            f"{place}: the index of the frame has no name, so it is not clear what it is",
            hint=f"call reset_index() to make it a column; {_LEAVE_OUT}",
        )
    taken = {fold(str(name)) for name in frame.columns}
    for name in names:
        if fold(str(name)) in taken:
            raise Invalid(
                f"{place}: the index of the frame is called {name!r}, and so is a column",
                hint=f"rename one of them, for example with rename_axis(…); {_LEAVE_OUT}",
            )
        taken.add(fold(str(name)))
    return frame.reset_index()


def _is_default(index: Any) -> bool:
    import pandas

    return isinstance(index, pandas.RangeIndex)


def refuse_unknown_index(frame: Any, known: Sequence[str], place: str) -> None:
    """Raise if the index carries data for a column that there is not."""
    folded = {fold(name) for name in known}
    for name in frame.index.names:
        if name is not None and fold(str(name)) not in folded:
            raise Invalid(
                f"{place}: the index of the frame is called {name!r}, and there is no such column",
                hint=f"{_LEAVE_OUT}, or add the column first with evolve(add=…)",
            )


def without_guessed_types(frame: Any) -> Any:
    """A frame without rows has float64 for columns whose type nobody gave: they have none."""
    if len(frame):
        return frame
    floats = {name: object for name in frame.columns if str(frame[name].dtype) == "float64"}
    return frame.astype(floats) if floats else frame


def is_nan(value: Any) -> bool:
    """NaN stands for null among objects."""
    return isinstance(value, float) and value != value


def schema_of(frame: Any) -> pa.Schema:
    """The Arrow schema of a frame; of a Series, which may be a frame's `dtypes`, there is none."""
    import pandas
    import pyarrow as pa

    if not isinstance(frame, pandas.DataFrame):
        raise Invalid(
            f"a pandas {type(frame).__name__} does not describe the columns of a table",
            hint="give the DataFrame itself, or a dict of names to types",
        )
    frame = with_index(frame, "the columns of the table")
    _refuse_equal_names(frame)
    try:
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except (ValueError, TypeError, OverflowError) as error:
        reason = ": ".join(str(part) for part in error.args)
        raise Invalid(
            f"the columns of this DataFrame have no Arrow types: {reason}",
            hint="give every column one type with astype(…), or describe the table with a dict",
        ) from error


def _refuse_equal_names(frame: Any) -> None:
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Invalid(
            f"the frame has two columns of one name, {twice!r}",
            hint="rename or leave out one of them",
        )
