"""Aggregates as they are called in SQL, and what is measured for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlglot.expressions as sge

from jostle.tables.relations import refuse

if TYPE_CHECKING:
    from jostle.tables.table import Table

AGGREGATES = "COUNT, SUM, AVG, MEDIAN, QUANTILE_CONT, STDDEV, VARIANCE, MIN or MAX"

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

OF_SAMPLES = (sge.Stddev, sge.StddevSamp, sge.Variance)

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

    ddof: int = 0
    """1 for the variance of a sample: STDDEV and VARIANCE, where those that end in _POP divide by the number of rows."""

    @property
    def key(self) -> tuple[Any, ...]:
        parts = (None if tree is None else tree.sql() for tree in (self.value, self.condition))
        return (self.kind, self.level, self.ddof, *parts)


class AggregateCalls:
    """Collects what is measured for a statement: each distinct aggregate once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.measures: dict[tuple[Any, ...], Measure] = {}

    def placeholder(self, tree: Any, clause: str) -> Any:
        """What is measured for an aggregate: a placeholder, or arithmetic on one."""
        tree, condition, level = _unwrapped(tree)
        if any(is_aggregate(one) for one in tree.iter_expressions()):
            refuse(f"{clause} {tree.sql()} is an aggregate of an aggregate", "aggregate columns")
        if type(tree) in SHOWN:
            refuse(
                f"{tree.sql()} {SHOWN[type(tree)]}", f"select {AGGREGATES}; COUNT(*) with GROUP BY shows what is frequent"
            )
        if isinstance(tree, (sge.Count, sge.CountIf, sge.ApproxDistinct)):
            return self._counted(tree, condition)
        if type(tree) not in KINDS:
            refuse(f"{clause} {tree.sql()} is not supported", f"select {AGGREGATES}")
        if isinstance(tree.this, sge.Distinct):
            refuse(f"{tree.sql()} aggregates values, not rows: one row may decide about it", "leave out DISTINCT")
        if tree.this is None or isinstance(tree.this, sge.Star):
            refuse(f"{clause} {tree.sql()} needs a column", f"write for instance {tree.key.upper()}(age)")
        kind = KINDS[type(tree)]
        level = _level(tree) if kind == "quantile" and level is None else level
        if kind in ("sum", "mean") and isinstance(tree.this, sge.Literal) and not tree.this.is_string:
            count = self._placeholder(Measure("count", condition=condition))
            return tree.this.copy() if kind == "mean" else sge.Mul(this=tree.this.copy(), expression=count)
        if kind == "sum" and (only := _one_or_nothing(tree.this)) is not None:
            return self._placeholder(Measure("count", condition=_both(condition, only)))
        return self._placeholder(Measure(kind, bare(tree.this), level, condition, int(type(tree) in OF_SAMPLES)))

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
        [value, *more] = [bare(one) for one in values]
        if not more and isinstance(value, sge.Case) and value.this is None and value.args.get("default") is None:
            [first, *others] = value.args["ifs"]
            if not others:
                condition, value = _both(condition, first.this), bare(first.args["true"])
        if not more and self._is_unit(value):
            return self._placeholder(Measure("count_units", condition=condition))
        unit = self.table.unit
        counted = "persons" if unit is None else f"persons, COUNT(DISTINCT {unit.column})"
        problem = f"{tree.sql()} counts values of a column, and one row may add a value"
        return refuse(problem, f"count rows, COUNT(*), or {counted}; the schema has the list of values")

    def _is_unit(self, tree: Any) -> bool:
        unit = self.table.unit
        return unit is not None and isinstance(bare(tree), sge.Column) and bare(tree).name == unit.column

    def _placeholder(self, measure: Measure) -> Any:
        self.measures.setdefault(measure.key, measure)
        return sge.Placeholder(this=f"a{list(self.measures).index(measure.key)}")


def _unwrapped(tree: Any) -> tuple[Any, Any, float | None]:
    """The aggregate inside FILTER and WITHIN GROUP, the filter's condition, and the level."""
    condition = None
    while isinstance(tree, (sge.Filter, sge.IgnoreNulls, sge.RespectNulls)):
        if isinstance(tree, sge.Filter):
            condition = tree.expression.this
        tree = tree.this
    return (tree, condition, None) if not isinstance(tree, sge.WithinGroup) else _within_group(tree, condition)


def bare(tree: Any) -> Any:
    """Without parentheses around it."""
    while isinstance(tree, sge.Paren):
        tree = tree.this
    return tree


def is_aggregate(tree: Any) -> bool:
    """Whether an expression is a call of an aggregate."""
    return isinstance(tree, (sge.AggFunc, sge.WithinGroup, sge.Filter, sge.IgnoreNulls, sge.RespectNulls))


def _both(one: Any, other: Any) -> Any:
    return other.copy() if one is None else sge.And(this=sge.paren(one.copy()), expression=sge.paren(other.copy()))


def _one_or_nothing(tree: Any) -> Any:
    """The condition of CASE WHEN condition THEN 1 ELSE 0 END; None for anything else."""
    tree = bare(tree)
    if not isinstance(tree, sge.Case) or tree.this is not None or len(tree.args["ifs"]) != 1:
        return None
    result, default = tree.args["ifs"][0].args["true"], tree.args.get("default")
    is_one = isinstance(result, sge.Literal) and not result.is_string and float(result.this) == 1
    is_nothing = (
        default is None
        or isinstance(default, sge.Null)
        or (isinstance(default, sge.Literal) and not default.is_string and float(default.this) == 0)
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
        refuse(
            f"{tree.sql()} needs a level between 0 and 1",
            "write for instance QUANTILE_CONT(age, 0.9); MIN and MAX are others",
        )
    return float(said.this)


def _within_group(tree: Any, condition: Any) -> tuple[Any, Any, float]:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column): as a function of the column, and the level."""
    level, order = tree.this.this, tree.expression.expressions
    form = "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
    known = isinstance(tree.this, (sge.PercentileCont, sge.PercentileDisc)) and len(order) == 1
    if not known or not isinstance(level, sge.Literal) or level.is_string or not 0 < float(level.this) < 1:
        refuse(f"SELECT {tree.sql()} is not supported", f"write {form}")
    part = float(level.this)
    return sge.PercentileCont(this=order[0].this), condition, 1 - part if order[0].args.get("desc") else part
