"""Where the lake is: from arguments, the environment, or `tidelake.toml`, in that order."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidelake.errors import Invalid, TidelakeError
from tidelake.lake.data_path import absolute, checked

CATALOG_VARIABLE = "TIDELAKE_CATALOG"
DATA_PATH_VARIABLE = "TIDELAKE_DATA_PATH"
FILE_NAME = "tidelake.toml"
_KINDS: dict[str, tuple[type, str]] = {
    "catalog": (str, "a text"),
    "data_path": (str, "a text"),
    "override_data_path": (bool, "true or false"),
    "temp_directory": (str, "a text"),
    "storage_options": (dict, "a table"),
}
"""What the file may say."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`file` is where they are from, if it was one: relative paths in it begin at its folder."""

    catalog: str = field(repr=False)
    data_path: str | None = field(default=None, repr=False)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    temp_directory: str | None = None
    override_data_path: bool = False
    file: Path | None = None

    @property
    def folder(self) -> Path | None:
        return None if self.file is None else self.file.parent


def resolve(
    catalog: str | None, data_path: object, storage_options: Mapping[str, str] | None
) -> Settings:
    """What is given wins over the environment, and that over the nearest tidelake.toml."""
    given = None if data_path is None else checked(data_path)
    if catalog is not None:
        return Settings(str(catalog), given, dict(storage_options or {}))
    from_environment = os.environ.get(DATA_PATH_VARIABLE) or None
    if named := os.environ.get(CATALOG_VARIABLE):
        return Settings(named, given or from_environment, dict(storage_options or {}))
    path = _nearest(Path.cwd())
    if path is None:
        raise Invalid(
            "no catalog was named",
            hint=f"pass one to connect(), set {CATALOG_VARIABLE}, or write"
            f' catalog = "sqlite:///lake.db" into ./{FILE_NAME}',
        )
    return _from_file(path, given or from_environment, storage_options or {})


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


def _from_file(path: Path, data_path: str | None, options: Mapping[str, str]) -> Settings:
    said = _read(path)
    for key, value in said.items():
        _check(path, key, value)
    if "catalog" not in said:
        raise Invalid(f"{path} names no catalog", hint='catalog = "sqlite:///lake.db"')
    own = said.get("data_path")
    if data_path is None and own is not None:
        data_path = absolute(checked(own), path.parent)
    temp = said.get("temp_directory")
    return Settings(
        said["catalog"],
        data_path,
        {**said.get("storage_options", {}), **options},
        None if temp is None else str(Path(path.parent, Path(temp).expanduser())),
        said.get("override_data_path", False),
        path,
    )


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
    if isinstance(value, dict):
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
        raise Invalid(f"cannot read {path}: {error.strerror}", hint="is it a file?") from error


@contextmanager
def blamed(settings: Settings) -> Iterator[None]:
    """What goes wrong with the lake of a file says which file that was."""
    try:
        yield
    except TidelakeError as error:
        if settings.file is not None:
            error.hint = "; ".join(
                filter(None, [error.hint, f"the lake is named by {settings.file}"])
            )
        raise
