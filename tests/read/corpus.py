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


# What inlining keeps in a form of the catalog's own.
_FORMS_DIFFER = {"inline", "types"}

_PLACES = {name: place for place, name in enumerate(CORPUS)}


def is_one_of(script: Script, parts: int, part: int = 0) -> bool:
    """Whether a script is in a part of the corpus, which is cut into so many."""
    return _PLACES[script.name] % parts == part


def is_usual(script: Script, catalog: str, limit: int) -> bool:
    """Whether a case is run by default. On SQLite every tenth script is; so is, of
    those that inlining stores in another way, every fourth with inlining, and of those that are
    about it every other one on one catalog of all."""
    if "inline" in script.tags:
        catalogs = ("sqlite", "duckdb", "postgresql")
        usual = limit > 0 and is_one_of(script, 2)
        return usual and catalog == catalogs[_PLACES[script.name] // 2 % 3]
    if catalog != "sqlite":
        return False
    if script.inline is not None or script.tags & _FORMS_DIFFER:
        return is_one_of(script, 4) and (limit > 0 or script.inline is not None)
    return limit == 0 and is_one_of(script, 10)
