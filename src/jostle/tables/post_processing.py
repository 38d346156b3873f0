"""What a statement computes from released numbers: columns, HAVING, ORDER BY, LIMIT. Free, because no row is looked at.

Intervals go with the numbers, by interval arithmetic. Where an expression has several aggregates, the interval of each is
first widened from 95 % to 1 − 0.05 / k, for k of them, so that all hold together in 95 of 100 cases (union bound). The
factor ln(20 k) / ln 20 is that of Laplace noise, whose tail is the heaviest among the noises used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sqlglot.expressions as sge

from jostle import plots
from jostle.answers.answer import Answer
from jostle.kernel.errors import BadInput
from jostle.schema.rows import Rows, distinct_names
from jostle.tables.scalars import RISING, SCALARS, branches, evaluate, operands, simplified

Interval = tuple[float, float]


class Item(NamedTuple):
    """A column of the answer."""

    name: str
    tree: Any


class Order(NamedTuple):
    """What rows are sorted by."""

    tree: Any
    desc: bool
    nulls_first: bool


@dataclass(frozen=True)
class Figures:
    """Released numbers and the public keys of their groups: what a statement computes with."""

    labels: Sequence[Sequence[str]]
    """Per group column, what each group's cell is called."""

    keys: Sequence[Sequence[Any]]
    """Per group column, what each group's cell stands for."""

    values: Sequence[Any]
    """Per aggregate, its number in each group."""

    ends: Callable[[], Sequence[tuple[Any, Any]]]
    """Per aggregate, the ends of its 95 % intervals: asked for when they are needed, because they may be simulated."""

    ratios: Callable[[int, int], tuple[Any, Any] | None] = lambda over, under: None
    """The ends of the intervals of one aggregate over another, by the law of both together; None where it is not known."""

    def known(self, row: int) -> Callable[[Any], Any]:
        """What placeholders stand for in a group."""

        def found(placeholder: Any) -> Any:
            kind, number = placeholder.this[0], int(placeholder.this[1:])
            return self.keys[number][row] if kind == "k" else float(self.values[number][row])

        return found

    @property
    def groups(self) -> int:
        return len(self.values[0])


