"""Spark's exceptions, told in Tidelake's words where they mean one of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelake import errors
from tidelake.engine.local.errors import refusal_in

_CARRIED = re.compile(r"tidelake\.errors\.([A-Z]\w+): \x02(.*?)\x1f(.*?)\x03", re.DOTALL)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: |$)", re.DOTALL)
_OURS = re.compile(r"tidelake\.errors\.([A-Z]\w+): ([^\n]*)")
_BEYOND = re.compile(r"Class (\S*Codec) was not found|\[(UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT)\]")
_LACKS = re.compile(r"No module named '(tidelake|duckdb|pyarrow)")
SHIP = (
    "give the executors the environment of the driver: pack it (venv-pack, conda-pack) and name it"
    " in spark.archives with spark.pyspark.python, or send it with spark.addArtifacts(…,"
    " archive=True); pip install the same versions where the executors run works too"
)
_BROKEN = re.compile(r"\[(PATH_NOT_FOUND|FAILED_READ_FILE[\w.]*|CANNOT_READ_FILE\w*)\] ([^\n]*)")


@contextmanager
def translate_spark_errors(doing: str) -> Iterator[None]:
    """Run a Spark call. What Spark raises about the lake's files, or Tidelake raised inside
    Spark, comes out as an error of our own tree; anything else stays Spark's."""
    try:
        yield
    except errors.TidelakeError:
        raise
    except Exception as error:
        ours = _translate(doing, str(error)) or _refused(doing, error)
        if ours is None:
            raise
        raise ours from error


def _translate(doing: str, text: str) -> errors.TidelakeError | None:
    if carried := _CARRIED.search(text):
        return _kind(carried[1])(carried[2], hint=carried[3] or None)
    if own := refusal_in(text):
        return own
    if told := _OURS.search(text):
        return _kind(told[1])(f"{doing}: {told[2].strip()}")
    if raised := _RAISED.search(text):
        return errors.Invalid(f"{doing}: {raised[1]}", hint="correct the data")
    if beyond := _BEYOND.search(text):
        return errors.Unsupported(
            f"{doing}: a file holds what Spark cannot read: {beyond[1] or beyond[2]}",
            hint="read it with engine='local'",
        )
    if broken := _BROKEN.search(text):
        what = "is missing" if "NOT_EXIST" in broken[1] or "NOT_FOUND" in broken[1] else "is broken"
        return errors.Corrupt(
            f"{doing}: a file that the catalog names {what}: {broken[2].strip()}",
            hint="was the data moved, or cleaned up by another tool? Restore it from a copy",
        )
    if lacks := _LACKS.search(text):
        return errors.Unsupported(
            f"{doing}: Spark's executors run Tidelake, and do not have {lacks[1]}", hint=SHIP
        )
    if "[PYTHON_VERSION_MISMATCH]" in text:
        return errors.Unsupported(
            f"{doing}: Spark's executors have another version of Python than the driver", hint=SHIP
        )
    return None


def _refused(doing: str, error: Exception) -> errors.TidelakeError | None:
    """What Spark says of a statement, not of data."""
    text = str(error)
    if "[SCALAR_SUBQUERY_TOO_MANY_ROWS]" in text:
        return errors.Invalid(
            f"{doing}: a subquery that stands for a value gives more than one row",
            hint="add LIMIT 1, or an aggregate",
        )
    if type(error).__name__ in ("AnalysisException", "ParseException"):
        return errors.Unsupported(
            f"{doing}: Spark cannot run it: {text.splitlines()[0] if text else ''}",
            hint="run it with engine='local'",
        )
    return None


def _kind(name: str) -> type[errors.TidelakeError]:
    found: type[errors.TidelakeError] = getattr(errors, name, errors.TidelakeError)
    return found
