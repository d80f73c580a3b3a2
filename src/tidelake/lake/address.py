"""Where a lake is: from arguments, the environment, or `tidelake.toml`, in that order."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidelake.errors import Invalid, TidelakeError
from tidelake.lake.data_path import absolute, checked_data_path

CATALOG_VARIABLE = "TIDELAKE_CATALOG"
DATA_PATH_VARIABLE = "TIDELAKE_DATA_PATH"
FILE_NAME = "tidelake.toml"
_KINDS: dict[str, tuple[type, str]] = {
    "catalog": (str, "a text"),
    "data_path": (str, "a text"),
    "override_data_path": (bool, "true or false"),
    "temp_directory": (str, "a text"),
    "cache_dir": (str, "a text"),
    "cache_size": (int, "a number of bytes"),
    "storage_options": (dict, "a table"),
    "serve": (dict, "a table"),
}
"""What the file may say."""
_LEAVE_OUT = "leave data_path out"


@dataclass(frozen=True, slots=True)
class Address:
    """`file` is where they are from, if it was one: relative paths in it begin at its folder."""

    catalog: str = field(repr=False)
    data_path: str | None = field(default=None, repr=False)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    temp_directory: str | None = None
    cache_dir: str | None = None
    cache_size: int | None = None
    override_data_path: bool = False
    file: Path | None = None
    serve: Mapping[str, Any] = field(default_factory=dict, repr=False)
    said: str = _LEAVE_OUT
    """What to do about a data path that is not the lake's: it may be said in three places."""

    @property
    def folder(self) -> Path | None:
        return None if self.file is None else self.file.parent


def resolve(
    catalog: str | None, data_path: object, storage_options: Mapping[str, str] | None
) -> Address:
    """What is given wins over the environment, and that over the nearest tidelake.toml."""
    given = None if data_path is None else checked_data_path(data_path)
    if catalog is not None:
        return Address(str(catalog), given, dict(storage_options or {}))
    from_environment = os.environ.get(DATA_PATH_VARIABLE) or None
    said = _LEAVE_OUT if given or not from_environment else f"unset {DATA_PATH_VARIABLE}"
    if named := os.environ.get(CATALOG_VARIABLE):
        options = dict(storage_options or {})
        return Address(named, given or from_environment, options, said=said)
    path = _nearest(Path.cwd())
    if path is None:
        raise Invalid(
            "no catalog was named",
            hint=f"pass one to connect(), set {CATALOG_VARIABLE}, or write"
            f' catalog = "sqlite:///lake.db" into ./{FILE_NAME}',
        )
    found = _from_file(path, given or from_environment, storage_options or {})
    own = given is None and from_environment is None
    return replace(found, said=f"correct data_path in {path}" if own else said)


def _nearest(folder: Path) -> Path | None:
    """The file in this folder or the next above it that has one, up to the user's own."""
    home = _home()
    for each in (folder, *folder.parents):
        if os.path.lexists(each / FILE_NAME):
            return each / FILE_NAME
        if each == home:
            return None
    return None


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _from_file(path: Path, data_path: str | None, options: Mapping[str, str]) -> Address:
    said = _read(path)
    for key, value in said.items():
        _check(path, key, value)
    if "catalog" not in said:
        raise Invalid(f"{path} names no catalog", hint='catalog = "sqlite:///lake.db"')
    own = said.get("data_path")
    if data_path is None and own is not None:
        data_path = absolute(checked_data_path(own), path.parent)
    return Address(
        said["catalog"],
        data_path,
        {**said.get("storage_options", {}), **options},
        _folder(path, said.get("temp_directory")),
        _folder(path, said.get("cache_dir")),
        said.get("cache_size"),
        said.get("override_data_path", False),
        path,
        said.get("serve", {}),
    )


def _folder(path: Path, said: str | None) -> str | None:
    return None if said is None else str(Path(path.parent, Path(said).expanduser()))


def _check(path: Path, key: str, value: object) -> None:
    if key not in _KINDS:
        near = get_close_matches(key, _KINDS, 1)
        meant = f"do you mean {near[0]}? " if near else ""
        raise Invalid(
            f"{path} has an unknown key {key!r}", hint=f"{meant}there are: {', '.join(_KINDS)}"
        )
    kind, spelled = _KINDS[key]
    if not isinstance(value, kind):
        raise Invalid(f"{path}: {key} = {value!r} is not {spelled}", hint="correct the file")
    if key == "storage_options" and isinstance(value, dict):
        for name, option in value.items():
            if not isinstance(option, str | bool | int):
                raise Invalid(
                    f"{path}: storage_options.{name} = {option!r} is not a text",
                    hint="correct the file",
                )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not valid TOML: {error}", hint="correct the file") from error
    except OSError as error:
        raise Invalid(
            f"cannot read {path}: {error.strerror}", hint="is it a file, and may you read it?"
        ) from error


@contextmanager
def blame_file(settings: Address) -> Iterator[None]:
    """What goes wrong with the lake of a file says which file that was."""
    try:
        yield
    except TidelakeError as error:
        if settings.file is not None:
            error.hint = "; ".join(
                filter(None, [error.hint, f"the lake is named by {settings.file}"])
            )
        raise
