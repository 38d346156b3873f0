"""What a SELECT statement reads from: the private table, sub-queries that rename, filter or derive, and public lookups.

Everything becomes expressions over the columns of the one private table, so that a row of it is at most one row here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput
from jostle.schema import Category
from jostle.schema.values import is_missing_value, text
from jostle.tables.conditions import LONGEST_LOOKUP

if TYPE_CHECKING:
    from jostle.tables.table import Table

Lookups = Mapping[str, Any]
"""Public tables by name: frames, dictionaries of columns, or dictionaries from keys to values."""


def refuse(problem: str, remedy: str) -> NoReturn:
    """Refuse a statement."""
    raise BadInput("sql", problem, remedy)


@dataclass(frozen=True)
class Relation:
    """Rows that each come from one row of the private table, or released rows of an inner SELECT with aggregates."""

    columns: Mapping[str, Any]
    """The expression behind each column, over those of the private table."""

    conditions: tuple[Any, ...] = ()
    """Which rows there are."""

    released: Any = None
    """The inner SELECT, if its rows are released numbers."""


@dataclass(frozen=True)
class StatementScope:
    """The relations that a statement's names are looked up in, by their aliases."""

    relations: Mapping[str, Relation]
    conditions: tuple[Any, ...] = ()
    released: Any = None
    aliases: Mapping[str, Any] = field(default_factory=dict)
    """Names of the SELECT list, which are used where no column has the name."""

    def named(self, aliases: Mapping[str, Any]) -> StatementScope:
        return replace(self, aliases=aliases)

    def columns(self, table: str = "") -> dict[str, Any]:
        """All columns, or those of one relation, in order."""
        if table and table.lower() not in self.relations:
            refuse(f"{table!r} is not in FROM", f"use {', '.join(self.relations)}")
        wanted = [self.relations[table.lower()]] if table else self.relations.values()
        return {name: tree for relation in wanted for name, tree in relation.columns.items()}

    def column(self, tree: Any, clause: str, *, alias_first: bool = False) -> Any:
        """The expression that a name stands for. Capitals count only where two names differ in nothing else."""
        if isinstance(tree.this, sge.Star):
            refuse(f"{clause} {tree.sql()} would show rows", "name the columns, and aggregate them")
        columns = self.columns(tree.table)
        places: list[Mapping[str, Any]] = [columns, self.aliases] if not tree.table else [columns]
        for known in reversed(places) if alias_first else places:
            found = known.get(tree.name)
            if found is None:
                alike = [name for name in known if name.lower() == tree.name.lower()]
                found = known[alike[0]] if len(alike) == 1 and not tree.this.args.get("quoted") else None
            if found is not None:
                return found.copy()
        names = ", ".join(name for relation in self.relations.values() for name in relation.columns)
        return refuse(
            f"{clause} names {tree.name!r}, which is not in the schema",
            f"use one of {names}, and write texts in single quotes: '{tree.name}'",
        )

    def resolved(self, tree: Any, clause: str, *, alias_first: bool = False) -> Any:
        """The expression, with every name replaced by what it stands for."""

        def replaced(node: Any) -> Any:
            if isinstance(node, sge.Column):
                found = self.column(node, clause, alias_first=alias_first)
                return found if isinstance(found, SIMPLE) else sge.paren(found, copy=False)
            return node

        return tree.copy().transform(replaced, copy=False)


SIMPLE = (sge.Column, sge.Literal, sge.Paren, sge.Func, sge.Case, sge.Boolean)


def base(table: Table) -> Relation:
    """The private table's declared columns, and the one that says whose row it is."""
    names = dict.fromkeys([*table.schema, *([table.unit.column] if table.unit else [])])
    return Relation({name: sge.column(name) for name in names})


# ------------------------------------------------------------------------------------------------------------- lookups


