"""The states of a column: every value that rows may have in it, as far as conditions and cells can tell them apart.

Two questions are about the same rows only if their conditions keep the same states of the same columns. So conditions are
not compared as texts: each is worked out on every state. What cannot be worked out here is known by its exact expression,
and equals nothing else. All of this is public: it follows from the schema and the question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from jostle.kernel.partition import Counts
from jostle.schema import OTHER, Boolean, Category, Column, Date, Integer, Numeric
from jostle.schema.free_text import Text
from jostle.tables.view import Derive, InCell, View, Where

MOST_STATES = 2**15
"""Columns of more values are known by their cells only, and conditions on them by their expressions."""

LEFT_OUT = -1
"""In place of a cell: rows in this state are not counted."""

Kind = Literal["number", "text", "truth", "day"]


class Opaque(Exception):  # no error: it never leaves this package
    """A condition or a value that is not worked out here."""


@dataclass(frozen=True)
class Plain:
    """What conditions see, per state."""

    values: NDArray[Any]
    null: NDArray[np.bool_]
    kind: Kind

    @classmethod
    def of(cls, values: Sequence[Any], kind: Kind) -> Plain:
        null = np.array([one is None for one in values])
        blank: Any = {"number": 0.0, "text": "", "truth": False, "day": 0.0}[kind]
        types = {"number": np.float64, "text": object, "truth": np.bool_, "day": np.float64}
        return cls(np.array([blank if one is None else one for one in values], dtype=types[kind]), null, kind)


@dataclass(frozen=True)
class StateColumn:
    """A column as a function of the states of one root: its cell, and the value that conditions see."""

    root: str
    """What has the states: a column of the table, or an expression; by a digest."""

    key: str
    """What tells the values from those of other columns of the same root."""

    cells: Counts
    plain: Plain | None
    """None if only the cells are known."""

    @property
    def states(self) -> int:
        return len(self.cells)


def digest(*parts: object) -> str:
    """A name for what the parts are: different parts have different names."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, sort_keys=True).encode()).hexdigest()[:24]


# --------------------------------------------------------------------------------------------------------- columns


def declared_column(name: str, column: Column) -> StateColumn:
    """A column of the table. How its values are put into cells is no part of the root, so that other bins share it."""
    return _over(digest("column", name, _reading(column)), column)


def _reading(column: Column) -> dict[str, Any]:
    """How values of the table are read, apart from cells; with the cells, if values are known by these only."""
    said = {key: str(value) if isinstance(value, date) else value for key, value in column.to_dict().items()}
    if _plain_states(column) is not None:
        for key in ("bins", "outside", "null", "every", "spacing", "cuts"):
            said.pop(key, None)
    return said


def _over(root: str, column: Column) -> StateColumn:
    if isinstance(column, Text):  # it has no cells; conditions on it are known by their expressions
        return StateColumn(root, root, np.array([LEFT_OUT]), None)
    found = _plain_states(column)
    if found is None:  # by cells, then values outside, then nulls
        outside = [] if column.outside == "clip" else [column.other]
        listed = np.array([*range(column.values), *outside, column.absent], dtype=np.int64)
        return StateColumn(root, root, listed, None)
    plain, cells = found
    return StateColumn(root, root, cells, plain)


def _plain_states(column: Column) -> tuple[Plain, Counts] | None:
    """Every value, then those outside, then none: what conditions see of each, and its cell."""
    if isinstance(column, Category):
        cells = [*range(column.values), column.other, column.absent]
        return Plain.of([*column.names, OTHER, None], "text"), np.array(cells, dtype=np.int64)
    if isinstance(column, Boolean):
        cells = [0, 1, column.other, column.absent]
        return Plain.of([False, True, None, None], "truth"), np.array(cells, dtype=np.int64)
    if isinstance(column, Integer) and column.high - column.low < MOST_STATES:
        values: list[Any] = list(range(column.low, column.high + 1))
        return _between(column, values, [float(one) for one in values], "number")
    if isinstance(column, Date) and (column.high - column.low).days < MOST_STATES:
        ordinals = range(column.low.toordinal(), column.high.toordinal() + 1)
        return _between(column, [date.fromordinal(one) for one in ordinals], [float(one) for one in ordinals], "day")
    return None


