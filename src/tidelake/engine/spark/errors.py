"""Spark's exceptions, told in Tidelake's words where they mean one of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelake import errors
from tidelake.engine.local.errors import RESTORE, missing_file, refusal_in
from tidelake.engine.spark.paths import plain_path

_CARRIED = re.compile(r"tidelake\.errors\.([A-Z]\w+): \x02(.*?)\x1f(.*?)\x03", re.DOTALL)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: |$)", re.DOTALL)
_OURS = re.compile(r"tidelake\.errors\.([A-Z]\w+): ([^\n]*?)(?: \(hint: ([^\n]*)\))?(?:\n|$)")
_BEYOND = re.compile(r"Class (\S*Codec) was not found|\[(UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT)\]")
_LACKS = re.compile(r"No module named '(tidelake|duckdb|pyarrow)")
_DATA = re.compile(r"\[[A-Z_]+(?:\.[A-Z_]+)*\] ([^\n]*?)SQLSTATE: 22\w+")
_CANCELLED = re.compile(
    r"\[(?:SPARK_JOB_CANCELLED|OPERATION_CANCELED)\] ([^\n]*?)(?:SQLSTATE|\n|$)"
)
_OWN_FRAME = "/tidelake/engine/"
SHIP = (
    "give the executors the environment of the driver: pack it (venv-pack, conda-pack) and name it"
    " in spark.archives with spark.pyspark.python, or send it with spark.addArtifacts(…,"
    " archive=True); pip install the same versions where the executors run works too"
)
_BROKEN = re.compile(r"\[(PATH_NOT_FOUND|FAILED_READ_FILE[\w.]*|CANNOT_READ_FILE\w*)\] ([^\n]*)")
_FILE = re.compile(r"(\w+:/.*?)\.(?: (.*))?$")


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
        said = told[2].strip()
        message = said if said.startswith("cannot ") else f"{doing}: {said}"
        return _kind(told[1])(message, hint=told[3])
    if raised := _RAISED.search(text):
        return errors.Invalid(f"{doing}: {raised[1]}", hint="correct the data")
    if "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND]" in text:
        return errors.Unavailable(
            f"{doing}: an executor has died that held rows of it", hint="run it again"
        )
    if beyond := _BEYOND.search(text):
        return errors.Unsupported(
            f"{doing}: a file holds what Spark cannot read: {beyond[1] or beyond[2]}",
            hint="read it with engine='local'",
        )
    if broken := _BROKEN.search(text):
        return _unreadable(doing, broken[1], broken[2].partition(" SQLSTATE")[0].strip())
    if lacks := _LACKS.search(text):
        return errors.Unsupported(
            f"{doing}: Spark's executors run Tidelake, and do not have {lacks[1]}", hint=SHIP
        )
    if "[PYTHON_VERSION_MISMATCH]" in text:
        return errors.Unsupported(
            f"{doing}: Spark's executors have another version of Python than the driver", hint=SHIP
        )
    return None


def _unreadable(doing: str, kind: str, text: str) -> errors.Corrupt:
    """Of a file that Spark's own reader cannot read: as the local engine says it."""
    found = _FILE.search(text)
    path, more = (plain_path(found[1]), (found[2] or "").strip()) if found else (text, "")
    if "NOT_EXIST" in kind or "NOT_FOUND" in kind:
        return missing_file(doing, path)
    said = f"{doing}: a data file is damaged: {path}" + (f": {more}" if more else "")
    return errors.Corrupt(said, hint=RESTORE)


def _refused(doing: str, error: Exception) -> errors.TidelakeError | None:
    """What Spark says of a statement, and of what callers' own DataFrames compute."""
    text = str(error)
    if cancelled := _CANCELLED.search(text):
        return errors.TidelakeError(
            f"{doing}: its job was cancelled: {cancelled[1].strip()}", hint="run it again"
        )
    if "[SCALAR_SUBQUERY_TOO_MANY_ROWS]" in text:
        return errors.Invalid(
            f"{doing}: a subquery that stands for a value gives more than one row",
            hint="add LIMIT 1, or an aggregate",
        )
    if computed := _DATA.search(text):
        return errors.Invalid(
            f"{doing}: Spark cannot compute a value: {computed[1].strip()}",
            hint="correct the data, or what computes it",
        )
    if type(error).__name__ == "PythonException" and _OWN_FRAME not in text:
        last = text.partition("\n\nJVM stacktrace")[0].strip().splitlines()[-1]
        return errors.Invalid(
            f"{doing}: a Python function of the DataFrame failed: {last}",
            hint="its traceback is in the cause of this error",
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
