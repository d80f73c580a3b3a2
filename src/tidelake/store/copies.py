"""The same bytes at another place, without looking into them."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tidelake.errors import Invalid
from tidelake.store.failures import reporting
from tidelake.store.files import Store, is_local, local_path

_AT_ONCE = 8
_TRIES = 10


def folder_of(path: object) -> str:
    """A folder as it is used: complete, with a slash at the end."""
    if not isinstance(path, str | Path) or not str(path).strip() or "\0" in str(path):
        raise Invalid(f"{path!r} is no folder", hint="give a path, or an address in a store")
    given = str(path)
    place = given if "://" in given else str(Path(given).expanduser().absolute())
    return place if place.endswith("/") else f"{place}/"


def copy_objects(
    store: Store,
    pairs: Iterable[tuple[str, str]],
    *,
    link: bool = False,
    told: Callable[[str], None] | None = None,
) -> None:
    """Copy many, some at a time. `told` hears of what has been copied, one after another."""
    listed = list(pairs)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        copied = pool.map(lambda pair: copy_object(store, *pair, link=link), listed)
        for (source, _), _done in zip(listed, copied, strict=True):
            if told is not None:
                told(source)


def copy_object(store: Store, source: str, target: str, *, link: bool = False) -> None:
    """Put what is at one place at another, whole or not at all. Inside of one object store the
    bytes do not come here. With `link` a local file gets a second name where the file system can
    do that: whoever deletes one of them leaves the other."""
    if is_local(source) and is_local(target):
        with reporting("copy", f"{source} to {target}"):
            _copy_file(local_path(source), local_path(target), link=link)
        return
    import obstore

    with reporting("copy", source):
        if is_local(source):
            into, key = store.handle("write", target)
            obstore.put(into, key, local_path(source))
        elif is_local(target):
            _download(store, source, local_path(target))
        else:
            into, key = store.handle("write", target)
            of, old = store.handle("read", source)
            if source[: len(source) - len(old)] == target[: len(target) - len(key)]:
                obstore.copy(of, old, key)
            else:
                with obstore.open_writer(into, key) as writer:
                    for some in obstore.get(of, old).stream():
                        writer.write(bytes(some))


def move_objects(store: Store, pairs: Iterable[tuple[str, str]]) -> list[bool]:
    """Give many other places, inside of one file system or store; which of them have gone there.
    One stays where it is if its new name is too long, or a copy has not as many bytes. After an
    error they may be at either."""
    listed = list(pairs)
    if not listed:
        return []
    if all(is_local(source) for source, _ in listed):
        with reporting("move files to", os.path.commonpath([_plain(to) for _, to in listed])):
            return [_rename(_plain(source), _plain(target)) for source, target in listed]
    copy_objects(store, listed)
    there = store.sizes([place for pair in listed for place in pair])
    whole = [there.get(source) == there.get(target) for source, target in listed]
    store.delete([pair[0 if done else 1] for pair, done in zip(listed, whole, strict=True)])
    return whole


def _plain(uri: str) -> str:
    return str(local_path(uri)) if uri.startswith("file://") else uri


def _rename(source: str, target: str) -> bool:
    """Somebody may remove the new folder as long as it is empty: then it is made again."""
    try:
        for _ in range(_TRIES):
            try:
                os.rename(source, target)  # noqa: PTH104 - with paths it takes twice as long
            except FileNotFoundError:
                with suppress(FileNotFoundError):
                    Path(target).parent.mkdir(parents=True, exist_ok=True)
            else:
                return True
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def _copy_file(source: Path, target: Path, *, link: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        try:
            os.link(source, target)
        except OSError:  # another file system, or one without links
            pass
        else:
            return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        shutil.copyfile(source, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _download(store: Store, source: str, target: Path) -> None:
    import obstore

    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    of, key = store.handle("read", source)
    try:
        with draft.open("xb") as file:
            for some in obstore.get(of, key).stream():
                file.write(bytes(some))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
