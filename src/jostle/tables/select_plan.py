"""A SELECT statement in three parts: what happens to rows, what is measured, and what is computed from released numbers.

Privacy: only the second part costs anything. The first works row by row; the third sees released numbers and keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlglot as sg
import sqlglot.expressions as sge
from sqlglot.errors import SqlglotError

from jostle.tables.aggregate_calls import AGGREGATES, KINDS, AggregateCalls, Measure, bare, is_aggregate
from jostle.tables.post_processing import Item, Order, PostProcessing
from jostle.tables.predicates import LONGEST, constant
from jostle.tables.relations import (
    CLAUSES,
    OTHER_NAMES,
    Lookups,
    Reader,
    Relation,
    StatementScope,
    aggregated,
    read_lookups,
    refuse,
    starred,
)

if TYPE_CHECKING:
    from jostle.tables.table import Table

FORM = "SELECT column, COUNT(*) FROM table WHERE condition GROUP BY column"
UNDERSTOOD = (
    "expressions",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "joins",
    "with_",
    "kind",
)


@dataclass(frozen=True)
class SelectPlan:
    """A statement, split."""

    conditions: tuple[Any, ...]
    """Rows for which all of these hold."""

    groups: tuple[Any, ...]
    """The expressions to group by; in what is computed afterwards they are the placeholders k0, k1, …"""

    measures: tuple[Measure, ...]
    """Each distinct aggregate; afterwards they are the placeholders a0, a1, …"""

    after: PostProcessing


def parse(text: Any) -> Any:
    """One SELECT statement, as sqlglot reads it."""
    if not isinstance(text, str) or len(text) > LONGEST:
        refuse(f"must be a text of at most {LONGEST} characters", f"write {FORM}")
    trees = None
    others = {"bigquery": "`" in text, "tsql": " top " in text.lower()}
    for dialect in ("duckdb", *(name for name, likely in others.items() if likely)):
        try:
            trees = sg.parse(text, dialect=dialect)
            break
        except (SqlglotError, RecursionError):
            continue
    if trees is None:
        refuse("cannot be read", f"write {FORM}")
    trees = [tree for tree in trees if tree is not None]
    if len(trees) != 1:
        refuse("is more than one statement, or none", f"write one statement, {FORM}")
    if isinstance(trees[0], sge.SetOperation):
        said = type(trees[0]).__name__.upper()
        refuse(f"{said} puts rows of several queries together, which is not supported", "ask each SELECT by itself")
    if not isinstance(trees[0], sge.Select):
        refuse(f"{type(trees[0]).__name__.upper()} is not supported", f"write one statement, {FORM}")
    return trees[0].transform(_normal)


def _normal(node: Any) -> Any:
    """One form for what can be written in several."""
    if isinstance(node, (sge.Placeholder, sge.Parameter)):
        refuse(f"{node.sql()} is a placeholder", "write the value itself")
    if isinstance(node, sge.If) and not isinstance(node.parent, sge.Case):
        return sge.Case(ifs=[sge.If(this=node.this, true=node.args["true"])], default=node.args.get("false"))
    if isinstance(node, sge.Anonymous):
        name, given = str(node.this).upper(), node.expressions
        if name in OTHER_NAMES and given:
            return OTHER_NAMES[name](this=given[0], **({"expression": given[1]} if len(given) > 1 else {}))
        if name in ("DATE_PART", "DATEPART") and len(given) == 2:
            return sge.Extract(this=sge.Var(this=given[0].name), expression=given[1])
    return node


def read(text: Any, table: Table, lookups: Lookups | None = None) -> SelectPlan:
    """The plan of a statement about a private table."""
    select = parse(text)
    try:
        return _Planner(table, Reader(table, read_lookups(lookups))).plan(select, {})
    except RecursionError:
        refuse("is nested too deeply", "say it in a simpler way")


@dataclass
class _Parts:
    """A SELECT while it is read."""

    scope: StatementScope
    items: list[Item] = field(default_factory=list)
    groups: list[Any] = field(default_factory=list)
    having: list[Any] = field(default_factory=list)
    order: list[Order] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    distinct: bool = False


class _Planner:
    def __init__(self, table: Table, reader: Reader) -> None:
        self.table, self.reader = table, reader
        self.calls = AggregateCalls(table)

    def plan(self, select: Any, known: Mapping[str, Relation]) -> SelectPlan:
        parts, conditions = self._parts(select, known)
        parts.items = [Item(one.name, self._split(one.tree, "SELECT", parts.groups)) for one in parts.items]
        if not self.calls.measures:
            if parts.groups or select.args.get("distinct"):
                problem = "SELECT has no aggregate: a list of the values that occur would show rows"
                refuse(problem, "the schema has the list; add COUNT(*) to count them")
            refuse("SELECT has no aggregate: rows are never shown", f"select {AGGREGATES}")
        having = [self._split(one, "HAVING", parts.groups) for one in parts.having]
        order = [Order(self._split(one.tree, "ORDER BY", parts.groups), one.desc, one.nulls_first) for one in parts.order]
        after = PostProcessing(
            tuple(parts.items), tuple(having), tuple(order), parts.limit, parts.offset, distinct=parts.distinct
        )
        return SelectPlan(conditions, tuple(parts.groups), tuple(self.calls.measures.values()), after)

    # ---------------------------------------------------------------------------------------------------- the clauses

    def _parts(self, select: Any, known: Mapping[str, Relation]) -> tuple[_Parts, tuple[Any, ...]]:
        for key, value in select.args.items():
            if value and key not in UNDERSTOOD:
                name = CLAUSES.get(key, key.strip("_").upper().replace("_", " "))
                refuse(f"the clause {name} is not supported", f"write {FORM}, and do the rest with what is released")
        _refuse_other_rows(select)
        scope = self.reader.scope(select, known)
        if scope.released is not None:
            return self._over_released(select, scope)
        where = select.args.get("where")
        if where is not None and aggregated(where.this):
            refuse(f"WHERE {where.this.sql()} has an aggregate", "write the condition on aggregates after HAVING")
        conditions = (*scope.conditions, *([scope.resolved(where.this, "WHERE")] if where is not None else ()))
        parts = _Parts(scope)
        self._select(select, parts)
        parts.groups = self._groups(select, parts)
        self._after(select, parts, scope)
        return parts, conditions

    def _over_released(self, select: Any, scope: StatementScope) -> tuple[_Parts, tuple[Any, ...]]:
        """A SELECT over one with aggregates: its rows are released numbers, and everything here is computed from them."""
        inner, conditions = self._parts(*scope.released)
        if select.args.get("group") or any(aggregated(item) for item in select.expressions):
            problem = "an aggregate of aggregates is not supported"
            refuse(problem, "write one SELECT with GROUP BY, and add up what is released")
        if inner.limit is not None and any(select.args.get(key) for key in ("where", "order", "limit", "offset")):
            refuse("LIMIT in a sub-query is not supported with WHERE or ORDER BY outside", "write it in the outer SELECT")
        [alias] = scope.relations
        outer = StatementScope({alias: Relation({one.name: one.tree for one in inner.items})})
        parts = _Parts(outer, groups=inner.groups, having=inner.having, order=inner.order, distinct=inner.distinct)
        parts.limit, parts.offset = inner.limit, inner.offset
        where = select.args.get("where")
        if where is not None:
            parts.having = [*parts.having, outer.resolved(where.this, "WHERE")]
        self._select(select, parts)
        self._after(select, parts, outer)
        return parts, conditions

    def _select(self, select: Any, parts: _Parts) -> None:
        scope, aliases = parts.scope, dict[str, Any]()
        for item in select.expressions:
            if isinstance(item, sge.Star) or (isinstance(item, sge.Column) and isinstance(item.this, sge.Star)):
                columns = starred(item, scope)
                if not any(map(aggregated, columns.values())):
                    refuse(f"SELECT {item.sql()} would show rows", f"name the columns to group by, and select {AGGREGATES}")
                parts.items += [Item(name, tree) for name, tree in columns.items()]
                continue
            tree = item.this if isinstance(item, sge.Alias) else item
            resolved = scope.named(aliases).resolved(tree, "SELECT")
            name = item.alias if isinstance(item, sge.Alias) else _name(tree)
            aliases.setdefault(name, resolved)
            parts.items.append(Item(name, resolved))

    def _groups(self, select: Any, parts: _Parts) -> list[Any]:
        group = select.args.get("group")
        if group is None:
            return []
        names = {"all": "ALL", "rollup": "ROLLUP", "cube": "CUBE", "grouping_sets": "GROUPING SETS", "totals": "WITH TOTALS"}
        for key, value in group.args.items():
            if value and key not in ("expressions", "all"):
                refuse(f"GROUP BY {names.get(key, key.upper())} is not supported", "ask for each set of groups by itself")
        if group.args.get("all"):
            return _distinct([one.tree for one in parts.items if not _has_aggregate(one.tree)])
        aliases = {one.name: one.tree for one in parts.items}
        found = []
        for item in group.expressions:
            if isinstance(item, (sge.Rollup, sge.Cube, sge.GroupingSets)):
                refuse(f"GROUP BY {item.sql()} is not supported", "ask for each set of groups by itself")
            tree = self._at_position(item, parts.items, "GROUP BY")
            tree = parts.scope.named(aliases).resolved(item, "GROUP BY") if tree is None else tree
            if _has_aggregate(tree):
                refuse(f"GROUP BY {item.sql()} is an aggregate", "group by columns, and sort by aggregates")
            found.append(bare(tree))
        return _distinct(found)

    def _at_position(self, item: Any, items: Sequence[Item], clause: str) -> Any:
        if not isinstance(item, sge.Literal) or item.is_string:
            return None
        place = constant(item)
        if not isinstance(place, int) or not 1 <= place <= len(items):
            refuse(f"{clause} {item.sql()} is not one of the {len(items)} selected columns", "name the column")
        return items[place - 1].tree

    def _after(self, select: Any, parts: _Parts, scope: StatementScope) -> None:
        """HAVING, ORDER BY, LIMIT and DISTINCT."""
        named = scope.named({one.name: one.tree for one in parts.items})
        having = select.args.get("having")
        if having is not None:
            parts.having = [*parts.having, self._of_groups(having.this, named, parts, "HAVING")]
        order = select.args.get("order")
        if order is not None:
            parts.order = []
            for one in order.expressions:
                tree = self._at_position(one.this, parts.items, "ORDER BY")
                tree = self._of_groups(one.this, named, parts, "ORDER BY") if tree is None else tree
                parts.order.append(Order(tree, bool(one.args.get("desc")), bool(one.args.get("nulls_first"))))
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            refuse("DISTINCT ON is not supported", "group by the columns")
        parts.distinct = parts.distinct or distinct is not None
        for key in ("limit", "offset"):
            if select.args.get(key) is not None:
                setattr(parts, key, _number_of_rows(select.args[key], key.upper()))

    def _of_groups(self, tree: Any, named: StatementScope, parts: _Parts, clause: str) -> Any:
        """With names of columns where rows are grouped by these, else with names of the SELECT list."""
        by_alias = named.resolved(tree, clause, alias_first=True)
        if isinstance(tree, sge.Column):
            return by_alias
        by_column = named.resolved(tree, clause)
        return by_column if _splits(by_column, parts.groups) else by_alias

    # -------------------------------------------------------------------------------------------------- the aggregates

    def _split(self, tree: Any, clause: str, groups: Sequence[Any]) -> Any:
        """The expression with aggregates and groups as placeholders. A column that is neither would show rows."""
        if (plain := bare(tree)) in groups:
            return sge.Placeholder(this=f"k{list(groups).index(plain)}")
        if is_aggregate(tree):
            return self.calls.placeholder(tree, clause)
        if isinstance(tree, sge.Column):
            if self.table.unit is not None and tree.name == self.table.unit.column and tree.name not in self.table.schema:
                refuse(f"{clause} {tree.name} names persons", f"count them, COUNT(DISTINCT {tree.name})")
            refuse(f"{clause} {tree.sql()} would show rows", f"group by it, or select {AGGREGATES} of it")
        made = tree.copy()
        for key, value in tree.args.items():
            if isinstance(value, sge.Expression) and not isinstance(value, (sge.DataType, sge.Var)):
                made.set(key, self._split(value, clause, groups))
            elif isinstance(value, list):
                made.set(
                    key, [self._split(one, clause, groups) if isinstance(one, sge.Expression) else one for one in value]
                )
        return made


def _distinct(trees: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for tree in map(bare, trees):
        if tree not in found:
            found.append(tree)
    return found


def _has_aggregate(tree: Any) -> bool:
    return any(is_aggregate(node) for node in tree.walk())


def _splits(tree: Any, groups: Sequence[Any]) -> bool:
    """Whether every column is in an aggregate or in a group."""
    if bare(tree) in groups or is_aggregate(tree):
        return True
    return not isinstance(tree, sge.Column) and all(_splits(one, groups) for one in tree.iter_expressions())


def _number_of_rows(tree: Any, clause: str) -> int:
    said = tree.args.get("count") if isinstance(tree, sge.Fetch) else tree.expression
    number = constant(said) if isinstance(said, sge.Literal) and not said.is_string else None
    percent = (tree.args.get("limit_options") or sge.Expression()).args.get("percent")
    if not isinstance(number, int) or number < 0 or percent:
        refuse(f"{clause} {'' if said is None else said.sql()} is no whole number", f"write for instance {clause} 10")
    return number


def _refuse_other_rows(select: Any) -> None:
    """Windows and sub-queries outside FROM look at other rows."""
    for key in ("expressions", "where", "group", "having", "order"):
        said = select.args.get(key)
        for tree in said if isinstance(said, list) else [said] if said is not None else []:
            window = tree.find(sge.Window)
            if window is not None:
                problem = f"the window function {window.sql()} looks at several rows at once"
                refuse(problem, "group by columns, and compute ranks and shares from what is released")
            inner = tree.find(sge.Subquery, sge.Exists, sge.Select)
            if inner is not None:
                problem = (
                    f"the sub-query {inner.sql()} in {CLAUSES.get(key, 'SELECT' if key == 'expressions' else key.upper())}"
                )
                refuse(f"{problem} looks at other rows", "ask for it first, and write its answer as a constant")


def _name(tree: Any) -> str:
    """What a column of the answer is called that has no alias."""
    if isinstance(tree, sge.Column):
        return str(tree.name)
    if isinstance(tree, sge.Count) and (tree.this is None or isinstance(tree.this, (sge.Star, sge.Literal))):
        return "count"
    if type(tree) in (sge.Sum, sge.Avg) and isinstance(tree.this, sge.Column):
        return f"{KINDS[type(tree)]} of {tree.this.name}"
    return str(tree.sql(dialect="duckdb"))
