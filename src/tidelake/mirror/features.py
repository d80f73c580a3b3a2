"""Table features: what of Delta's protocol a log asks for, and whether it can be met."""

from __future__ import annotations

from tidelake.errors import Corrupt, Unsupported
from tidelake.model.delta import Metadata, Protocol

FENCE = "tidelake.sqlMirror"
"""A feature for writers that nobody else has: they must leave the table alone."""
READABLE = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "typeWidening",
        "typeWidening-preview",
    }
)
_MAPPING = "delta.columnMapping.mode"
_MODES = ("none", "name", "id")


def check_readable(protocol: Protocol) -> None:
    """Unsupported, with its name, if the table uses what cannot be read exactly; Corrupt if the
    protocol contradicts itself."""
    if protocol.reader > 3 or protocol.writer > 7:
        raise Unsupported(
            f"the table needs reader {protocol.reader} and writer {protocol.writer} of Delta's"
            " protocol",
            hint="Tidelake reads tables up to reader 3 and writer 7",
        )
    if protocol.reader < 1 or protocol.writer < 1:
        raise Corrupt("the table's protocol has no versions", hint="restore the log")
    if (protocol.reader_features is not None) != (protocol.reader == 3):
        raise Corrupt(
            f"the table's protocol lists reader features where reader {protocol.reader} has"
            f" {'none' if protocol.reader != 3 else 'to list them'}",
            hint="restore the log",
        )
    if protocol.reader_features is not None and protocol.writer != 7:
        raise Corrupt(
            "the table's protocol lists reader features but no writer features",
            hint="restore the log",
        )
    unknown = sorted((protocol.reader_features or frozenset()) - READABLE)
    if unknown:
        raise Unsupported(
            f"the table uses {', '.join(unknown)}, which Tidelake cannot read exactly",
            hint="drop the feature in Delta, or copy the table without it",
        )


def mapping_mode(protocol: Protocol, metadata: Metadata) -> str:
    """How columns of files are found: by their names (none), by physical name, or by id. What a
    protocol does not allow is not in force."""
    mode = metadata.configuration.get(_MAPPING, "none").lower()
    if mode not in _MODES:
        raise Unsupported(f"the table maps columns by {mode!r}", hint=f"one of {', '.join(_MODES)}")
    listed = protocol.reader_features or frozenset()
    allowed = protocol.reader == 2 or "columnMapping" in listed
    return mode if allowed else "none"
