"""SELECT statements as questions. Nothing of the text reaches an engine.

Privacy: a statement becomes steps on rows (WHERE, derived columns), aggregates that are measured at one price, and what is
computed from the released numbers, which is free. All three parts are checked before the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlglot.expressions as sge

from jostle.answers.previews import Preview
from jostle.answers.quantiles_and_top import Quantiles
from jostle.answers.release import Release
from jostle.answers.released_numbers import ReleasedNumber, ReleasedNumbers
from jostle.kernel.errors import BadInput
from jostle.schema import MISSING, Boolean, Column, Numeric, Text
from jostle.schema.rows import distinct_names
from jostle.tables.aggregate_calls import Measure
from jostle.tables.aggregates import Aggregate
from jostle.tables.derived_columns import GroupColumn, declared, group_column, value_column
from jostle.tables.post_processing import Figures, SelectAnswer
from jostle.tables.predicates import translated
from jostle.tables.private_keys import PRIVATE
from jostle.tables.question import Question
from jostle.tables.relations import Lookups, refuse
from jostle.tables.select_plan import SelectPlan, read

if TYPE_CHECKING:
    from jostle.tables.table import Table

LONGEST_NAME = 30
"""A derived column has the name of its alias if that is no longer: some engines cut long names off."""

LONGEST_QUOTE = 80
"""A message quotes at most this many characters of a statement."""

RANKED = ("quantile", "min", "max")
"""Aggregates that are read from a distribution function."""

EXTREMES = {"min": "MIN is the 1 % quantile", "max": "MAX is the 99 % quantile"}


def parse_select(
    text: Any, table: Table, lookups: Lookups | None = None, *, keys: str | None = None, keys_delta: Any = None
) -> SelectQuestion:
    """The question that a SELECT statement stands for."""
    if keys not in (None, PRIVATE):
        remedy = "pass keys='private', or leave it out: every cell of the columns has an answer"
        raise BadInput("keys", "must be 'private' for a statement", remedy)
    return SelectQuestion(table, read(text, table, lookups), keys, keys_delta)


class SelectQuestion(Question[SelectAnswer]):
    """A statement: one question about the table, and what is computed from its answer."""

    in_rho = True

    def __init__(self, table: Table, plan: SelectPlan, keys: str | None = None, keys_delta: Any = None) -> None:
        self.table, self.plan, self.keys = table, plan, keys
        rows = table
        for condition in plan.conditions:
            rows = _where(rows, condition)
        self._groups: list[GroupColumn] = []
        names = []
        for place, tree in enumerate(plan.groups):
            rows, name, made = _grouped(rows, tree, self._alias(f"k{place}"), named=keys is None)
            names.append(name)
            self._groups.append(made)
        self.names = names
        with _in_words_of_sql():
            self.asked, self._read = _asked(rows, names, plan.measures, keys=keys, keys_delta=keys_delta)
        self.what = self.asked.what
        private = keys is not None
        self._keys = [[]] * len(names) if private else _combined([one.values for one in self._groups])
        self._labels = [[]] * len(names) if private else _combined([one.labels for one in self._groups])
        plan.after.check([one.values[:1] for one in self._groups], len(plan.measures))

    def _alias(self, placeholder: str) -> str:
        """What the SELECT list calls a group."""
        items = self.plan.after.items
        return next((i.name for i in items if isinstance(i.tree, sge.Placeholder) and i.tree.this == placeholder), "")

    @property
    def about(self) -> dict[str, Sequence[str]]:
        """The labels of the answers, before rows are left out."""
        return dict(zip(self.names, self._labels, strict=True))

    @property
    def kind(self) -> Any:
        """What the single aggregate is, if there is one."""
        return self.plan.measures[0].kind if len(self.plan.measures) == 1 else None

    def preview(self, *, epsilon: Any, **more: Any) -> Preview:
        return self.asked.preview(epsilon=epsilon, **more)

    def epsilon_within(self, within: Any) -> Fraction:
        return self.asked.epsilon_within(within)

    def _release(self, epsilon: Any) -> SelectAnswer:
        answer = self.asked.release(epsilon=epsilon)
        values, ends = self._read(answer)
        labels, keys = self._labels, self._keys
        if self.keys is not None:  # which groups there are is known from the answer
            labels = [list(answer.labels[name]) for name in self.names]
            keys = [_values_of(made, found) for made, found in zip(self._groups, labels, strict=True)]
        figures = Figures(labels, keys, values, ends, getattr(answer, "ratio", lambda over, under: None))
        price = answer.price | {"notes": (*answer.notes, *self._notes)}
        return SelectAnswer(what=self.what, measured=answer, after=self.plan.after, figures=figures, **price)

    @property
    def _notes(self) -> tuple[str, ...]:
        kinds = dict.fromkeys(one.kind for one in self.plan.measures)
        extremes = [EXTREMES[kind] for kind in kinds if kind in EXTREMES]
        said = f"{' and '.join(extremes)}: the true one depends on a single row." if extremes else ""
        return (said,) if said else ()


def _values_of(made: GroupColumn, labels: Sequence[str]) -> list[Any]:
    """What some cells stand for, by their labels; a free text stands for itself."""
    if isinstance(made.column, Text):
        return [None if label == MISSING else label for label in labels]
    known = dict(zip(made.labels, made.values, strict=True))
    return [known[label] for label in labels]


def _combined(columns: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Per column, its entry in each combination, the last column's changing fastest."""
    total = 1
    for column in columns:
        total *= len(column)
    found, before = [], 1
    for column in columns:
        before *= len(column)
        each = total // before
        found.append([one for one in column for _ in range(each)] * (before // len(column)))
    return found


# ---------------------------------------------------------------------------------------------------------------- rows


def _where(rows: Table, condition: Any) -> Table:
    with _in_words_of_sql(f"WHERE {_short(condition)}"):
        return rows.where(lambda form: translated(condition, form, rows.schema))


@contextmanager
def _in_words_of_sql(place: str = "") -> Iterator[None]:
    """What Python's arguments are called is of no use to somebody who writes SQL: say where in the statement it is."""
    try:
        yield
    except BadInput as refused:
        if refused.argument in ("sql", "epsilon", "within", "rows", "keys", "keys_delta"):
            raise
        said = f"{place}: {refused.problem}" if place else f"{refused.argument} {refused.problem}"
        raise BadInput("sql", said, refused.remedy) from None


def _short(tree: Any) -> str:
    said = str(tree.sql(dialect="duckdb"))
    return said if len(said) <= LONGEST_QUOTE else f"{said[:LONGEST_QUOTE]}…"


def _derived(rows: Table, wanted: str, tree: Any, column: Column) -> tuple[Table, str]:
    """The table with one more column, and the name that it got."""
    unit = [rows.unit.column] if rows.unit else []
    taken = {name.lower() for name in (*rows.schema, *unit)}
    plain = wanted if wanted and len(wanted.encode()) <= LONGEST_NAME and wanted.isprintable() else "value"
    name, number = plain, 1
    while name.lower() in taken or name.lower().startswith("jostle_"):
        number += 1
        name = f"{plain.removeprefix('jostle_') or 'value'} {number}"
    with _in_words_of_sql(_short(tree)):
        return rows.derive(name, lambda form: translated(tree, form, rows.schema), column), name


def _grouped(rows: Table, tree: Any, alias: str, *, named: bool) -> tuple[Table, str, GroupColumn]:
    """The table with a column to group by, its name, and what its cells are called."""
    if isinstance(tree, sge.Column):
        if isinstance(rows.schema.get(tree.name), Text):
            if named:
                problem = f"GROUP BY {tree.name}: it is free text, which has no list of values"
                refuse(problem, 'pass keys="private" in an account with a δ, or declare its values')
            return rows, tree.name, GroupColumn(tree, rows.schema[tree.name], ("text",), ("text",))
        if tree.name in rows.schema:
            return rows, tree.name, declared(rows.schema, tree.name)
        refuse(
            f"GROUP BY {tree.name} would show one row per person: {tree.name!r} says whose row it is",
            f"count persons, COUNT(DISTINCT {tree.name}), by other columns",
        )
    _check_names(tree, rows)
    with _in_words_of_sql(f"GROUP BY {_short(tree)}"):
        made = group_column(tree, rows.schema)
    rows, name = _derived(rows, alias or _short(tree), made.value, made.column)
    return rows, name, made


def _check_names(tree: Any, rows: Table) -> None:
    for one in tree.find_all(sge.Column):
        if one.name not in rows.schema:
            refuse(
                f"{tree.sql()} uses {one.name!r}, which says whose row it is", f"count persons, COUNT(DISTINCT {one.name})"
            )


# ------------------------------------------------------------------------------------------------------------- measures

Reading = Callable[[Any], tuple[list[Any], Callable[[], list[tuple[Any, Any]]]]]
"""From an answer to the numbers of each aggregate, and a function for the ends of their intervals."""


def _asked(
    rows: Table, groups: Sequence[str], measures: Sequence[Measure], *, keys: str | None, keys_delta: Any
) -> tuple[Question[Any], Reading]:
    """One question for all aggregates, and how its answer is read."""
    for one in measures:
        for tree in (one.value, one.condition):
            if tree is not None and one.kind != "count_units":
                _check_names(tree, rows)
    first = measures[0]
    if len(measures) == 1 and first.kind in ("count", "count_units") and first.condition is not None:
        rows, first = _where(rows, first.condition), Measure(first.kind)
    if keys is None and len(measures) == 1 and first.kind == "count":
        return (rows.ask(*groups) if groups else rows.ask_count()), _read_single
    if keys is None and len(measures) == 1 and first.kind in ("sum", "mean") and len(groups) <= 1:
        rows, column = _value(rows, first)
        return rows.ask_total(first.kind, column, *groups), _read_single
    if not groups and _of_one_distribution(measures):
        rows, column = _value(rows, first)
        each = [_level_of(one) for one in measures]
        levels = sorted(set(each))
        return rows.ask_quantiles(column, levels), _read_levels([levels.index(level) for level in each])
    aggregates: dict[str, Aggregate] = {}
    for one in measures if len(measures) > 1 else [first]:
        rows, aggregate = _aggregate(rows, one)
        [name] = distinct_names([str(aggregate)], list(aggregates))
        aggregates[name] = aggregate
    return rows.ask_groups(groups, aggregates, keys=keys, keys_delta=keys_delta), _read_groups(list(aggregates))


def _of_one_distribution(measures: Sequence[Measure]) -> bool:
    """Whether all are quantiles of one column."""
    first = measures[0]
    return all(one.kind in RANKED and (one.value, one.condition) == (first.value, first.condition) for one in measures)


def _level_of(one: Measure) -> float:
    return float(Aggregate(one.kind, "", one.level).level or 0.5)


def _aggregate(rows: Table, one: Measure) -> tuple[Table, Aggregate]:
    """An aggregate over a column of the table, which is derived where it has to be."""
    if one.kind == "count_units":
        if one.condition is not None:
            problem = "COUNT(DISTINCT …) of some rows stands beside other aggregates"
            refuse(problem, "ask for it in a statement of its own, with the condition after WHERE")
        return rows, Aggregate("count_units")
    if one.kind == "count":
        if one.condition is None:
            return rows, Aggregate("count")
        column = _not_null(one.condition)
        if column is not None and column in rows.schema:
            return rows, Aggregate("count", column)
        case = sge.Case(ifs=[sge.If(this=one.condition.copy(), true=sge.Literal.number(1))], default=sge.Literal.number(0))
        rows, name = _derived(rows, _short(one.condition), case, value_column(case, rows.schema))
        return rows, Aggregate("sum", name)
    rows, name = _value(rows, one)
    return rows, Aggregate(one.kind, name, one.level, one.ddof)


def _not_null(condition: Any) -> str | None:
    """The column of a condition that says no more than that it has a value."""
    inner = condition.this if isinstance(condition, sge.Not) else None
    if isinstance(inner, sge.Is) and isinstance(inner.expression, sge.Null) and isinstance(inner.this, sge.Column):
        return str(inner.this.name)
    return None


def _value(rows: Table, one: Measure) -> tuple[Table, str]:
    """The column with the value to aggregate: a declared one as it is, everything else derived."""
    tree = one.value
    if isinstance(tree, sge.Column) and one.condition is None and isinstance(rows.schema[tree.name], Numeric):
        return rows, str(tree.name)
    if isinstance(tree, sge.Column) and isinstance(rows.schema[tree.name], Boolean):
        no = sge.Not(this=tree.copy())
        tree = sge.Case(
            ifs=[sge.If(this=tree.copy(), true=sge.Literal.number(1)), sge.If(this=no, true=sge.Literal.number(0))]
        )
    elif isinstance(tree, sge.Column) and not isinstance(rows.schema[tree.name], Numeric):
        refuse(f"{tree.name!r} is not declared as numbers", "aggregate a column that is an Integer or a Real")
    if one.condition is not None:
        tree = sge.Case(ifs=[sge.If(this=one.condition.copy(), true=tree.copy())])
    with _in_words_of_sql(_short(tree)):
        column = value_column(tree, rows.schema)
    return _derived(rows, _short(tree), tree, column)


# -------------------------------------------------------------------------------------------------------------- answers


def _read_single(
    answer: Release | ReleasedNumber | ReleasedNumbers,
) -> tuple[list[Any], Callable[[], list[tuple[Any, Any]]]]:
    values = np.asarray([answer.value] if isinstance(answer, ReleasedNumber) else answer.answers)

    def ends() -> list[tuple[Any, Any]]:
        off = np.asarray([answer.margin] if isinstance(answer, ReleasedNumber) else answer.margins)
        between = (-np.inf, np.inf) if isinstance(answer, Release) else answer.between
        return [(np.clip(values - off, *between), np.clip(values + off, *between))]

    return [values], ends


def _read_levels(levels: Sequence[int]) -> Reading:
    def reading(answer: Quantiles) -> tuple[list[Any], Callable[[], list[tuple[Any, Any]]]]:
        def ends() -> list[tuple[Any, Any]]:
            low, high = answer.ends
            return [([low[level]], [high[level]]) for level in levels]

        return [[answer.values[level]] for level in levels], ends

    return reading


def _read_groups(names: Sequence[str]) -> Reading:
    def reading(answer: Any) -> tuple[list[Any], Callable[[], list[tuple[Any, Any]]]]:
        return [answer.values[name] for name in names], lambda: [tuple(answer.ends[name]) for name in names]

    return reading