def _between(column: Column, values: list[Any], seen: list[float], kind: Kind) -> tuple[Plain, Counts]:
    inside = column.encode(np.array(values, dtype=object))
    clipped = column.outside == "clip"
    beyond = [inside[0], inside[-1]] if clipped else [column.other] * 2
    cells = np.array([*inside, *beyond, column.absent], dtype=np.int64)
    return Plain.of([*seen, seen[0], seen[-1], None], kind), cells


def _placed(column: Column, plain: Plain) -> tuple[Plain | None, Counts]:
    """The cells of a derived column, and what conditions see of it, given its value in each state."""
    fits = {"number": Numeric, "day": Date, "truth": Boolean, "text": Category}[plain.kind]
    if not isinstance(column, fits) or column.missing:
        raise Opaque
    if isinstance(column, Category):
        if column.names != column.keys:  # numbers among the categories have other texts, too
            raise Opaque
        codes = {name: code for code, name in enumerate(column.names)}
        cells = np.array([codes.get(one, column.other) for one in plain.values.tolist()], dtype=np.int64)
        seen = [None if no else one if one in codes else OTHER for one, no in zip(plain.values, plain.null, strict=True)]
        return Plain.of(seen, "text"), np.where(plain.null, column.absent, cells)
    if isinstance(column, Boolean):
        return plain, np.where(plain.null, column.absent, plain.values.astype(np.int64))
    low, high = (float(one.toordinal() if isinstance(one, date) else one) for one in (column.low, column.high))
    inside = np.clip(plain.values, low, high)
    inside = np.floor(inside) if isinstance(column, Integer) else inside
    values = plain.values if plain.kind == "number" else [date.fromordinal(int(max(one, 1))) for one in plain.values]
    cells = column.encode(np.array(values, dtype=None if plain.kind == "number" else object))
    return Plain(inside, plain.null, plain.kind), np.where(plain.null, column.absent, cells)


# ------------------------------------------------------------------------------------------------------ expressions


def worked_out(node: Any, columns: Mapping[str, StateColumn]) -> tuple[str, Plain]:
    """The root that an expression is about, and its value in each state. Opaque if it is about several, or not known."""
    about = {field.name for field in node.find(ops.Field)}
    roots = {columns[name].root for name in about}
    if len(roots) != 1:
        raise Opaque
    size = columns[next(iter(about))].states
    return roots.pop(), _value(node, columns, size)


def _value(node: Any, columns: Mapping[str, StateColumn], size: int) -> Plain:
    if isinstance(node, ops.Alias):
        return _value(node.arg, columns, size)
    if isinstance(node, ops.Field):
        plain = columns[node.name].plain
        if plain is None:
            raise Opaque
        return plain
    if isinstance(node, ops.Literal):
        return _literal(node, size)
    known = _OPERATIONS.get(type(node))
    if known is None:
        raise Opaque
    return known(node, lambda one: _value(one, columns, size))


def _literal(node: Any, size: int) -> Plain:
    value = node.value
    if value is None:
        return Plain(np.zeros(size), np.ones(size, dtype=np.bool_), _kind_of(node.dtype))
    if isinstance(value, date) and type(value) is date:
        return Plain.of([float(value.toordinal())] * size, "day")
    if isinstance(value, (bool, np.bool_)):
        return Plain.of([bool(value)] * size, "truth")
    if isinstance(value, str):
        return Plain.of([value] * size, "text")
    if isinstance(value, (int, float)):
        return Plain.of([float(value)] * size, "number")
    raise Opaque


def _kind_of(dtype: Any) -> Kind:
    if dtype.is_boolean():
        return "truth"
    return "text" if dtype.is_string() else "day" if dtype.is_date() else "number"


Inner = Callable[[Any], Plain]


def _compared(compare: Callable[[Any, Any], Any], *, texts: bool) -> Callable[[Any, Inner], Plain]:
    def found(node: Any, value: Inner) -> Plain:
        return _compare(value(node.left), value(node.right), compare, texts=texts)

    return found


