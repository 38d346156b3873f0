"""A SELECT statement in three parts: what happens to rows, what is measured, and what is computed from released numbers.

Privacy: only the second part costs anything. The first works row by row, and the third sees released numbers and public keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlglot as sg
import sqlglot.expressions as sge
from sqlglot.errors import SqlglotError

from jostle.tables.post_processing import Item, Order, PostProcessing
from jostle.tables.predicates import LONGEST
from jostle.tables.relations import (
    CLAUSES,
    OTHER_NAMES,
    Lookups,
    Reader,
    Relation,
    Scope,
    aggregated,
    read_lookups,
    refuse,
    starred,
)
from jostle.tables.scalars import constant

if TYPE_CHECKING:
    from jostle.tables.table import Table

FORM = "SELECT column, COUNT(*) FROM table WHERE condition GROUP BY column"
AGGREGATES = "COUNT, SUM, AVG, MEDIAN, QUANTILE_CONT, STDDEV, VARIANCE, MIN or MAX"
UNDERSTOOD = ("expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct", "joins", "with_", "kind")

KINDS: dict[Any, str] = {
    sge.Sum: "sum",
    sge.Avg: "mean",
    sge.Min: "min",
    sge.Max: "max",
    sge.Stddev: "std",
    sge.StddevSamp: "std",
    sge.StddevPop: "std",
    sge.Variance: "variance",
    sge.VariancePop: "variance",
    sge.Median: "quantile",
    sge.Quantile: "quantile",
    sge.ApproxQuantile: "quantile",
    sge.PercentileCont: "quantile",
    sge.PercentileDisc: "quantile",
}
"""Aggregates of numbers, by what is measured for them."""

SHOWN = {
    sge.AnyValue: "shows a value of one row",
    sge.First: "shows a value of one row",
    sge.Last: "shows a value of one row",
    sge.ArrayAgg: "shows the rows' values",
    sge.GroupConcat: "shows the rows' values",
    sge.ArrayUniqueAgg: "shows the rows' values",
    sge.LogicalOr: "shows whether there is such a row",
    sge.LogicalAnd: "shows whether there is a row of another kind",
    sge.Mode: "shows a value that rows have",
}
"""Aggregates that cannot be private, and why."""


@dataclass(frozen=True)
class Measure:
    """An aggregate to be measured, over rows of the private table."""

    kind: str
    """count, count_units, sum, mean, variance, std, quantile, min or max."""

    value: Any = None
    """What is aggregated; None for rows and persons."""

    level: float | None = None
    condition: Any = None
    """Which rows it is about, besides the conditions of all."""

    @property
    def key(self) -> tuple[Any, ...]:
        parts = (None if tree is None else tree.sql() for tree in (self.value, self.condition))
        return (self.kind, self.level, *parts)


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

    scope: Scope
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
        self.measures: dict[tuple[Any, ...], Measure] = {}

    def plan(self, select: Any, known: Mapping[str, Relation]) -> SelectPlan:
        parts, conditions = self._parts(select, known)
        parts.items = [Item(one.name, self._split(one.tree, "SELECT", parts.groups)) for one in parts.items]
        if not self.measures:
            if parts.groups or select.args.get("distinct"):
                problem = "SELECT has no aggregate: a list of the values that occur would show rows"
                refuse(problem, "the schema has the list; add COUNT(*) to count them")
            refuse("SELECT has no aggregate: rows are never shown", f"select {AGGREGATES}")
        having = [self._split(one, "HAVING", parts.groups) for one in parts.having]
        order = [Order(self._split(one.tree, "ORDER BY", parts.groups), one.desc, one.nulls_first) for one in parts.order]
        after = PostProcessing(
            tuple(parts.items), tuple(having), tuple(order), parts.limit, parts.offset, distinct=parts.distinct
        )
        return SelectPlan(conditions, tuple(parts.groups), tuple(self.measures.values()), after)

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

    def _over_released(self, select: Any, scope: Scope) -> tuple[_Parts, tuple[Any, ...]]:
        """A SELECT over one with aggregates: its rows are released numbers, and everything here is computed from them."""
        inner, conditions = self._parts(*scope.released)
        if select.args.get("group") or any(aggregated(item) for item in select.expressions):
            problem = "an aggregate of aggregates is not supported"
            refuse(problem, "write one SELECT with GROUP BY, and add up what is released")
        if inner.limit is not None and any(select.args.get(key) for key in ("where", "order", "limit", "offset")):
            refuse("LIMIT in a sub-query is not supported with WHERE or ORDER BY outside", "write it in the outer SELECT")
        [alias] = scope.relations
        outer = Scope({alias: Relation({one.name: one.tree for one in inner.items})})
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
            found.append(_bare(tree))
        return _distinct(found)

    def _at_position(self, item: Any, items: Sequence[Item], clause: str) -> Any:
        if not isinstance(item, sge.Literal) or item.is_string:
            return None
        place = constant(item)
        if not isinstance(place, int) or not 1 <= place <= len(items):
            refuse(f"{clause} {item.sql()} is not one of the {len(items)} selected columns", "name the column")
        return items[place - 1].tree

    def _after(self, select: Any, parts: _Parts, scope: Scope) -> None:
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

    def _of_groups(self, tree: Any, named: Scope, parts: _Parts, clause: str) -> Any:
        """With names of columns where rows are grouped by these, else with names of the SELECT list."""
        by_alias = named.resolved(tree, clause, alias_first=True)
        if isinstance(tree, sge.Column):
            return by_alias
        by_column = named.resolved(tree, clause)
        return by_column if _splits(by_column, parts.groups) else by_alias

    # -------------------------------------------------------------------------------------------------- the aggregates

    def _split(self, tree: Any, clause: str, groups: Sequence[Any]) -> Any:
        """The expression with aggregates and groups as placeholders. A column that is neither would show rows."""
        bare = _bare(tree)
        if bare in groups:
            return sge.Placeholder(this=f"k{list(groups).index(bare)}")
        if _is_aggregate(tree):
            return self._measured(tree, clause)
        if isinstance(tree, sge.Column):
            if self.table.unit is not None and tree.name == self.table.unit.column and tree.name not in self.table.schema:
                refuse(f"{clause} {tree.name} names persons", f"count them, COUNT(DISTINCT {tree.name})")
            refuse(f"{clause} {tree.sql()} would show rows", f"group by it, or select {AGGREGATES} of it")
        made = tree.copy()
        for key, value in tree.args.items():
            if isinstance(value, sge.Expression) and not isinstance(value, (sge.DataType, sge.Var)):
                made.set(key, self._split(value, clause, groups))
            elif isinstance(value, list):
                made.set(key, [self._split(one, clause, groups) if isinstance(one, sge.Expression) else one for one in value])
        return made

    def _measured(self, tree: Any, clause: str) -> Any:
        """What is measured for an aggregate: a placeholder, or arithmetic on one."""
        condition = None
        while isinstance(tree, (sge.Filter, sge.IgnoreNulls, sge.RespectNulls)):
            if isinstance(tree, sge.Filter):
                condition = tree.expression.this
            tree = tree.this
        level = None
        if isinstance(tree, sge.WithinGroup):
            tree, level = _within_group(tree)
        if any(_is_aggregate(one) for one in tree.iter_expressions()):
            refuse(f"{clause} {tree.sql()} is an aggregate of an aggregate", "aggregate columns")
        if type(tree) in SHOWN:
            refuse(f"{tree.sql()} {SHOWN[type(tree)]}", f"select {AGGREGATES}; COUNT(*) with GROUP BY shows what is frequent")
        if isinstance(tree, (sge.Count, sge.CountIf, sge.ApproxDistinct)):
            return self._counted(tree, condition)
        if type(tree) not in KINDS:
            refuse(f"{clause} {tree.sql()} is not supported", f"select {AGGREGATES}")
        if isinstance(tree.this, sge.Distinct):
            refuse(f"{tree.sql()} aggregates values, not rows: one row may decide about it", "leave out DISTINCT")
        if tree.this is None or isinstance(tree.this, sge.Star):
            refuse(f"{clause} {tree.sql()} needs a column", f"write for instance {tree.key.upper()}(age)")
        kind = KINDS[type(tree)]
        if kind == "quantile" and level is None:
            level = _level(tree)
        if kind in ("sum", "mean") and isinstance(tree.this, sge.Literal) and not tree.this.is_string:
            count = self._placeholder(Measure("count", condition=condition))
            return tree.this.copy() if kind == "mean" else sge.Mul(this=tree.this.copy(), expression=count)
        if kind == "sum" and (only := _one_or_nothing(tree.this)) is not None:
            return self._placeholder(Measure("count", condition=_both(condition, only)))
        return self._placeholder(Measure(kind, _bare(tree.this), level, condition))

    def _counted(self, tree: Any, condition: Any) -> Any:
        value = tree.this
        if isinstance(tree, sge.CountIf):
            return self._placeholder(Measure("count", condition=_both(condition, value)))
        if isinstance(value, sge.Distinct) or isinstance(tree, sge.ApproxDistinct):
            return self._persons(tree, value.expressions if isinstance(value, sge.Distinct) else [value], condition)
        if tree.expressions:
            refuse(f"{tree.sql()} is not supported", "count rows, COUNT(*)")
        if value is None or isinstance(value, (sge.Star, sge.Literal, sge.Boolean)):
            return self._placeholder(Measure("count", condition=condition))
        if self._is_unit(value):  # rows without a person do not count
            return self._placeholder(Measure("count", condition=condition))
        only = _one_or_nothing(value)
        there = only if only is not None else sge.Not(this=sge.Is(this=value.copy(), expression=sge.Null()))
        return self._placeholder(Measure("count", condition=_both(condition, there)))

    def _persons(self, tree: Any, values: Sequence[Any], condition: Any) -> Any:
        [value, *more] = [_bare(one) for one in values]
        if not more and isinstance(value, sge.Case) and value.this is None and value.args.get("default") is None:
            [first, *others] = value.args["ifs"]
            if not others:
                condition, value = _both(condition, first.this), _bare(first.args["true"])
        if not more and self._is_unit(value):
            return self._placeholder(Measure("count_units", condition=condition))
        unit = self.table.unit
        counted = "persons" if unit is None else f"persons, COUNT(DISTINCT {unit.column})"
        problem = f"{tree.sql()} counts values of a column, and one row may add a value"
        return refuse(problem, f"count rows, COUNT(*), or {counted}; the schema has the list of values")

    def _is_unit(self, tree: Any) -> bool:
        unit = self.table.unit
        return unit is not None and isinstance(_bare(tree), sge.Column) and _bare(tree).name == unit.column

    def _placeholder(self, measure: Measure) -> Any:
        self.measures.setdefault(measure.key, measure)
        return sge.Placeholder(this=f"a{list(self.measures).index(measure.key)}")


def _bare(tree: Any) -> Any:
    """Without parentheses around it."""
    while isinstance(tree, sge.Paren):
        tree = tree.this
    return tree


def _distinct(trees: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for tree in map(_bare, trees):
        if tree not in found:
            found.append(tree)
    return found


def _is_aggregate(tree: Any) -> bool:
    return isinstance(tree, (sge.AggFunc, sge.WithinGroup, sge.Filter, sge.IgnoreNulls, sge.RespectNulls))


def _has_aggregate(tree: Any) -> bool:
    return any(_is_aggregate(node) for node in tree.walk())


def _splits(tree: Any, groups: Sequence[Any]) -> bool:
    """Whether every column is in an aggregate or in a group."""
    if _bare(tree) in groups or _is_aggregate(tree):
        return True
    return not isinstance(tree, sge.Column) and all(_splits(one, groups) for one in tree.iter_expressions())


def _both(one: Any, other: Any) -> Any:
    return other.copy() if one is None else sge.And(this=sge.paren(one.copy()), expression=sge.paren(other.copy()))


def _one_or_nothing(tree: Any) -> Any:
    """The condition of CASE WHEN condition THEN 1 ELSE 0 END; None for anything else."""
    tree = _bare(tree)
    if not isinstance(tree, sge.Case) or tree.this is not None or len(tree.args["ifs"]) != 1:
        return None
    result, default = tree.args["ifs"][0].args["true"], tree.args.get("default")
    is_one = isinstance(result, sge.Literal) and not result.is_string and float(result.this) == 1
    is_nothing = default is None or isinstance(default, sge.Null) or (
        isinstance(default, sge.Literal) and not default.is_string and float(default.this) == 0
    )
    in_count = isinstance(tree.parent, sge.Count)
    if in_count:  # COUNT counts zeros as well
        is_one, is_nothing = isinstance(result, sge.Literal), default is None or isinstance(default, sge.Null)
    return tree.args["ifs"][0].this if is_one and is_nothing else None


def _level(tree: Any) -> float:
    if isinstance(tree, sge.Median):
        return 0.5
    said = tree.args.get("quantile") or tree.args.get("expression")
    if not isinstance(said, sge.Literal) or said.is_string or not 0 < float(said.this) < 1:
        refuse(f"{tree.sql()} needs a level between 0 and 1", "write for instance QUANTILE_CONT(age, 0.9); MIN and MAX are others")
    return float(said.this)


def _within_group(tree: Any) -> tuple[Any, float]:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column): as a function of the column, and the level."""
    level, order = tree.this.this, tree.expression.expressions
    form = "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
    known = isinstance(tree.this, (sge.PercentileCont, sge.PercentileDisc)) and len(order) == 1
    if not known or not isinstance(level, sge.Literal) or level.is_string or not 0 < float(level.this) < 1:
        refuse(f"SELECT {tree.sql()} is not supported", f"write {form}")
    part = float(level.this)
    return sge.PercentileCont(this=order[0].this), 1 - part if order[0].args.get("desc") else part


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
                problem = f"the sub-query {inner.sql()} in {CLAUSES.get(key, 'SELECT' if key == 'expressions' else key.upper())}"
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