@dataclass(frozen=True)
class PublicLookup:
    """A public table in memory."""

    name: str
    columns: Mapping[str, Sequence[Any]]

    def joined(self, key: str, value: Any, known: Sequence[str] | None, *, every_row_meets: bool) -> tuple[Relation, Any]:
        """Its columns as expressions of the private value that meets the key; and the condition that it meets one.

        Privacy: a key is there once, so that a row meets at most one of them.
        """
        keys = list(self.columns[key])
        if len({text(one) for one in keys}) < len(keys):
            refuse(f"JOIN {self.name}: a value of {key!r} is there twice", "give every key one row: a row must stay one row")
        if not 1 <= len(keys) <= LONGEST_LOOKUP:
            refuse(f"JOIN {self.name}: it must have 1 to {LONGEST_LOOKUP} rows", "look up by a coarser column")
        names = None if known is None else set(known)
        places = [p for p, one in enumerate(keys) if names is None or text(one) in names]
        if not places:
            shown = ", ".join(sorted(names or ())[:5])
            refuse(f"JOIN {self.name}: no value of {key!r} is one of the column's", f"use keys such as {shown}")
        columns = {
            name: _chosen(value, [(keys[p], values[p]) for p in places if not is_missing_value(values[p])], every_row_meets)
            for name, values in self.columns.items()
            if name != key
        }
        met = sge.In(this=value.copy(), expressions=[_literal(keys[p]) for p in places])
        return Relation({key: value.copy(), **columns}), met


def _chosen(value: Any, pairs: Sequence[tuple[Any, Any]], every_row_meets: bool) -> Any:
    """What a key is looked up as. Where rows that meet no key are left out, the last entry needs no comparison."""
    if not pairs:
        return sge.Null()
    ifs = [sge.If(this=sge.EQ(this=value.copy(), expression=_literal(at)), true=_literal(to)) for at, to in pairs]
    if not every_row_meets or len(ifs) == 1:
        return sge.Case(ifs=ifs)
    return sge.Case(ifs=ifs[:-1], default=ifs[-1].args["true"].copy())


def read_lookups(lookups: Lookups | None) -> dict[str, PublicLookup]:
    """Public tables by their names in small letters."""
    found = {}
    for name, said in (lookups or {}).items():
        if not isinstance(name, str):
            raise BadInput("lookups", "must have names", 'pass for instance lookups={"regions": frame}')
        columns = {str(key): list(values) for key, values in _columns(name, said).items()}
        if not columns or len({len(values) for values in columns.values()}) != 1:
            raise BadInput("lookups", f"{name!r} must have columns of one length", "pass a frame, or a dictionary of lists")
        found[name.lower()] = PublicLookup(name, columns)
    return found


def _columns(name: str, said: Any) -> Mapping[Any, Any]:
    from jostle.tables.table import Table

    if isinstance(said, Table):
        problem = f"{name!r} is a private table: one of its rows may meet any number of others, which no noise hides"
        raise BadInput("lookups", problem, "pass a public frame or dictionary")
    if isinstance(said, Mapping):
        lists = [isinstance(value, (list, tuple)) or hasattr(value, "tolist") for value in said.values()]
        if all(lists):
            return said
        if not any(lists):
            return {"key": list(said), "value": list(said.values())}
    if hasattr(said, "to_dict") and hasattr(said, "columns"):
        return {key: said[key].to_list() for key in said.columns}
    if hasattr(said, "to_pydict"):
        made: dict[Any, Any] = said.to_pydict()
        return made
    raise BadInput(
        "lookups", f"{name!r} is no public table", "pass a frame, a dictionary of lists, or one from keys to values"
    )


