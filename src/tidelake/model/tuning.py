"""The limits that an open lake works within."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Chosen once for all lakes: nobody has needed others yet, but for tests, which want to see
    what happens at a limit. What is stored, as the width of zones, is none of them."""

    busy_timeout_s: float = 10.0
    """How long SQLite waits for another who writes, before it says so."""
    lock_wait_s: float = 60
    """On a server: how long a writer waits for the one before it, and a thread for a connection."""
    pool_size: int = 5
    """How many connections to a server are kept."""
    pool_more: int = 10
    """How many more are opened while they are needed."""
    patience_s: float = 60.0
    """How long what lost a race is tried again."""
    unheard_s: float = 3.0
    """Where the catalog's database tells of commits: after how long whoever waits for one looks all
    the same. DuckDB's are not told of."""
    batch: int = 1000
    """Rows of the catalog that one transaction should remove, while everybody else waits."""
    checkpoint_every: int = 10
    """After how many versions a Delta log gets a checkpoint; more if it has many files."""
    longest_record: int = 16 * 1024**2
    """Characters of one line of a text file, or of one action of a Delta log, that are read."""
    largest_document: int = 256 * 1024**2
    """Bytes of a file that is taken apart in memory: a JSON array, a commit of a Delta log, a file
    of deletion vectors."""
    largest_footer: int = 32 * 1024**2
    """Bytes of a Parquet file's footer. DuckDB needs some eighty times as much to read one."""
    most_columns: int = 20_000
    """Columns of a Parquet file, those inside others counted by themselves."""
    most_positions: int = 50_000_000
    """Rows of one file that a deletion vector may name."""
    many_pieces: int = 256
    """An answer about coverage that is made of more than these is remembered."""
