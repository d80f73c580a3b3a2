"""What an expiry did, or would do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptSnapshot:
    """A snapshot that was old enough to go, and the tags for which it stays."""

    snapshot_id: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpireResult:
    """`files` and `bytes` are of the lake's own data files and delete files that no snapshot needs
    any more: they are scheduled, and `cleanup` removes them. Files that were registered or
    imported stay where they are. `tables` had been dropped, and have now gone with
    all their past. `rows` had been kept in the catalog itself. `overtaken` are consumers that
    cannot resume where they were."""

    snapshots: tuple[int, ...] = ()
    files: int = 0
    bytes: int = 0
    tables: tuple[str, ...] = ()
    rows: int = 0
    kept: tuple[KeptSnapshot, ...] = ()
    overtaken: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would expire" if self.dry_run else "expired"
        lines = [
            f"{verb} {len(self.snapshots):,} snapshots, and with them {self.files:,} files"
            f" ({self.bytes:,} bytes) and {self.rows:,} rows of the catalog"
        ]
        lines += [f"with all its past: {name}" for name in self.tables]
        lines += [
            f"kept snapshot {each.snapshot_id}, tagged {', '.join(each.tags)}" for each in self.kept
        ]
        lines += [f"overtaken: consumer {name}" for name in self.overtaken]
        return "\n".join(lines)
