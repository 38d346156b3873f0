"""From an attribute's cells to the numbers that a linear model multiplies: public tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jostle.kernel.partition import Counts
from jostle.learn.cells import coarse, width
from jostle.learn.registry import FloatArray
from jostle.learn.regression.task import is_ordered, middles
from jostle.learn.task import Task, once_per_task

FINEST = 64
"""The most cells of a numeric attribute: what is lost by taking the middle of a cell is far less than noise."""

MOST = 200
"""The most coefficients. With more, the attributes with the most are left out."""


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """The numbers of one attribute, all from −1 to 1: one row per bin, one column per coefficient."""

    attribute: str
    bins: Counts
    """The bin of each of the attribute's cells."""

    matrix: FloatArray
    labels: tuple[str, ...]
    """What each column stands for."""

    centre: float = 0.0
    half: float = 1.0
    """A number x of an ordered attribute is in the first column as (x − centre) / half."""


@once_per_task
def linear_features(task: Task, finest: int = FINEST) -> dict[str, LinearFeatures]:
    """The attributes that fit, each with its features; an ordered one has at most `finest` bins.

    An ordered attribute has one for its number; a category one for each value but the first. Values that the schema does
    not name share one more.

    >>> from jostle.schema import Category, Integer, Real
    >>> columns = {"size": Integer(0, 2), "kind": Category(["a", "b"]), "pay": Real(0, 1, bins=8)}
    >>> from jostle.learn.regression.task import RegressionTask
    >>> found = linear_features(RegressionTask.over(columns, "pay"))
    >>> found["size"].labels, found["size"].matrix.tolist(), found["kind"].labels
    (('size', 'size: not known'), [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ('kind = b', 'kind: not known'))
    """
    made = {name: _features(task, name, finest) for name in task.attributes}
    kept = sorted(made, key=lambda name: len(made[name].labels))
    while kept and sum(len(made[name].labels) for name in kept) > MOST:
        kept.pop()
    return {name: made[name] for name in task.attributes if name in kept}


def _features(task: Task, name: str, finest: int) -> LinearFeatures:
    column, known = task.columns[name], task.known(name)
    if not is_ordered(column):
        bins = coarse(task, name, known)
        labels = [f"{name} = {label}" for label in column.labels[1:known]]
        return LinearFeatures(name, bins, np.eye(width(bins))[:, 1:], (*labels, *_unnamed(name, width(bins) - known)))
    bins = _ordered_bins(task.sizes[name], known, finest)
    numbers = middles(column)
    count = int(bins[known - 1]) + 1
    mean = np.bincount(bins[:known], numbers, count) / np.bincount(bins[:known], minlength=count)
    centre, half = (numbers[0] + numbers[-1]) / 2, max((numbers[-1] - numbers[0]) / 2, 1e-300)
    matrix = np.zeros((width(bins), 1 + width(bins) - count))
    matrix[:count, 0] = (mean - centre) / half
    matrix[count:, 1:] = np.eye(width(bins) - count)
    return LinearFeatures(name, bins, matrix, (name, *_unnamed(name, width(bins) - count)), float(centre), float(half))


def _ordered_bins(size: int, known: int, finest: int) -> Counts:
    """At most `finest` bins of neighbouring cells, and one for values that the schema does not name."""
    table = np.arange(size, dtype=np.int64)
    table[:known] = table[:known] * min(finest, known) // known
    table[known:] = min(finest, known)
    return table


def _unnamed(name: str, count: int) -> list[str]:
    return [f"{name}: not known"] * count


def offsets(features: Mapping[str, LinearFeatures]) -> dict[str, slice]:
    """Where each attribute's coefficients stand, after the constant."""
    found, at = {}, 1
    for name, one in features.items():
        found[name] = slice(at, at + len(one.labels))
        at += len(one.labels)
    return found
