"""What SQL may use of the machine, and where its files may be, where whoever writes it is not
trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tidelake.errors import Denied, Invalid
from tidelake.model.address import mask_secrets

_LEAST_MEMORY = 64 * 1024**2


def folders(given: object, name: str) -> tuple[str, ...]:
    """Folders that a caller names. One may stand by itself: its letters are none of them."""
    if isinstance(given, str | Path):
        return (str(given),)
    if not isinstance(given, Iterable) or not all(isinstance(g, str | Path) for g in given):
        raise Invalid(f"{name}={given!r} names no folders", hint=f'{name}=["/srv/files"]')
    return tuple(map(str, given))


def _is_at_least(given: object, least: float) -> bool:
    """NaN is not."""
    return isinstance(given, int | float) and not isinstance(given, bool) and given >= least


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The limits of one query: bytes of memory, seconds, and rows of its result. `places` are
    folders beside the lake's data path whose files it may read, such as those of files that were
    registered there; one may stand by itself."""

    memory: int = 1024**3
    seconds: float = 60.0
    rows: int = 10_000_000
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: tuple[object, ...] = (self.memory, self.seconds, self.rows)
        least = (_LEAST_MEMORY, 1e-9, 1)
        if not all(map(_is_at_least, given, least)):
            raise Invalid(
                f"these are no limits to work within: {self}",
                hint="give at least 64 MB of memory in bytes, some seconds, and room for a row",
            )
        object.__setattr__(self, "places", folders(self.places, "places"))


@dataclass(frozen=True, slots=True)
class Confinement:
    """A sandbox, and the places that it is around: nothing elsewhere is read or written."""

    sandbox: Sandbox
    places: tuple[str, ...]
    readable: tuple[str, ...] = ()
    """Where others have files that may be read, and not written."""

    @staticmethod
    def around(sandbox: Sandbox, data_path: str, readable: Iterable[str] = ()) -> Confinement:
        places = _with_real([data_path, *sandbox.places])
        return Confinement(sandbox, places, _with_real(readable))

    @property
    def readable_places(self) -> tuple[str, ...]:
        """All that queries may read."""
        return (*self.places, *self.readable)

    def check(
        self, paths: Iterable[str], shown: str | None = None, *, to_read: bool = False
    ) -> None:
        """Denied for a path elsewhere; `to_read`: it is not to be changed, nor made one's own.
        `shown` is what whoever asks has called it: where a link leads is not told."""
        for path in paths:
            if not self.holds(path, to_read=to_read):
                given = mask_secrets(path if shown is None else shown)
                raise Denied(
                    f"{given} is outside of the places of this sandbox",
                    hint="whoever opens the lake can name its folder: Sandbox(places=[…])",
                )

    def holds(self, path: str, *, to_read: bool = False) -> bool:
        """Whether a path, as it is written, is one of the places or below it, and nowhere leads
        up."""
        steps = path.replace("\\", "/").split("/")
        places = (*self.places, *(self.readable if to_read else ()))
        inside = f"{path}/".startswith(places)
        return inside and ".." not in steps and "\0" not in path


def _with_real(folders: Iterable[str]) -> tuple[str, ...]:
    """Each as it is written, and as it is when links are followed."""
    places = [_folder(place) for place in folders]
    real = [_folder(os.path.realpath(place)) for place in places if "://" not in place]
    return tuple(dict.fromkeys([*places, *real]))


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
