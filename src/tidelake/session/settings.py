"""Where the lake is: from arguments, the environment, or `tidelake.toml`, in that order."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelake.errors import Invalid

CATALOG_VARIABLE = "TIDELAKE_CATALOG"
DATA_PATH_VARIABLE = "TIDELAKE_DATA_PATH"
FILE_NAME = "tidelake.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    catalog: str
    data_path: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict)
    temp_directory: str | None = None


def resolve(
    catalog: str | None, data_path: str | None, storage_options: Mapping[str, str] | None
) -> Settings:
    """What is given wins over the environment, and that over ./tidelake.toml."""
    if catalog is not None:
        return Settings(str(catalog), data_path, dict(storage_options or {}))
    if from_environment := os.environ.get(CATALOG_VARIABLE):
        path = data_path or os.environ.get(DATA_PATH_VARIABLE)
        return Settings(from_environment, path, dict(storage_options or {}))
    file = _read(Path(FILE_NAME))
    if "catalog" not in file:
        raise Invalid(
            "no catalog was named",
            hint=f"pass one to connect(), set {CATALOG_VARIABLE}, or write"
            f' catalog = "sqlite:///lake.db" into ./{FILE_NAME}',
        )
    return Settings(
        str(file["catalog"]),
        data_path or os.environ.get(DATA_PATH_VARIABLE) or file.get("data_path"),
        {**file.get("storage_options", {}), **(storage_options or {})},
        file.get("temp_directory"),
    )


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not valid TOML: {error}") from error
