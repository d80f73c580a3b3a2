"""Imports as the catalog's annex: their roots and sources follow a lake that moves."""

from __future__ import annotations

from typing import ClassVar

from tidelake.catalog.annex import Annex
from tidelake.delta.importing import records


class ImportsAnnex(Annex):
    tables = (records.TABLE, records.FILES)
    paths: ClassVar = {records.TABLE: "root", records.FILES: "source"}
