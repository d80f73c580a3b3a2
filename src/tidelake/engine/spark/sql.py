"""DuckDB's SQL, taken apart for Spark: what both understand alike, and what DuckDB must do.

A query that looks at one row at a time can run in DuckDB on the executors, so expressions mean
there what they mean in the local engine. Joins and groups are Spark's; in them stand
only columns, whole numbers, and comparisons of what has one type on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine.declare.type_fit import INTEGERS
from tidelake.errors import Unsupported
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS
from tidelake.syntax.tree import Node

if TYPE_CHECKING:
    from sqlglot import exp

_ROW_BY_ROW = {"expressions", "from_", "where", "kind"}
_ALIKE = {
    *INTEGERS,
    *("boolean", "varchar", "uuid", "blob", "date", "timestamp", "timestamp_us", "timestamptz"),
}
"""Types of which Spark takes two values for the same exactly if DuckDB does."""
_REFUSED_CASTS = ("HUGEINT", "UHUGEINT", "INT128", "TIME", "JSON", "INTERVAL", "TIMESTAMP_NS")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as two see it: sqlglot, for what Spark is to do, and DuckDB, for what DuckDB is."""

    tree: exp.Query
    node: Node

    def parts(self) -> list[ParsedQuery]:
        """The sides of a plain UNION ALL; the query itself if it is none."""
        trees, nodes = list(_leaves(self.tree)), list(_sides(self.node))
        assert len(trees) == len(nodes), self.tree
        return [ParsedQuery(tree, node) for tree, node in zip(trees, nodes, strict=True)]

    def over(self, name: str) -> ParsedQuery:
        """The same query over another relation, which stands where its source stood."""
        source = self.node["from_table"]
        called = source["alias"] or source.get("table_name") or "r"
        names = source.get("column_name_alias", [])
        table = {**_TABLE, "table_name": name, "alias": called, "column_name_alias": names}
        return ParsedQuery(self.tree, {**self.node, "from_table": table})

    def over_query(self, below: ParsedQuery) -> ParsedQuery:
        """The same query, where its source is a subquery, over another one."""
        source = self.node["from_table"]
        inner = {**source, "subquery": {**source["subquery"], "node": below.node}}
        return ParsedQuery(self.tree, {**self.node, "from_table": inner})


_TABLE: Node = {
    "type": "BASE_TABLE",
    "alias": "",
    "sample": None,
    "query_location": 0,
    "schema_name": "",
    "table_name": "",
    "column_name_alias": [],
    "catalog_name": "",
    "at_clause": None,
}


def _leaves(tree: exp.Query) -> Iterator[exp.Query]:
    if both := halves(tree):
        yield from _leaves(both[0])
        yield from _leaves(both[1])
    else:
        yield tree


def _sides(node: Node) -> Iterator[Node]:
    """DuckDB puts three sides together in another order than others do; it is the same union."""
    united = node["type"] == "SET_OPERATION_NODE" and node["setop_type"] == "UNION"
    if united and node["setop_all"] and not node["modifiers"] and not node["cte_map"]["map"]:
        yield from _sides(node["left"])
        yield from _sides(node["right"])
    else:
        yield node


def parse_query(sql: str) -> exp.Query:
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(tree, exp.Query), sql
    return inside(tree)


def inside(tree: exp.Expr) -> exp.Query:
    """A query without the brackets around it."""
    from sqlglot import exp

    found = tree.unnest()
    assert isinstance(found, exp.Query)
    return found


def halves(tree: exp.Query) -> tuple[exp.Query, exp.Query] | None:
    """The two sides of a plain UNION ALL."""
    from sqlglot import exp

    if not isinstance(tree, exp.Union) or tree.args.get("distinct", True):
        return None
    if any(tree.args.get(name) for name in ("order", "limit", "offset", "with_", "by_name")):
        return None
    return inside(tree.left), inside(tree.right)


