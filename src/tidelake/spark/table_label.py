"""Tables of Spark's own catalog that `tidelake` reads: how they know which table of which lake.

Spark gives a Python data source the options of such a table when it is created, and never again;
but it always gives the schema, with all that is said of its columns. So every column has a label:
the options, without what is secret. Lakes whose address has a secret are in the driver's vault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import types as t

from tidelake.errors import Invalid
from tidelake.model.address import mask_secrets
from tidelake.spark import vault
from tidelake.spark.options import SourceOptions

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_KEY = "tidelake"


def with_label(schema: t.StructType, options: Mapping[str, str]) -> t.StructType:
    """The schema of a table that these options name."""
    text = json.dumps(dict(options), sort_keys=True)
    return t.StructType(
        [t.StructField(f.name, f.dataType, f.nullable, {_KEY: text}) for f in schema]
    )


def label_for(options: SourceOptions, lake: Lake) -> dict[str, str]:
    """Options of a table that is being created, without secrets."""
    given = {key: value for key, value in options.given.items() if key != "path"}
    given["table"] = str(options.table)
    if "catalog" not in given and "lake" not in given:
        return given
    catalog = given.get("catalog", "")
    if options.storage or mask_secrets(catalog) != catalog:
        given.pop("catalog", None)
        given["lake"] = vault.keep(lake)
    return given


def labelled_options(options: SourceOptions, schema: t.StructType) -> SourceOptions:
    """What was said to Spark, or if it named no table, what the labels of all columns say. Columns
    of several tables say nothing."""
    labels = {(field.metadata or {}).get(_KEY) for field in schema}
    if options.names_a_table or labels == {None} or not labels:
        return options
    if len(labels) > 1:
        raise Invalid(
            "nothing tells which table of a lake is meant",
            hint='name it: save("ns.table"), or option table',
        )
    (text,) = labels
    said = SourceOptions.of(json.loads(str(text)))
    return SourceOptions(
        {**said.given, **options.given}, {**said.storage, **options.storage}, options.checkpoint
    )
