"""Whatever is handed to the face, what comes out is an error of ours: never one of Python's from
somewhere inside, nor one of a driver."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import tidelake
from tidelake.errors import Invalid, TidelakeError
from tidelake.sql.query import Query
from tidelake.testing.place import Place

ODD: tuple[Any, ...] = (
    *(None, "", "nope", "x\x00y", "'; DROP TABLE p; --", '"unclosed', "9" * 400, "a.b.c.d", "-5m"),
    *(0, -1, 10**30, 2**63, 1.5, float("nan"), True, numpy.int64(5), b"bytes"),
    *([], {}, [None], {"a": None}, [1, 2], ("a", "b"), set(), {"k": object()}),
    *(date.max, datetime.min, timedelta(days=-999_999_999), pandas.NaT),
    *(object(), int, len, pandas.DataFrame()),
)
FITTING = {
    "name": "n",
    "table": "p",
    "new": "fresh",
    "schema": "a INT",
    "data": [{"id": 1, "x": "b"}],
    "rows": 3,
    "sql": "SELECT 1",
    "query": "SELECT 1",
    "where": "true",
    "key": "a",
    "value": "1",
    "reason": "a test",
    "tenant": "acme",
    "columns": ["k"],
    **dict.fromkeys(["at", "as_of", "start"], "2024-01-02"),
    **dict.fromkeys(["end", "until"], "2024-01-03"),
    **dict.fromkeys(["since", "a", "b", "n", "to", "known_at"], 1),
}
"""What an argument that is not the odd one is."""
NOT_CALLED = {"close", "transaction", "wait_complete"}
"""They end the lake, give a context, or wait."""
FACES: dict[type, Callable[[tidelake.Lake], Any]] = {
    tidelake.Lake: lambda lake: lake,
    tidelake.Table: lambda lake: lake["p"],
    tidelake.Scan: lambda lake: lake["p"].scan(),
    Query: lambda lake: lake.sql("FROM n"),
    tidelake.Coverage: lambda lake: lake["p"].coverage(),
}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tidelake.Lake]:
    """In a folder of its own: a text may be the name of a file."""
    monkeypatch.chdir(tmp_path)
    with Place.at("sqlite", tmp_path).open() as lake:
        fill(lake)
        yield lake


def fill(lake: tidelake.Lake) -> None:
    if "p" not in lake:
        hours = [datetime(2024, 1, 1, hour) for hour in range(12)]
        lake.create_table(
            "p",
            "k VARCHAR, ts TIMESTAMP, v DOUBLE, gone BOOLEAN, s STRUCT(a INT)",
            key="k",
            event_time="ts",
            tombstone="gone",
            entity="k",
            bucket="1h",
        ).append([{"k": "a", "ts": ts, "v": 1.0, "gone": False, "s": {"a": 1}} for ts in hours])
    if "n" not in lake:
        lake.create_table("n", "id INT, x VARCHAR").append([{"id": 1, "x": "a"}])


def names_of(method: Any) -> Iterator[str]:
    for each in inspect.signature(method).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            yield from ("once", "expected", "author", "message")
        elif each.kind is not each.VAR_POSITIONAL:
            yield each.name


METHODS = [
    pytest.param(face, name, id=f"{face.__name__}.{name}")
    for face in FACES
    for name in dir(face)
    if not name.startswith("_")
    and name not in NOT_CALLED
    and callable(inspect.getattr_static(face, name))
]


@pytest.mark.parametrize(("face", "name"), METHODS)
def test_odd_arguments_end_in_errors_of_ours(lake: tidelake.Lake, face: type, name: str) -> None:
    raw = []
    method = getattr(face, name)
    needed = [
        each.name
        for each in inspect.signature(method).parameters.values()
        if each.default is each.empty and each.name != "self" and each.kind < each.VAR_KEYWORD
    ]
    for odd in [each for each in names_of(method) if each != "self"]:
        for value in ODD:
            fill(lake)
            given = {each: FITTING.get(each) for each in needed} | {odd: value}
            try:
                with warnings.catch_warnings(action="ignore"):
                    asked(getattr(FACES[face](lake), name)(**given))
            except TidelakeError:
                continue
            except TypeError as error:
                if "keyword argument" not in str(error) and "takes no" not in str(error):
                    raw.append((odd, value, repr(error)))
            except Exception as error:
                raw.append((odd, value, repr(error)))
    assert raw == []


def asked(answer: object) -> None:
    """What is lazy fails when it is asked for rows."""
    if isinstance(answer, tidelake.Table | tidelake.Scan | Query):
        answer.count()


def test_the_argument_that_is_wrong_is_named(lake: tidelake.Lake) -> None:
    with pytest.raises(Invalid, match="cannot take tenants=0") as refused:
        lake.across_tenants("p", tenants=0)  # type: ignore[arg-type]
    assert refused.value.hint == "tenants= takes a list of texts or None"
    with pytest.raises(Invalid, match="cannot take lake=None"):
        tidelake.ingest(None, "p", "x.csv")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="author=-1") as refused:
        lake["n"].append([{"id": 2}], author=-1)  # type: ignore[typeddict-item]
    assert isinstance(refused.value.__cause__, TypeError | AttributeError)


def test_what_a_stream_raises_comes_out_as_it_is(lake: tidelake.Lake) -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"id": 2}
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke") as raised:
        lake["n"].append(rows())
    assert not isinstance(raised.value, TidelakeError)
