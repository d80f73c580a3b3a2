"""What DuckDB says of a store, in our words."""

import duckdb
import pytest

from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Corrupt, Denied, NotFound, TidelakeError, Unavailable

FILE = "s3://b/lake/main/t/ducklake-01a1e5e8-78cfa404.parquet"
SAID: list[tuple[str, type[TidelakeError]]] = [
    (f"HTTP Error: Request returned HTTP 503 for HTTP PUT to '{FILE}'", Unavailable),
    (f"HTTP Error: Unable to connect to URL {FILE}: Forbidden (HTTP code 403)", Denied),
    (f"HTTP Error: HTTP GET error on '{FILE}' (HTTP 401)", Denied),
    (f"HTTP Error: HTTP GET error on '{FILE}' (HTTP 404)", Corrupt),
    (f"HTTP Error: Unable to connect to URL {FILE}: Not Found (HTTP code 404)", Corrupt),
    (f"HTTP Error: Unable to connect to URL {FILE}: 404 (Not Found)", Corrupt),
]


@pytest.mark.parametrize(("text", "kind"), SAID)
def test_by_the_status_and_not_by_the_name_of_a_file(text: str, kind: type[TidelakeError]) -> None:
    with pytest.raises(kind) as caught, translate_duckdb_errors("cannot read t"):
        raise duckdb.HTTPException(text)
    assert type(caught.value) is kind
    assert caught.value.hint


FILES: list[tuple[str, type[TidelakeError]]] = [
    ('IO Error: No files found that match the pattern "nosuch.csv"', NotFound),
    ('IO Error: No files found that match the pattern "data/*.parquet"', NotFound),
    ('IO Error: No files found that match the pattern "/home/ann/nosuch.json"', NotFound),
    ('IO Error: No files found that match the pattern "/lake/main/t/x.parquet"', Corrupt),
    ('IO Error: Cannot open file "/lake/main/t/x.parquet": No such file or directory', Corrupt),
    ('IO Error: Could not write file "/lake/main/t/x": No space left on device', Unavailable),
]


@pytest.mark.parametrize(("text", "kind"), FILES)
def test_whose_file_is_missing_and_what_a_full_disk_needs(
    text: str, kind: type[TidelakeError]
) -> None:
    with pytest.raises(kind) as caught, translate_duckdb_errors("cannot run the query"):
        raise duckdb.IOException(text)
    assert type(caught.value) is kind
    if kind is Unavailable:
        assert caught.value.hint == "free some space, then try again"
