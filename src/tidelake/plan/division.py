"""A plan in parts that can be read apart from each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelake.model.file import DataFile
from tidelake.plan.scan import ScanPlan

BYTES_OF_A_PART = 32 * 1024 * 1024


def divide(files: Iterable[DataFile], most: int = BYTES_OF_A_PART) -> list[tuple[DataFile, ...]]:
    """Neighbouring files together, so that each part has about as much to do."""
    parts: list[list[DataFile]] = []
    size = most
    for file in files:
        if size >= most:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += file.bytes
    return [tuple(part) for part in parts]


def parts_of_scan(plan: ScanPlan, parts: int, least: int = BYTES_OF_A_PART) -> Iterator[ScanPlan]:
    """At most so many, and none for less than so many bytes; one after the other they give the
    rows of the whole. Rows that the catalog keeps come last."""
    size = sum(file.bytes for file in plan.files)
    lean = replace(plan, pruned=())
    found = divide(plan.files, max(least, -(-size // parts)))
    kept = any(inlined.rows for inlined in plan.inlined)
    for at, files in enumerate(found):
        ends = at == len(found) - 1
        yield replace(lean, files=files, inlined=plan.inlined if ends and kept else ())
    if not found:
        yield lean
