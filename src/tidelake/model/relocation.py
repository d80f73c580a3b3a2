"""What a move of a lake's files has written down."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class MoveResult(DrawableReport):
    """The lake's data path was `before`, and is `data_path` now. Of the `files` that belong there
    so many are `missing`."""

    data_path: str
    before: str
    files: int
    missing: int = 0

    def __str__(self) -> str:
        said = f"the files are at {self.data_path} now ({self.files:,} of them), not at"
        lost = f"; {self.missing:,} are missing" if self.missing else ""
        return f"{said} {self.before}{lost}"
