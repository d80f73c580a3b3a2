"""What a cleanup did, or would do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files that stay, and why."""

    reason: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """`files` and `bytes` are of all that was removed, `paths` says which. Of these, `scheduled`
    were no longer needed by any snapshot, or by the rollup they were of, and `orphans` never
    belonged to one. `missing` had been scheduled, and were gone already."""

    files: int = 0
    bytes: int = 0
    scheduled: int = 0
    orphans: int = 0
    missing: int = 0
    kept: tuple[KeptFiles, ...] = ()
    paths: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would remove" if self.dry_run else "removed"
        lines = [
            f"{verb} {self.files:,} files ({self.bytes:,} bytes):"
            f" {self.scheduled:,} that no snapshot needs, {self.orphans:,} orphans"
        ]
        if self.missing:
            lines.append(f"{self.missing:,} more were scheduled, and gone already")
        lines += [
            f"kept {each.files:,} files ({each.bytes:,} bytes): {each.reason}" for each in self.kept
        ]
        return "\n".join(lines)
