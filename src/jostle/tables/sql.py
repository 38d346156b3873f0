"""SELECT statements: parsed by sqlglot into questions. Nothing of the text reaches an engine.

Privacy: several aggregates of one statement are questions of their own, which share one ε evenly. They are released one
after the other, each at its share, and the shares add up to what is charged (sequential composition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import sqlglot as sg
import sqlglot.expressions as sge
from sqlglot.errors import SqlglotError

from jostle.answers.answer import Answer, Answers
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.tables.predicates import LONGEST, translated
from jostle.tables.question import Question
from jostle.tables.sums_and_means import SumOrMeanQuestion

if TYPE_CHECKING:
    from jostle.tables.table import Table

FORM = "SELECT column, COUNT(*) FROM table WHERE condition GROUP BY column"
PERCENTILE = "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
AGGREGATES = f"COUNT(*), COUNT(column), SUM(column), AVG(column), MEDIAN(column) or {PERCENTILE}"
UNDERSTOOD = ("expressions", "from_", "where", "group")
CLAUSES = {
    "joins": "JOIN",
    "order": "ORDER BY",
    "with_": "WITH",
    "distinct": "DISTINCT",
    "laterals": "LATERAL",
    "into": "INTO",
}
"""Clauses whose name in SQL is not the parser's."""


@dataclass(frozen=True)
class _Aggregate:
    """What is computed per group."""

    kind: str
    """count, sum, mean or quantile."""

    column: str | None = None
    level: float | None = None


def parse_select(text: Any, table: Table) -> Question[Any]:
    """The question that a SELECT statement stands for."""
    tree = _parsed(text)
    _check_clauses(tree, table)
    groups = _groups(tree, table)
    aggregates = [found for item in tree.expressions if (found := _selected(item, groups, table)) is not None]
    if not aggregates:
        _refuse("SELECT has no aggregate: rows are never shown", f"select one of {AGGREGATES}")
    where = tree.args.get("where")
    if where is not None:
        table = table.where(lambda form: translated(where.this, form, table.schema))
    return _question(aggregates, groups, table)


def _parsed(text: Any) -> Any:
    if not isinstance(text, str) or len(text) > LONGEST:
        _refuse(f"must be a text of at most {LONGEST} characters", f"write {FORM}")
    try:
        trees = sg.parse(text)
    except (SqlglotError, RecursionError):
        _refuse("cannot be read", f"write {FORM}")
    if len(trees) != 1 or not isinstance(trees[0], sge.Select):
        single = len(trees) == 1 and trees[0] is not None
        said = type(trees[0]).__name__.upper() if single else "more than one statement, or none"
        _refuse(f"{said} is not supported", f"write one statement, {FORM}")
    return trees[0]


def _check_clauses(tree: Any, table: Table) -> None:
    for key, value in tree.args.items():
        if value and key not in UNDERSTOOD:
            name = CLAUSES.get(key, key.strip("_").upper().replace("_", " "))
            _refuse(f"the clause {name} is not supported", f"write {FORM}, and do the rest with what is released")
    source = tree.args.get("from_")
    named = source.this if source is not None else None
    if not isinstance(named, sge.Table) or any(value for key, value in named.args.items() if key not in ("this", "alias")):
        _refuse("FROM must name this table and nothing else", f"write FROM {table.name}")
    if named.name.lower() != table.name.lower():
        _refuse(f"FROM names {named.name!r}, and this table is {table.name!r}", f'write FROM "{table.name}"')


def _groups(tree: Any, table: Table) -> list[str]:
    group = tree.args.get("group")
    if group is None:
        return []
    for key, value in group.args.items():
        if value and key != "expressions":
            _refuse(f"GROUP BY {key.upper()} is not supported", "name the columns to group by")
    return [_column(item, "GROUP BY", table) for item in group.expressions]


def _column(tree: Any, clause: str, table: Table) -> str:
    """The column that is meant: a declared one, without anything done to it."""
    if not isinstance(tree, sge.Column):
        _refuse(f"{clause} {tree.sql()} is not a column", "add one of declared range first, with derive()")
    if tree.name not in table.schema:
        _refuse(f"{clause} names {tree.name!r}, which is not in the schema", f"use one of {', '.join(table.schema)}")
    return str(tree.name)


