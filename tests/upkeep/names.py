"""Names as writers of a lake give them to files."""

from uuid import NAMESPACE_OID, uuid5


def named(what: str, suffix: str = "parquet") -> str:
    """The same for the same word."""
    return f"ducklake-{uuid5(NAMESPACE_OID, what)}.{suffix}"
