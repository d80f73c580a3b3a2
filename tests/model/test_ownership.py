"""What lies below a folder, however it is spelled, and what a writer of a lake calls its files."""

import pytest

from tidelake.model.ownership import is_derived, is_own, is_written, lies_within

UUID = "01a1e35e-2c00-77fa-aad2-be56f6c3d509"


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/data/main/t/x", "/data/", True),
        ("/data/main/../t/x", "/data/", True),
        ("/data/../home/x", "/data/", False),
        ("/data/./a//x", "/data/", True),
        ("/database/x", "/data", False),
        ("/data", "/data/", False),
        ("/x", "/", True),
        ("file:///data/a%20b/x", "/data/a b/", True),
        ("file:///data/%2e%2e/home/x", "/data/", False),
        ("/data/%2e%2e/x", "/data/", True),
        ("data/x", "data/", False),
        ("../x", "/", False),
        ("s3://b/lake/x", "s3://b/lake/", True),
        ("s3://b/lake/x", "s3://b/lake", True),
        ("s3://b/lake2/x", "s3://b/lake/", False),
        ("s3://other/lake/x", "s3://b/lake/", False),
        ("s3a://b/lake/x", "s3://b/lake/", False),
        ("s3://b/lake/../home/x", "s3://b/lake/", False),
        ("s3://b/lake/%2E%2e/home/x", "s3://b/lake/", False),
        ("/lake/x", "s3://lake/", False),
    ],
)
def test_inside_or_not(path: str, folder: str, inside: bool) -> None:
    assert lies_within(path, folder) is inside


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (f"ducklake-{UUID}.parquet", True),
        (f"ducklake-{UUID}-0a1b2c3d.parquet", True),
        (f"ducklake-{UUID}-delete.parquet", True),
        (f"ducklake-{UUID}-delete.puffin", True),
        (f"ducklake-{UUID}.rollup", False),
        (f"ducklake-{UUID}.parquet.crc", False),
        (f"my-ducklake-{UUID}.parquet", False),
        ("ducklake-mine.parquet", False),
        ("part-0000.parquet", False),
        (f"{UUID}.parquet", False),
    ],
)
def test_names(name: str, written: bool) -> None:
    assert is_written(f"/data/main/t/{name}") is written
    assert is_own(f"/data/main/t/{name}", "/data/") is written
    assert not is_own(f"/data/../{name}", "/data/")


def test_derived_files() -> None:
    assert is_derived(f"/d/ducklake-{UUID}-0a1b2c3d.rollup")
    assert is_derived(f"/d/ducklake-{UUID}-0a1b2c3d.delta")
    assert is_derived(f"/d/deletion_vector_{UUID}.bin")
    assert not is_derived(f"/d/ducklake-{UUID}.parquet")