def _selected(item: Any, groups: Sequence[str], table: Table) -> _Aggregate | None:
    """The aggregate that is selected; None for a column that rows are grouped by."""
    tree = item.this if isinstance(item, sge.Alias) else item
    if isinstance(tree, sge.Column):
        if isinstance(tree.this, sge.Star) or _column(tree, "SELECT", table) not in groups:
            _refuse(f"SELECT {tree.sql()} would show rows", f"group by it, and select one of {AGGREGATES}")
        return None
    if isinstance(tree, sge.Count) and not tree.expressions:
        plain = tree.this is None or isinstance(tree.this, (sge.Star, sge.Literal))
        return _Aggregate("count", None if plain else _column(tree.this, "COUNT of", table))
    if isinstance(tree, (sge.Sum, sge.Avg)):
        return _Aggregate(
            "sum" if isinstance(tree, sge.Sum) else "mean", _column(tree.this, f"{tree.key.upper()} of", table)
        )
    if isinstance(tree, sge.Median):
        return _Aggregate("quantile", _column(tree.this, "MEDIAN of", table), 0.5)
    if isinstance(tree, sge.WithinGroup) and isinstance(tree.this, (sge.PercentileCont, sge.PercentileDisc)):
        return _percentile(tree, table)
    return _refuse(f"SELECT {tree.sql()} is not supported", f"select one of {AGGREGATES}")


def _percentile(tree: Any, table: Table) -> _Aggregate:
    level, order = tree.this.this, tree.expression.expressions
    if not isinstance(level, sge.Literal) or level.is_string or len(order) != 1 or order[0].args.get("desc"):
        _refuse(f"SELECT {tree.sql()} is not supported", f"write {PERCENTILE}")
    return _Aggregate("quantile", _column(order[0].this, "ORDER BY", table), float(level.this))


def _question(aggregates: Sequence[_Aggregate], groups: Sequence[str], table: Table) -> Question[Any]:
    first = aggregates[0]
    if first.kind == "quantile" and all((a.kind, a.column) == ("quantile", first.column) for a in aggregates):
        if groups:
            _refuse("GROUP BY is not supported with quantiles", "partition the table, and ask each part")
        return table.ask_quantiles(str(first.column), sorted({a.level for a in aggregates if a.level is not None}))
    if len(aggregates) == 1:
        return _single(first, groups, table)
    if any(one.kind == "quantile" for one in aggregates):
        _refuse("SELECT has quantiles and other aggregates", "ask for the quantiles by themselves")
    names = [_name(one) for one in aggregates]
    if len(set(names)) < len(names):
        _refuse("SELECT has an aggregate twice", "ask for it once")
    return SeveralAggregates(table, names, [_single(one, groups, table) for one in aggregates], groups)


def _single(one: _Aggregate, groups: Sequence[str], table: Table) -> Question[Any]:
    """The question of one aggregate."""
    if one.kind == "count":
        if one.column is not None:
            named = one.column
            table = table.where(lambda form: form[named].notnull())
        return table.ask(*groups) if groups else table.ask_count()
    if len(groups) > 1:
        _refuse("GROUP BY several columns is supported only for COUNT", "group by one column")
    return table.ask_total(one.kind, str(one.column), groups[0] if groups else None)


def _name(one: _Aggregate) -> str:
    return one.kind if one.column is None else f"{one.kind} of {one.column}"


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise BadInput("sql", problem, remedy)


class SeveralAggregates(Question[Answers]):
    """Questions about the same groups, which share one price evenly."""

    def __init__(
        self, table: Table, names: Sequence[str], questions: Sequence[Question[Any]], groups: Sequence[str]
    ) -> None:
        self.table, self.names, self.questions, self.groups = table, names, questions, groups
        self.what = " and ".join(question.what for question in questions)

    def preview(self, *, epsilon: Any) -> NoReturn:
        problem = "several aggregates have errors in different units"
        raise BadInput("preview", problem, f"preview each by itself, at a share of 1/{len(self.questions)} of ε")

    def epsilon_within(self, within: Any) -> NoReturn:
        raise BadInput("within", "is for one aggregate", "say what all may cost together, epsilon=…")

    def _release(self, epsilon: Any) -> Answers:
        """If one fails after others were paid for, the exception has their answers as its attribute `answered`."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        price = Price.of(epsilon)
        self.table._budget.check(price)  # before the first is charged
        share = price.times(Fraction(1, len(self.questions)))
        for question in self.questions:
            if isinstance(question, SumOrMeanQuestion):  # counts can be answered wherever these can
                question.check(share)
        each: list[Answer] = []
        for question in self.questions:
            try:
                each.append(question.release(epsilon=share))
            except BaseException as failure:
                if each:  # they are paid for, and must not be lost
                    failure.answered = self._answers(each)  # type: ignore[attr-defined]
                    failure.add_note(
                        f"{len(each)} of {len(self.questions)} aggregates were released and charged before this: "
                        "they are the attribute `answered` of this exception."
                    )
                raise
        return self._answers(each)

    def _answers(self, each: Sequence[Answer]) -> Answers:
        return Answers.of(self.names[: len(each)], each, self.groups)
