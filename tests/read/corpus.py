"""The corpus: small lakes that together use all of DuckLake 1.0's read side."""

from tests.read.scripts import (
    columns,
    deletes,
    fields,
    foreign,
    inlining,
    maintenance,
    names,
    nested,
    partitions,
    promotions,
    scalars,
    semi,
)
from tests.read.scripts.script import Script

_TOPICS = (
    scalars,
    semi,
    nested,
    columns,
    promotions,
    fields,
    partitions,
    foreign,
    deletes,
    inlining,
    maintenance,
    names,
)

CORPUS: dict[str, Script] = {script.name: script for topic in _TOPICS for script in topic.SCRIPTS}

assert len(CORPUS) == sum(len(topic.SCRIPTS) for topic in _TOPICS), "two scripts share a name"


def tagged(*tags: str) -> list[Script]:
    """The scripts that have any of the tags."""
    return [script for script in CORPUS.values() if script.tags & set(tags)]