def source_of(tree: exp.Query, aggregates: frozenset[str]) -> exp.Expr | None:
    """The relation or subquery that a query goes through row by row; None if it does not."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select) or not tree.args.get("from_"):
        return None
    if any(value for name, value in tree.args.items() if name not in _ROW_BY_ROW):
        return None
    source = tree.args["from_"].this
    if not isinstance(source, exp.Table | exp.Subquery) or source.args.get("joins"):
        return None
    where = tree.args.get("where")
    for part in [*tree.expressions, *([where] if where else [])]:
        for node in part.walk():
            if isinstance(node, exp.Query | exp.AggFunc | exp.Window | exp.UDTF):
                return None
            if isinstance(node, exp.Func) and fold(node.sql_name()) in aggregates:
                return None
            if isinstance(node, exp.Anonymous) and fold(node.name) in aggregates | {"unnest"}:
                return None
    return source


def over(tree: exp.Query, name: str) -> exp.Query:
    """The same query over another relation, which stands where its source stood."""
    from sqlglot import exp

    copy = tree.copy()
    source = copy.args["from_"].this
    called = source.alias_or_name or "r"
    table = exp.to_table(name)
    table.set("alias", exp.TableAlias(this=exp.to_identifier(called, quoted=True)))
    source.replace(table)
    return copy


def unchanged_column(tree: exp.Query, name: str) -> str | None:
    """Which column of its source a row-by-row query gives, unchanged, under a name."""
    from sqlglot import exp

    found = None
    for part in tree.expressions:
        if isinstance(part, exp.Star) and not any(part.args.values()):
            found = name
        elif fold(part.alias_or_name) == fold(name):
            inner = part.unalias()
            return inner.name if isinstance(inner, exp.Column) else None
    return found


def is_plain(tree: exp.Query, columns: Mapping[str, Column]) -> bool:
    """Whether a row-by-row query holds only what Spark computes as DuckDB does. `columns` are
    those of its source, by name in lower case."""
    where = tree.args.get("where")
    parts = [*tree.expressions, *([where.this] if where else [])]
    return all(_is_plain(part, columns) for part in parts)


def is_whole(tree: exp.Query) -> bool:
    """Whether a row-by-row query gives all that its source has, as it is."""
    from sqlglot import exp

    (first, *others) = tree.expressions
    return isinstance(first, exp.Star) and not others and not tree.args.get("where")


def _is_plain(node: exp.Expr, columns: Mapping[str, Column]) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Star):
        return not any(node.args.values())
    if isinstance(node, exp.Column):
        return fold(node.name) in columns or isinstance(node.this, exp.Star)
    if isinstance(node, exp.Literal):
        return not node.is_string and node.is_int
    if isinstance(node, exp.Boolean | exp.Null):
        return True
    if isinstance(node, exp.Cast):
        return _unchanged(node, columns) is not None
    if _is_error(node):
        return True
    if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return all(_is_whole(side, columns) for side in (node.left, node.right))
    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
        return _is_alike(node.left, node.right, columns)
    if isinstance(node, exp.Alias | exp.Paren | exp.And | exp.Or | exp.Not | exp.Case | exp.If):
        return all(_is_plain(child, columns) for child in _children(node))
    return isinstance(node, exp.Is) and _is_plain(node.left, columns)


def _is_alike(one: exp.Expr, other: exp.Expr, columns: Mapping[str, Column]) -> bool:
    """Whether two are the same for Spark if they are for DuckDB: columns of one type, or the texts
    of two floats, which tell 0.0 from -0.0 and are the same for every NaN."""
    from sqlglot import exp

    texts = [isinstance(side, exp.Cast) and side.to.is_type("TEXT") for side in (one, other)]
    if all(texts):
        one, other = one.this, other.this
    found = [
        columns.get(fold(side.name)) if isinstance(side, exp.Column) else None
        for side in (one, other)
    ]
    kinds = {column.type if column else None for column in found}
    if len(kinds) > 1 or any(texts) != all(texts):
        return False
    (kind,) = kinds
    if kind is None:
        return False
    return kind in FLOATS if all(texts) else is_alike(kind)


def is_alike(kind: str) -> bool:
    """Whether Spark takes two values of a type for the same exactly if DuckDB does."""
    return kind in _ALIKE or kind.startswith("decimal")


def _children(node: exp.Expr) -> list[exp.Expr]:
    from sqlglot import exp

    return [child for child in node.iter_expressions() if not isinstance(child, exp.Identifier)]


def _is_whole(node: exp.Expr, columns: Mapping[str, Column]) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return not node.is_string and node.is_int
    column = columns.get(fold(node.name)) if isinstance(node, exp.Column) else None
    return column is not None and column.type in INTEGERS


def _unchanged(cast: exp.Cast, columns: Mapping[str, Column]) -> exp.Expr | None:
    """What is cast, if the cast is to the type that it has."""
    from sqlglot import exp

    inner = cast.this.unnest()
    if isinstance(inner, exp.Null):
        return cast
    column = columns.get(fold(inner.name)) if isinstance(inner, exp.Column) else None
    if column is None:
        return None
    same = exp.DataType.build(column.duckdb_type, dialect="duckdb") == cast.to
    return inner if same else None


def _is_error(node: exp.Expr) -> bool:
    from sqlglot import exp

    return (
        isinstance(node, exp.Anonymous)
        and fold(node.name) == "error"
        and all(isinstance(each, exp.Literal) for each in node.expressions)
    )


def relations(tree: exp.Query) -> set[str]:
    from sqlglot import exp

    return {table.name for table in tree.find_all(exp.Table)}


def spark_text(tree: exp.Query, columns: Mapping[str, Column] | None = None) -> str:
    """The query in Spark's words. With the `columns` of the one source, casts that change nothing
    are left out."""
    import sqlglot
    from sqlglot import exp

    def said(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and fold(node.name) == "error":
            return exp.Anonymous(this="raise_error", expressions=node.expressions)
        if isinstance(node, exp.Cast):
            if isinstance(node.this, exp.Null):
                return node.this
            if columns and (inner := _unchanged(node, columns)):
                return inner
            if node.to.sql("duckdb").upper().startswith(_REFUSED_CASTS):
                raise _unsupported(node.sql("duckdb"), "Spark has no such type")
        return node

    try:
        return tree.transform(said).sql(
            "spark", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE
        )
    except sqlglot.errors.SqlglotError as error:
        raise _unsupported(tree.sql("duckdb"), str(error)) from None


def _unsupported(sql: str, reason: str) -> Unsupported:
    return Unsupported(f"Spark has no equal of {sql}: {reason}", hint="write with engine='local'")
