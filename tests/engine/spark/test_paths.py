import pytest

from tidelake.engine.spark.paths import escape_globs, is_readable_name, metadata_path, with_scheme


@pytest.mark.parametrize(
    ("path", "scheme", "seen"),
    [
        ("/d/a b.parquet", "file", "file:/d/a%20b.parquet"),
        ("/d/k=a%2Fb/x.parquet", "file", "file:/d/k=a%252Fb/x.parquet"),
        ("/d//./e/../é日😀+&;,'.parquet", "file", "file:/d/é日😀+&;,'.parquet"),
        ("/d/[x]{y}^\u00a0\\.parquet", "file", "file:/d/%5Bx%5D%7By%7D%5E%C2%A0%5C.parquet"),
        ("file:///d/x%20y", "file", "file:/d/x%2520y"),
        ("s3://bucket/d/a b", "s3a", "s3a://bucket/d/a%20b"),
    ],
)
def test_a_path_is_spelled_as_spark_spells_it(path, scheme, seen):
    assert metadata_path(with_scheme(path, scheme)) == seen


def test_globs_are_taken_literally():
    assert escape_globs("/a[1]{b}*?\\c") == r"/a\[1\]\{b\}\*\?\\c"


@pytest.mark.parametrize("name", ["/d/_x.parquet", "/d/.x.parquet", "/d/x:y.parquet"])
def test_names_that_spark_passes_over_or_cannot_open(name):
    assert not is_readable_name(name)
    assert is_readable_name(name.rsplit("/", 1)[0] + "_/a_.parquet")