def _compare(one: Plain, other: Plain, compare: Callable[[Any, Any], Any], *, texts: bool) -> Plain:
    if one.kind != other.kind or (one.kind in ("text", "truth") and not texts):  # engines may sort texts by other rules
        raise Opaque
    return Plain(np.asarray(compare(one.values, other.values), dtype=np.bool_), one.null | other.null, "truth")


def _both(node: Any, value: Inner) -> Plain:
    one, other = value(node.left), value(node.right)
    yes, no = _is(one, True) & _is(other, True), _is(one, False) | _is(other, False)
    return Plain(yes, ~yes & ~no, "truth")


def _either(node: Any, value: Inner) -> Plain:
    one, other = value(node.left), value(node.right)
    yes, no = _is(one, True) | _is(other, True), _is(one, False) & _is(other, False)
    return Plain(yes, ~yes & ~no, "truth")


def _is(one: Plain, truth: bool) -> NDArray[np.bool_]:
    if one.kind != "truth":
        raise Opaque
    return np.asarray((one.values.astype(np.bool_) == truth) & ~one.null)


def _not(node: Any, value: Inner) -> Plain:
    one = value(node.arg)
    return Plain(_is(one, False), one.null, "truth")


def _is_null(node: Any, value: Inner) -> Plain:
    one = value(node.arg)
    return Plain(one.null, np.zeros(len(one.null), dtype=np.bool_), "truth")


def _not_null(node: Any, value: Inner) -> Plain:
    one = value(node.arg)
    return Plain(~one.null, np.zeros(len(one.null), dtype=np.bool_), "truth")


def _among(node: Any, value: Inner) -> Plain:
    one = value(node.value)
    each = [_compare(one, value(option), np.equal, texts=True) for option in node.options]
    if any(bool(option.null.any() and not one.null.any()) for option in each):  # a null among the options
        raise Opaque
    yes = np.logical_or.reduce([option.values & ~option.null for option in each])
    return Plain(yes, one.null, "truth")


def _in_between(node: Any, value: Inner) -> Plain:
    one, low, high = value(node.arg), value(node.lower_bound), value(node.upper_bound)
    above = _compare(one, low, np.greater_equal, texts=False)
    below = _compare(one, high, np.less_equal, texts=False)
    return Plain(above.values & below.values, above.null | below.null, "truth")


def _chosen(cases: Sequence[tuple[Plain, Plain]], default: Plain) -> Plain:
    kinds = {one.kind for _, one in cases if not one.null.all()} | ({default.kind} if not default.null.all() else set())
    if len(kinds) > 1:
        raise Opaque
    kind = kinds.pop() if kinds else default.kind
    values, null = default.values.astype(object), default.null.copy()
    for condition, result in reversed(cases):
        yes = _is(condition, True)
        values, null = np.where(yes, result.values.astype(object), values), np.where(yes, result.null, null)
    return Plain.of([None if no else one for one, no in zip(values.tolist(), null.tolist(), strict=True)], kind)


def _cases(node: Any, value: Inner) -> Plain:
    pairs = [(value(case), value(result)) for case, result in zip(node.cases, node.results, strict=True)]
    return _chosen(pairs, value(node.default))


def _if_else(node: Any, value: Inner) -> Plain:
    return _chosen([(value(node.bool_expr), value(node.true_expr))], value(node.false_null_expr))


def _day_part(read: Callable[[date], int]) -> Callable[[Any, Inner], Plain]:
    def found(node: Any, value: Inner) -> Plain:
        one = value(node.arg)
        if one.kind != "day":
            raise Opaque
        parts = [float(read(date.fromordinal(int(max(day, 1))))) for day in one.values]
        return Plain(np.array(parts), one.null, "number")

    return found