def _literal(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return sge.Boolean(this=value)
    if isinstance(value, (int, float)):
        return sge.Neg(this=sge.Literal.number(-value)) if value < 0 else sge.Literal.number(value)
    if isinstance(value, str):
        return sge.Literal.string(value)
    if hasattr(value, "isoformat"):
        return sge.Cast(this=sge.Literal.string(value.isoformat()[:10]), to=sge.DataType.build("DATE"))
    raise BadInput("lookups", f"{value!r} is neither a number, a text, a truth value nor a date", "write one of these")


# ------------------------------------------------------------------------------------------------------------ statement


class Reader:
    """Reads FROM, JOIN, WITH and sub-queries into scopes."""

    def __init__(self, table: Table, lookups: Mapping[str, PublicLookup]) -> None:
        self.table, self.lookups = table, lookups

    def scope(self, select: Any, known: Mapping[str, Relation]) -> StatementScope:
        """What the names of a SELECT stand for."""
        known = dict(known)
        for one in (select.args.get("with_") or sge.With(expressions=[])).expressions:
            if select.args["with_"].args.get("recursive"):
                refuse("WITH RECURSIVE is not supported", "write sub-queries that rename, filter or derive")
            known[one.alias.lower()] = self.relation(one.this, known, f"WITH {one.alias}")
        source = select.args.get("from_")
        if source is None:
            refuse("FROM is missing", f'write FROM "{self.table.name}"')
        first, alias = self._source(source.this, known)
        if isinstance(first, PublicLookup):
            return self._from_lookup(select, known)
        scope = StatementScope({alias: first}, first.conditions, first.released)
        for join in select.args.get("joins") or ():
            scope = self._joined(join, scope, known)
        return scope

    def _from_lookup(self, select: Any, known: Mapping[str, Relation]) -> StatementScope:
        """FROM lookup JOIN people: the same as FROM people JOIN lookup."""
        joins = select.args.get("joins") or []
        if len(joins) != 1 or joins[0].side or isinstance(self._source(joins[0].this, known)[0], PublicLookup):
            refuse(
                "FROM must name the private table", f'write FROM "{self.table.name}" JOIN {select.args["from_"].this.name}'
            )
        turned, join = select.copy(), joins[0].copy()
        join.set("this", select.args["from_"].this.copy())
        turned.set("from_", sge.From(this=joins[0].this.copy()))
        turned.set("joins", [join])
        turned.set("with_", None)
        return self.scope(turned, known)

    def _source(self, tree: Any, known: Mapping[str, Relation]) -> tuple[Any, str]:
        if isinstance(tree, sge.Subquery):
            self._plain(tree, ("this", "alias"))
            return self.relation(tree.this, known, "a sub-query in FROM"), (tree.alias or "a sub-query").lower()
        if not isinstance(tree, sge.Table):
            refuse(f"FROM {tree.sql()} is not supported", f'write FROM "{self.table.name}"')
        self._plain(tree, ("this", "alias", "db"))
        name = tree.name.lower()
        alias = (tree.alias or tree.name).lower()
        if name in known:
            return known[name], alias
        if name == self.table.name.lower():
            return base(self.table), alias
        if name in self.lookups:
            return self.lookups[name], alias
        also = f" or pass it as a public lookup: lookups={{{tree.name!r}: frame}}"
        return refuse(
            f"FROM names {tree.name!r}, and this table is {self.table.name!r}", f'write FROM "{self.table.name}",{also}'
        )

    def _plain(self, tree: Any, understood: Sequence[str]) -> None:
        for key, value in tree.args.items():
            if value and key not in understood:
                said = {"sample": "TABLESAMPLE", "pivots": "PIVOT", "laterals": "LATERAL", "joins": "JOIN"}.get(
                    key, key.upper()
                )
                refuse(f"FROM … {said} is not supported", f'write FROM "{self.table.name}"')

    def relation(self, select: Any, known: Mapping[str, Relation], where: str) -> Relation:
        """A sub-query: one that renames, filters or derives; or one with aggregates, whose rows are released numbers."""
        if isinstance(select, sge.Subquery):
            return self.relation(select.this, known, where)
        if not isinstance(select, sge.Select):
            refuse(f"{where} has {type(select).__name__.upper()}, which is not supported", "write a SELECT")
        if select.args.get("group") or any(aggregated(item) for item in select.expressions):
            return Relation({}, released=(select, dict(known)))
        for key, value in select.args.items():
            if value and key not in ("expressions", "from_", "where", "joins", "with_", "kind"):
                said = CLAUSES.get(key, key.strip("_").upper())
                problem = f"{said} in {where} would let one row decide about others"
                refuse(problem, "let sub-queries rename, filter and derive, and write it in the outer SELECT")
        scope = self.scope(select, known)
        if scope.released is not None:
            return Relation({}, released=(select, dict(known)))
        where_tree = select.args.get("where")
        conditions = (*scope.conditions, *([scope.resolved(where_tree.this, "WHERE")] if where_tree else ()))
        columns: dict[str, Any] = {}
        for item in select.expressions:
            if isinstance(item, sge.Star) or (isinstance(item, sge.Column) and isinstance(item.this, sge.Star)):
                columns |= starred(item, scope)
                continue
            tree = item.this if isinstance(item, sge.Alias) else item
            columns[item.alias_or_name or tree.sql()] = scope.resolved(tree, "SELECT")
        return Relation(columns, conditions)

    def _joined(self, join: Any, scope: StatementScope, known: Mapping[str, Relation]) -> StatementScope:
        lookup, alias = self._source(join.this, known)
        if not isinstance(lookup, PublicLookup):
            problem = f"JOIN {join.this.sql()} joins private rows: one may meet any number of others, which no noise hides"
            refuse(problem, "join a public table, lookups={…}; or join in the database and bound each person's rows")
        said = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
        if said not in ("", "INNER", "LEFT", "LEFT OUTER"):
            refuse(f"{said} JOIN is not supported", "write JOIN or LEFT JOIN with a public lookup")
        key, value = self._key(join, lookup, alias, scope)
        declared = self.table.schema.get(value.name) if isinstance(value, sge.Column) else None
        names = [str(one) for one in declared.keys] if isinstance(declared, Category) else None
        inner = "LEFT" not in said
        relation, met = lookup.joined(key, value, names, every_row_meets=inner)
        conditions = (*scope.conditions, met) if inner else scope.conditions
        return replace(scope, relations={**scope.relations, alias: relation}, conditions=conditions)

    def _key(self, join: Any, lookup: PublicLookup, alias: str, scope: StatementScope) -> tuple[str, Any]:
        """The key of the lookup, and the private value that meets it."""
        names = {name.lower(): name for name in lookup.columns}
        using = join.args.get("using")
        if using and len(using) == 1:
            name = using[0].name
            if name.lower() in names:
                return names[name.lower()], scope.column(sge.column(name), "USING")
        on = join.args.get("on")
        on = on.unnest() if on is not None else None
        if isinstance(on, sge.EQ):
            for key, value in ((on.this, on.expression), (on.expression, on.this)):
                of_lookup = isinstance(key, sge.Column) and key.name.lower() in names and key.table.lower() in ("", alias)
                if of_lookup and not (isinstance(value, sge.Column) and value.table.lower() == alias):
                    return names[key.name.lower()], scope.resolved(value, "JOIN")
        example = f"ON {self.table.name}.column = {join.this.alias_or_name}.{next(iter(lookup.columns))}"
        return refuse(f"JOIN {lookup.name} needs one equality with one of its columns", f"write {example}")


def starred(item: Any, scope: StatementScope) -> dict[str, Any]:
    """The columns that * stands for."""
    if any(value for key, value in item.args.items() if key not in ("this", "table")):
        refuse(f"SELECT {item.sql()} is not supported", "name the columns")
    table = item.table if isinstance(item, sge.Column) else ""
    return {name: tree.copy() for name, tree in scope.columns(table).items()}


CLAUSES = {
    "joins": "JOIN",
    "order": "ORDER BY",
    "group": "GROUP BY",
    "with_": "WITH",
    "distinct": "DISTINCT",
    "laterals": "LATERAL",
    "into": "INTO",
    "sample": "TABLESAMPLE",
    "operation_modifiers": "a modifier",
}
"""Clauses whose name in SQL is not the parser's."""

OTHER_NAMES = {
    "MEAN": sge.Avg,
    "STD": sge.Stddev,
    "VAR": sge.Variance,
    "QUANTILE_CONT": sge.PercentileCont,
    "QUANTILE_DISC": sge.PercentileDisc,
    "APPROX_PERCENTILE": sge.PercentileCont,
    "PERCENTILE": sge.PercentileCont,
    "PERCENTILE_APPROX": sge.PercentileCont,
}
"""Aggregates by other names than the parser knows."""


def aggregated(tree: Any) -> bool:
    """Whether an expression has an aggregate, outside of sub-queries."""
    return any(
        isinstance(node, (sge.AggFunc, sge.WithinGroup, sge.Filter)) and node.find_ancestor(sge.Select) is tree.parent_select
        for node in tree.walk()
    )
