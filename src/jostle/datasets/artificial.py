"""Labelled tables that are made up: public by construction, and as many as training needs.

They differ in what real ones differ in: how many records, attributes, values and classes there are, how even the values
are, and how the class depends on them: on one attribute, on a few jointly, on a sum over many, on a place among few
numbers, or on nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jostle.datasets.labelled import Labelled
from jostle.schema import Category, Column, Integer, Schema

SIGNALS: Final = (
    "one attribute",
    "an even sum",
    "a place",
    "a few jointly",
    "an uneven sum",
    "a sum and a few jointly",
    "a tree",
    "an even sum",
    "a place",
    "an uneven sum",
    "nothing",
)
"""How the class may depend on the attributes, in turn. Sums come more often: in most tables many attributes say a little."""

HELD_OUT: Final = 4_000
"""Records at the end to test with, however many there are to learn from."""

Codes = dict[str, NDArray[np.int64]]


def artificial(seed: int) -> Labelled:
    """A table by its number: the same number makes the same table everywhere.

    >>> table = artificial(3)
    >>> table.name, table.label, len(table) > 100
    ('artificial-3', 'class', True)
    """
    draw = np.random.default_rng([seed, 8])
    signal = SIGNALS[seed % len(SIGNALS)]
    records = int(10 ** draw.uniform(2.6, 4.2)) + HELD_OUT
    columns = _columns(draw, few_numbers=signal == "a place")
    codes = {name: _values(draw, column, records) for name, column in columns.items()}
    classes = int(draw.choice([2, 2, 2, 3, 4, 5]))
    scores = _SCORES[signal](draw, codes, columns, classes)
    scores += np.log(draw.dirichlet(np.full(classes, 4.0)))  # classes are not equally frequent
    labels = (scores + draw.gumbel(size=scores.shape) * draw.uniform(0.3, 2.5)).argmax(axis=1)
    schema = Schema(columns | {"class": Category(list(range(classes)))})
    # Codes are the values: categories are numbered, and numbers begin at 0.
    return Labelled(f"artificial-{seed}", schema, "class", {**codes, "class": labels})


def _columns(draw: np.random.Generator, *, few_numbers: bool) -> dict[str, Column]:
    """Attributes of a table are alike: mostly numbers or mostly categories, and with few values or many."""
    if few_numbers:
        return {f"x{i}": Integer(0, int(draw.choice([63, 99, 255]))) for i in range(int(draw.integers(1, 4)))}
    numbers, width = draw.choice([0.0, 0.2, 0.6, 0.9]), draw.uniform(0, 1)
    number = round(10 ** draw.uniform(0.5, 1.38))
    return {f"x{i}": _column(draw, numbers, width * draw.uniform(0.6, 1.0)) for i in range(number)}


def _column(draw: np.random.Generator, numbers: float, width: float) -> Column:
    if draw.uniform() < numbers:
        return Integer(0, int(draw.choice([9, 15, 40, 99])))
    return Category(list(range(round(2 * 10**width))))


def _values(draw: np.random.Generator, column: Column, records: int) -> NDArray[np.int64]:
    """Categories of uneven frequency; numbers from one hill or two."""
    if isinstance(column, Category):
        return draw.choice(column.values, size=records, p=draw.dirichlet(np.full(column.values, 1.5)))
    middles, widths = draw.uniform(0.1, 0.9, size=2), draw.uniform(0.05, 0.4, size=2)
    hill = draw.integers(0, 2, size=records)
    places = np.clip(draw.normal(middles[hill], widths[hill]), 0, 0.999999)
    return (places * column.values).astype(np.int64)


def _effects(draw: np.random.Generator, column: Column, classes: int) -> NDArray[np.float64]:
    """What each value adds to each class's score: at random for categories, along a curve for numbers."""
    if isinstance(column, Category):
        return draw.normal(size=(column.values, classes))
    at = np.linspace(-1, 1, column.values)[:, None]
    curve = draw.normal(size=(1, classes)) * at + draw.normal(size=(1, classes)) * at**2
    return np.asarray(1.5 * curve)


def _one(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    name = str(draw.choice(list(columns)))
    return 3 * _effects(draw, columns[name], classes)[codes[name]]


def _jointly(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    names = draw.choice(list(columns), size=min(len(columns), int(draw.integers(2, 5))), replace=False)
    cell = np.zeros(len(codes[names[0]]), dtype=np.int64)
    for name in names:
        bins = min(columns[name].values, 4)
        cell = cell * bins + codes[name] * bins // columns[name].values
    return 3 * draw.normal(size=(int(cell.max()) + 1, classes))[cell]


def _uneven_sum(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    return _sum(draw, codes, columns, classes, draw.exponential(size=len(columns)))


def _even_sum(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    return _sum(draw, codes, columns, classes, np.ones(len(columns)))


def _sum(
    draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    weights = weights * 3 / np.sqrt(len(columns))
    parts = [w * _effects(draw, columns[name], classes)[codes[name]] for w, name in zip(weights, columns, strict=True)]
    return np.asarray(sum(parts))


def _both(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    return _even_sum(draw, codes, columns, classes) + _jointly(draw, codes, columns, classes) / 2


def _place(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    """The nearest of a few points, each of which belongs to a class."""
    places = np.column_stack([codes[name] / columns[name].values for name in columns])
    points, owners = draw.uniform(size=(3 * classes, len(columns))), np.arange(3 * classes) % classes
    distances = ((places[:, None, :] - points) ** 2).sum(axis=2)
    return np.column_stack([-40 * distances[:, owners == c].min(axis=1) for c in range(classes)])


def _tree(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    """Five questions, one after the other, each on another attribute in every branch."""
    node = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
    for level in range(5):
        chosen = draw.choice(list(columns), size=2**level)
        answers = np.zeros(node.size, dtype=np.int64)
        for branch, name in enumerate(chosen):
            cut = draw.integers(0, columns[name].values)
            answers[node == branch] = (codes[name] > cut)[node == branch]
        node = 2 * node + answers
    return 3 * draw.normal(size=(2**5, classes))[node]


def _nothing(draw: np.random.Generator, codes: Codes, columns: dict[str, Column], classes: int) -> NDArray[np.float64]:
    return np.zeros((len(next(iter(codes.values()))), classes))


_SCORES: Final[dict[str, Callable[..., NDArray[np.float64]]]] = {
    "one attribute": _one,
    "a few jointly": _jointly,
    "an uneven sum": _uneven_sum,
    "an even sum": _even_sum,
    "a sum and a few jointly": _both,
    "a place": _place,
    "a tree": _tree,
    "nothing": _nothing,
}