_OPERATIONS: dict[type, Callable[[Any, Inner], Plain]] = {
    ops.Equals: _compared(np.equal, texts=True),
    ops.NotEquals: _compared(np.not_equal, texts=True),
    ops.Less: _compared(np.less, texts=False),
    ops.LessEqual: _compared(np.less_equal, texts=False),
    ops.Greater: _compared(np.greater, texts=False),
    ops.GreaterEqual: _compared(np.greater_equal, texts=False),
    ops.Between: _in_between,
    ops.InValues: _among,
    ops.And: _both,
    ops.Or: _either,
    ops.Not: _not,
    ops.IsNull: _is_null,
    ops.NotNull: _not_null,
    ops.SearchedCase: _cases,
    ops.IfElse: _if_else,
    ops.ExtractYear: _day_part(lambda day: day.year),
    ops.ExtractMonth: _day_part(lambda day: day.month),
}
"""What is worked out here. Everything else, such as patterns and arithmetic, is known by its exact expression."""


def exact_text(node: Any, columns: Mapping[str, StateColumn]) -> str:
    """An expression as a text that no other expression has, over columns that are told apart by their keys."""

    def said(one: Any) -> Any:
        if isinstance(one, ops.Field):
            return ["column", columns[one.name].key]
        if isinstance(one, ops.Literal):
            return ["literal", str(one.dtype), type(one.value).__name__, repr(one.value)]
        if isinstance(one, ops.Node):
            return [type(one).__name__, *[said(part) for part in one.__args__]]
        if isinstance(one, (tuple, list)):
            return ["list", *map(said, one)]
        if one is None or isinstance(one, (str, int, float, bool)):
            return one
        return [type(one).__name__, repr(one)]

    return digest("expression", said(node))


# ------------------------------------------------------------------------------------------------------------ rows


@dataclass(frozen=True)
class KnownRows:
    """The columns of a view after all its steps, and which states of which roots its rows are in."""

    columns: Mapping[str, StateColumn]
    kept: Mapping[str, NDArray[np.bool_]]
    """Per root that conditions are about, the states that they keep; other roots keep all."""


def known_rows(view: View) -> KnownRows:
    """What the steps of a view do to its rows, state by state."""
    columns = {name: declared_column(name, column) for name, column in view.declared.items()}
    kept: dict[str, NDArray[np.bool_]] = {}

    def keep(root: str, states: NDArray[np.bool_]) -> None:
        kept[root] = states & kept.get(root, np.ones(len(states), dtype=np.bool_))

    for step in view.steps:
        if isinstance(step, Derive):
            columns[step.name] = derived_column(step, columns)
        elif isinstance(step, InCell):
            cells = columns[step.name].cells
            below = cells >= 0 if step.below is None else (cells >= 0) & (cells < step.below)
            keep(columns[step.name].root, below if step.cell is None else cells == step.cell)
        elif isinstance(step, Where):
            for part in conjuncts(step.condition):
                keep(*condition_states(part, columns))
        else:  # nothing is known of the rows after a step of another kind
            raise TypeError(f"a step that memory does not know: {type(step).__name__}")
    return KnownRows(columns, kept)


def conjuncts(node: Any) -> list[Any]:
    """A row for which all of them are true is one for which all together are."""
    if isinstance(node, ops.And):
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def condition_states(node: Any, columns: Mapping[str, StateColumn]) -> tuple[str, NDArray[np.bool_]]:
    """What a condition is about, and in which states of that it is true."""
    try:
        root, found = worked_out(node, columns)
        return root, _is(found, True)
    except Opaque:  # a column of its own, with two states: it is true, or it is not
        return digest("condition", exact_text(node, columns)), np.array([True, False])


def derived_column(step: Derive, columns: Mapping[str, StateColumn]) -> StateColumn:
    """A derived column, by the states of the one that it is computed from, or by its own."""
    try:
        root, found = worked_out(step.value, columns)
        plain, cells = _placed(step.column, found)
    except Opaque:
        said = {key: str(value) for key, value in step.column.to_dict().items()}
        return _over(digest("derived", exact_text(step.value, columns), said), step.column)
    seen = None if plain is None else [plain.kind, [*map(str, plain.values.tolist())], plain.null.tolist()]
    return StateColumn(root, digest("values", root, seen, cells.tolist()), cells, plain)