@dataclass(frozen=True)
class PostProcessing:
    """What is computed from released numbers."""

    items: tuple[Item, ...]
    having: tuple[Any, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False

    def check(self, keys: Sequence[Sequence[Any]], measures: int) -> None:
        """Refuse what cannot be computed, before anything is charged, by trying it on made-up numbers."""
        first = [column[:1] for column in keys]
        trial = Figures([list(map(str, one)) for one in first], first, [[1.5]] * measures, list)
        for tree in (*(one.tree for one in self.items), *self.having, *(one.tree for one in self.order)):
            try:
                evaluate(tree, trial.known(0))
            except (TypeError, ValueError, AttributeError, OverflowError):
                raise BadInput("sql", f"{_shown(tree)} makes no sense", "combine numbers with numbers") from None

    def rows_of(self, figures: Figures) -> list[int]:
        """The groups that the answer has, in its order: by released numbers."""
        every = range(figures.groups)
        places = [row for row in every if all(_value(one, figures, row) is True for one in self.having)]
        for one in reversed(self.order):
            values = {row: _value(one.tree, figures, row) for row in places}
            there = [row for row in places if values[row] is not None]
            empty = [row for row in places if values[row] is None]
            kinds = {isinstance(values[row], str) for row in there}
            there.sort(key=lambda row: str(values[row]) if len(kinds) > 1 else values[row], reverse=one.desc)
            places = [*empty, *there] if one.nulls_first else [*there, *empty]
        if self.distinct:
            seen = {tuple(_value(one.tree, figures, row) for one in self.items): row for row in reversed(places)}
            kept = set(seen.values())
            places = [row for row in places if row in kept]
        return places[self.offset : None if self.limit is None else self.offset + self.limit]

    def columns(self, figures: Figures, places: Sequence[int]) -> dict[str, list[Any]]:
        """The values of each column of the answer."""
        found: dict[str, list[Any]] = {}
        for name, item in zip(self.names, self.items, strict=True):
            if isinstance(item.tree, sge.Placeholder) and item.tree.this[0] == "k":
                labels = figures.labels[int(item.tree.this[1:])]
                found[name] = [labels[row] for row in places]
            elif isinstance(item.tree, sge.Placeholder):
                numbers = figures.values[int(item.tree.this[1:])]
                found[name] = [float(numbers[row]) for row in places]
            else:
                found[name] = [_value(item.tree, figures, row) for row in places]
        return found

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns, each once: the second of two equal numbers has a number, and a key gives way to a number."""
        numbers: list[str] = []
        for item in self.items:
            if _aggregates(item.tree):
                again = sum(1 for name in numbers if name.split(" #")[0] == item.name)
                numbers.append(f"{item.name} #{again + 1}" if again else item.name)
        keys: list[str] = []
        for item in self.items:
            if not _aggregates(item.tree):
                keys += distinct_names([item.name], [*numbers, *keys])
        left, right = iter(numbers), iter(keys)
        return [next(left if _aggregates(item.tree) else right) for item in self.items]

    def intervals(self, figures: Figures, places: Sequence[int]) -> dict[str, list[Interval]]:
        """The interval of each column that has aggregates, row by row; NaN where there is none."""
        ends = figures.ends()
        found = {}
        for name, item in zip(self.names, self.items, strict=True):
            used = {one.this for one in item.tree.find_all(sge.Placeholder) if one.this[0] == "a"}
            if used:
                ratio, division = _ratio(item.tree, figures) if len(used) == 2 else (None, None)
                widened = 1.0 if ratio else math.log(20 * len(used)) / math.log(20)
                how = (ends, widened, ratio, division)
                found[name] = [_interval(item.tree, figures, row, *how) or (math.nan, math.nan) for row in places]
        return {name: pairs for name, pairs in found.items() if not pairs or not all(map(math.isnan, sum(pairs, ())))}


def _shown(tree: Any) -> str:
    return str(tree.sql().replace(":", ""))


def _value(tree: Any, figures: Figures, row: int) -> Any:
    try:
        return evaluate(tree, figures.known(row))
    except (TypeError, ValueError, AttributeError, OverflowError):  # keys of other cells may be of another kind
        return None


def _ratio(tree: Any, figures: Figures) -> tuple[tuple[Any, Any] | None, Any]:
    """The intervals of the one division of two aggregates that the expression sees of them, and where it is."""
    seen = [one for one in tree.find_all(sge.Placeholder) if one.this[0] == "a"]
    divisions = [one for one in tree.find_all(sge.Div, sge.SafeDivide) if isinstance(_bare(one.this), sge.Placeholder)]
    parts = [_bare(side) for side in (divisions[0].this, divisions[0].expression)] if len(divisions) == 1 else []
    if len(seen) != 2 or len(parts) != 2 or not all(any(part is one for one in seen) for part in parts):
        return None, None
    return figures.ratios(*(int(part.this[1:]) for part in parts)), divisions[0]


def _bare(tree: Any) -> Any:
    """What stands in brackets, is cast, or is not to be 0."""
    while isinstance(tree, (sge.Paren, sge.Cast, sge.Nullif)):
        tree = tree.this
    return tree


def _interval(
    tree: Any,
    figures: Figures,
    row: int,
    ends: Sequence[Any],
    widened: float,
    ratio: tuple[Any, Any] | None = None,
    division: Any = None,
) -> Interval | None:
    """Between which numbers an expression of the true aggregates is, given between which they are; None if unknown."""
    if ratio is not None and tree is division:
        low, high = (float(end[row]) for end in ratio)
        return (low, high) if math.isfinite(low) and _value(tree, figures, row) is not None else None
    tree = simplified(tree)
    if isinstance(tree, sge.Placeholder):
        if tree.this[0] == "k":
            return _exact(figures.known(row)(tree))
        number = int(tree.this[1:])
        value, (low, high) = float(figures.values[number][row]), (float(end[row]) for end in ends[number])
        return value - widened * (value - low), value + widened * (high - value)
    if not any(one.this[0] == "a" for one in tree.find_all(sge.Placeholder)):
        return _exact(_value(tree, figures, row))

    def of(inner: Any) -> Interval | None:
        return _interval(inner, figures, row, ends, widened, ratio, division)

    if isinstance(tree, sge.Case):
        return _interval_of_case(tree, figures, row, of)
    if isinstance(tree, (sge.Paren, sge.Coalesce, sge.Nullif, sge.Cast)):
        return of(tree.this)
    if type(tree) not in SCALARS:
        return None
    each = [of(one) for one in operands(tree)]
    if None in each or _value(tree, figures, row) is None:
        return None
    return _combined(tree, [one for one in each if one is not None])


def _combined(tree: Any, each: Sequence[Interval]) -> Interval | None:
    try:
        if isinstance(tree, RISING):
            low, high = (SCALARS[type(tree)](end, *(one[0] for one in each[1:])) for end in each[0])
            return None if low is None or high is None else (float(low), float(high))
        if isinstance(tree, (sge.Div, sge.SafeDivide)) and each[1][0] <= 0 <= each[1][1]:
            return None
        if isinstance(tree, (sge.Add, sge.Sub, sge.Mul, sge.Div, sge.SafeDivide)):
            corners = [float(SCALARS[type(tree)](a, b)) for a in each[0] for b in each[1]]
            return min(corners), max(corners)
        if isinstance(tree, sge.Neg):
            return -each[0][1], -each[0][0]
        if isinstance(tree, (sge.Greatest, sge.Least)):
            work = SCALARS[type(tree)]
            return work(*(low for low, _ in each)), work(*(high for _, high in each))
        if isinstance(tree, sge.Abs):
            low, high = each[0]
            return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    except (TypeError, ValueError, OverflowError):
        return None
    return None


def _interval_of_case(tree: Any, figures: Figures, row: int, of: Callable[[Any], Interval | None]) -> Interval | None:
    """That of the branch taken, if public keys decide which one that is; else nobody knows which one the truth takes."""
    for condition, result in branches(tree):
        if condition is not None and any(one.this[0] == "a" for one in condition.find_all(sge.Placeholder)):
            return None
        if condition is None or _value(condition, figures, row) is True:
            return None if result is None else of(result)
    return None


def _exact(value: Any) -> Interval | None:
    return (float(value), float(value)) if type(value) in (int, float) else None


# -------------------------------------------------------------------------------------------------------------- answer


@dataclass(frozen=True, kw_only=True, repr=False)
class SelectAnswer(Answer):
    """The answer to a SELECT statement: its columns in their order, under their names."""

    what: str
    """What was measured, in words."""

    measured: Answer
    """What was released for it, with everything public about it."""

    after: PostProcessing
    """What was computed from that."""

    figures: Figures

    @cached_property
    def places(self) -> list[int]:
        """The groups in the answer, by their number among all groups."""
        return self.after.rows_of(self.figures)

    @cached_property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The values of each column of the SELECT list."""
        return self.after.columns(self.figures, self.places)

    @cached_property
    def intervals(self) -> Mapping[str, Sequence[Interval]]:
        """The 95 % interval of each number, where there is one."""
        return self.after.intervals(self.figures, self.places)

    @property
    def answers(self) -> Any:
        """The first column with released numbers."""
        return np.asarray(self.columns[self._first], dtype=np.float64)

    @property
    def margins(self) -> Any:
        """Half the width of the 95 % interval around each of these."""
        pairs = np.asarray(self.intervals.get(self._first, [(math.nan, math.nan)] * len(self.places)), dtype=np.float64)
        return np.abs(pairs.reshape(-1, 2) - self.answers[:, np.newaxis]).max(axis=1, initial=0.0)

    @property
    def _first(self) -> str:
        numbers = [n for n, one in zip(self.after.names, self.after.items, strict=True) if _aggregates(one.tree)]
        return (numbers or self.after.names)[0]

    def rows(self) -> Rows:
        """One row per group: the selected columns, each number followed by the ends of its 95 % interval."""
        return self._rows(self.intervals)

    def rows_at_once(self) -> Rows:
        return self._rows({})

    def _rows(self, intervals: Mapping[str, Sequence[Interval]]) -> Rows:
        found: dict[str, Any] = {}
        short = len(intervals) == 1 and not {"low", "high"} & set(self.columns)
        for name, values in self.columns.items():
            found[name] = [math.nan if v is None else v for v in values] if _numeric(values) else list(values)
            if name in intervals:
                ends = ["low", "high"] if short else distinct_names([f"{name}: low", f"{name}: high"], list(self.columns))
                for place, end in enumerate(ends):
                    found[end] = [pair[place] for pair in intervals[name]]
        return Rows(found)

    def _explained(self) -> str:
        return " ".join([self.measured._explained(), *self._said])

    @property
    def _said(self) -> list[str]:
        """Which columns have no interval, and what was done with the rows."""
        lost = [n for n, one in zip(self.after.names, self.after.items, strict=True) if _aggregates(one.tree)]
        lost = [name for name in lost if name not in self.intervals and self.places]
        said = [f"{', '.join(lost)}: without an interval, because none follows from those of its parts."] if lost else []
        if self.after.having or self.after.order or self.after.limit is not None:
            said.append("Rows are filtered and sorted by released numbers, which are noisy.")
        return said

    @property
    def _title(self) -> str:
        return self.measured._title

    @property
    def _method(self) -> tuple[str, ...]:
        return (*self._said, *self.measured._method)

    def _drawn(self) -> Any:
        """The first column of numbers with its 95 % intervals."""
        keys = [n for n, one in zip(self.after.names, self.after.items, strict=True) if not _aggregates(one.tree)]
        labels = [", ".join(str(self.columns[name][row]) for name in keys) or self._first for row in range(len(self.places))]
        figure = plots.bars(self.answers, self.margins, labels=labels, title=plots.heading(self.what), x=", ".join(keys))
        return figure.update_yaxes(title_text=self._first)

    def __repr__(self) -> str:
        return f"<SelectAnswer: {', '.join(self.after.names)}, at {self._at}>"


def _aggregates(tree: Any) -> bool:
    return any(one.this[0] == "a" for one in tree.find_all(sge.Placeholder))


def _numeric(values: Sequence[Any]) -> bool:
    there = [value for value in values if value is not None]
    return bool(there) and all(type(value) in (int, float) for value in there)
