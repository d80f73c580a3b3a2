"""Where a lake is to have its files: a place that can be one, in one spelling."""

from __future__ import annotations

from pathlib import Path

from tidelake.errors import Invalid
from tidelake.store.files import is_local, local_path
from tidelake.store.schemes import check_scheme, kind_of

_OTHERS = ("file", "gcs", "hdfs", "http", "https")


def absolute(data_path: str, base: Path | None = None) -> str:
    """A data path as it is used: complete, with a slash at the end. A relative one begins at
    `base`, else at the working folder. DuckDB takes an escape in the URL of a folder for a part of
    its name, so such a folder goes by its path."""
    if data_path.startswith("file://") and "%" in data_path:
        data_path = str(local_path(data_path))
    if "://" not in data_path:
        data_path = str(Path(base or "", Path(data_path).expanduser()).absolute())
    return data_path if data_path.endswith("/") else f"{data_path}/"


def checked_data_path(data_path: object) -> str:
    """What was given as a data path, if it is one."""
    if not isinstance(data_path, str | Path) or not str(data_path).strip():
        raise Invalid(
            f"data_path={data_path!r} is no place for files",
            hint="give a folder, or s3://bucket/prefix",
        )
    if "\0" in str(data_path):
        raise Invalid("a data path cannot have a NUL in it", hint="leave it out")
    _check_slashes(str(data_path))
    return str(data_path)


def _check_slashes(said: str) -> None:
    """`s3:/bucket` would be a folder of this name here, which nobody means."""
    scheme, colon, rest = said.partition(":")
    if colon and not rest.startswith("//") and (kind_of(scheme.lower()) or scheme in _OTHERS):
        slashes = "///" if scheme == "file" else "//"
        raise Invalid(
            f"data_path={said!r} has too few slashes",
            hint=f"write {scheme}:{slashes}{rest.lstrip('/')}, or ./{said} for a folder here",
        )


def check_usable(place: str) -> None:
    """Raise Invalid if no file can ever lie below a place, as `absolute` gives it."""
    check_scheme(place)
    if not is_local(place):
        bucket, *parts = place.partition("://")[2].rstrip("/").split("/")
        if not bucket or {"", ".", ".."} & set(parts):
            raise Invalid(f"{place} is no bucket and prefix", hint="s3://bucket/prefix")
        return
    path = local_path(place)
    try:
        there = next((each for each in (path, *path.parents) if each.exists()), None)
    except OSError as error:
        raise Invalid(f"{place} cannot be a folder: {error.strerror}", hint="shorten it") from error
    if there is not None and not there.is_dir():
        raise Invalid(f"{there} is a file, and no folder for others", hint="name a folder")
