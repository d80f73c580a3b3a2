"""Table features: what of Delta's protocol a log asks for, and whether it can be met."""

from __future__ import annotations

from tidelake.delta.values.actions import Metadata, Protocol
from tidelake.errors import Corrupt, Unsupported

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
_OF_VARIANTS = frozenset(
    {"variantType", "variantType-preview", "variantShredding", "variantShredding-preview"}
)
"""They matter to tables with columns of that type, which are refused by their names."""
_OF_READERS = READABLE | {"catalogManaged", "catalogOwned-preview", "variantType"}
"""Features that, where they are in force, readers must be told of."""
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
    if (protocol.writer_features is not None) != (protocol.writer == 7):
        raise Corrupt(
            f"the table's protocol lists writer features where writer {protocol.writer} has"
            f" {'none' if protocol.writer != 7 else 'to list them'}",
            hint="restore the log",
        )
    _check_lists(protocol)
    unknown = sorted((protocol.reader_features or frozenset()) - READABLE - _OF_VARIANTS)
    if unknown:
        raise Unsupported(
            f"the table uses {', '.join(unknown)}, which Tidelake cannot read exactly",
            hint="drop the feature in Delta, or copy the table without it",
        )


def _check_lists(protocol: Protocol) -> None:
    """What readers must know stands in both lists; columns were mapped before there were any."""
    read, written = (
        listed or frozenset() for listed in (protocol.reader_features, protocol.writer_features)
    )
    if protocol.reader == 3 and protocol.writer != 7:
        raise Corrupt(
            "the table's protocol lists features for readers and none for writers",
            hint="restore the log",
        )
    old = {"columnMapping"} if protocol.reader == 2 else frozenset()
    lone = sorted((read - written) | ((written & _OF_READERS) - read - old))
    if lone:
        raise Corrupt(
            f"the table's protocol names {', '.join(lone)} for readers or writers alone",
            hint="restore the log",
        )


def check_vectors(protocol: Protocol) -> None:
    """Corrupt unless files of the table may have deletion vectors."""
    if "deletionVectors" not in (protocol.reader_features or ()):
        raise Corrupt(
            "the table has a deletion vector, which its protocol does not allow",
            hint="restore the log",
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
