"""Used tokens as the catalog's annex: they go after their snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tidelake.catalog.annex import Annex, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.session import once_records

_AT_ONCE = 200


class OnceAnnex(Annex):
    tables = (once_records.TABLE,)

    def strays(self, reader: Reader, _data_path: str, /) -> Iterator[Work]:
        for some in batches(once_records.outlived_tokens(reader), _AT_ONCE):
            yield partial(once_records.forget, tokens=some)
