"""An additive model in a few steps: each looks where one attribute, or two, explain what is left, and adds their means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.functions.criteria import ClearMajority
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.kernel.strategies import Strategy, matrix
from jostle.learn.cells import coarse, width
from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.regression.effects import coordinates, smooth_effects
from jostle.learn.regression.task import RegressionTask, is_ordered
from jostle.learn.task import Task, once_per_task

LEVELS = 256
"""Predictions are on a grid of this many levels between the label's bounds."""

OF_RESIDUAL = 32
"""What is left of a record's number is sorted into this many cells."""

ALONE, BESIDE = 16, 8
"""The most bins of an ordered attribute that is looked at alone, and beside another."""

MOST_BINS = 256
"""An attribute, or two, with more bins are not looked at."""

MOST_PAIRS = 500
"""With more pairs of attributes, only single ones are looked at."""

FIRST_LOOK, CHOICE = 5, 30
"""Percent of the budget for the label's histogram; and of each step's for its choice."""

TAIL = 0.05
"""What is left of a record's number is clipped to the range between the label's outermost parts of this size."""

NARROWER = 0.7
"""After the first step, what is left is clipped to this part of the range."""

FOR_TWO, PER_STEP = 1_200.0, 5.0
"""Records times ε from which there are two steps, and pairs of attributes; and by which factor more for each doubling."""

TINY = 1e-9
"""Noise may have no variance: under `replace`, the count of a single cell is public."""

FIT, LEFT, SIGN, TARGET = "(fit)", "(left)", "(sign)", "(target)"


@dataclass(frozen=True, eq=False)
class AddedEffect:
    """What is added to a prediction, in levels, by the bins of one attribute or two."""

    attributes: tuple[str, ...]
    bins: tuple[Counts, ...]
    """The bin of each attribute's cells."""

    levels: Counts
    """Flat, the last attribute's bins changing fastest."""

    def of(self, codes: Mapping[str, IntArray]) -> Counts:
        """What each record gets."""
        place = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, table in zip(self.attributes, self.bins, strict=True):
            place = place * width(table) + table[codes[name]]
        return np.asarray(self.levels[place])


@dataclass(frozen=True, eq=False)
class StepsModel:
    """A level to begin with, and what steps add to it."""

    start: int
    steps: tuple[AddedEffect, ...]
    bounds: tuple[float, float]

    def predict(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """A number for each record."""
        level = np.full(len(next(iter(codes.values()))), self.start)
        for step in self.steps:
            level = np.clip(level + step.of(codes), 0, LEVELS - 1)
        low, high = self.bounds
        return np.asarray(low + (high - low) * level / (LEVELS - 1))

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The predicted numbers, as one column."""
        return np.reshape(self.predict(codes), (-1, 1))

    def describe(self) -> str:
        named = ", ".join(" × ".join(step.attributes) for step in self.steps)
        return f"An additive model of means in bins: {named}."


def stepwise(records: Records, task: RegressionTask, budget: Budget, *, steps: int | None = None) -> StepsModel:
    """Means in bins of one attribute or two, one after the other, each of what those before it leave unexplained.

    Privacy: one histogram of the label (5 % of the budget). Then in each step one choice among attributes and pairs of them,
    by how well their bins tell apart whether what is left is above zero, and one measurement: per bin the sums of what is
    left, scaled to [0, 1], and of one minus it, so that a record adds 1 in all. What is left follows from public tables and
    from what was measured before, and so does the number of steps. The tokens add up to the budget.
    """
    low, high = task.bounds
    grid = np.round((task.targets - low) / max(high - low, 1e-300) * (LEVELS - 1)).astype(np.int64)
    records = records.derive(TARGET, [task.label], grid)
    look, rest = budget.split(FIRST_LOOK, 100 - FIRST_LOOK)
    start, half, total = _first_look(records, grid, look)
    candidates = _candidates(task)
    count = steps or steps_for(total * rest.rate / float(records.neighbours.sensitivity(1, 2)))
    for (name, bins), table in _tables(task).items():
        records = records.derive(_key(name, bins), [name], table)
    records = records.derive(FIT, [TARGET], np.full(width(grid), start, dtype=np.int64))
    if not candidates:
        return StepsModel(start, (), task.bounds)
    offered = [one for one in candidates if count > 1 or len(one) == 1] or candidates
    found: list[AddedEffect] = []
    for number, token in enumerate(rest.split_evenly(count)):
        choosing, measuring = token.split(CHOICE, 100 - CHOICE)
        range_now = max(1, round(half * (NARROWER if number else 1.0)))
        step, records = _one_step(records, task, offered, range_now, choosing, measuring)
        found.append(step)
    return StepsModel(start, tuple(found), task.bounds)


def steps_for(signal: float) -> int:
    """How many steps pay, given records times ε.

    >>> [steps_for(signal) for signal in (100, 1_200, 6_000, 1e9)]
    [1, 2, 4, 16]
    """
    if signal < FOR_TWO:
        return 1
    return int(min(16, 2 ** (1 + math.floor(math.log(signal / FOR_TWO, PER_STEP) + 1e-9))))


def _first_look(records: Records, grid: Counts, token: Budget) -> tuple[int, float, float]:
    """The label's median, half the range that matters, both in levels; and about how many records there are."""
    vector = records.vector(TARGET)
    levels = np.arange(vector.size) // 4  # enough to see where the middle is
    noisy = np.maximum(vector.measure(matrix(np.eye(int(levels.max()) + 1)[levels].T), token), 0.0)
    share = np.cumsum(noisy) / max(float(noisy.sum()), 1e-300)
    low, middle, high = (4 * int(np.searchsorted(share, at)) + 1 for at in (TAIL, 0.5, 1 - TAIL))
    return min(middle, LEVELS - 1), max((high - low) / 2, 8.0), float(noisy.sum())


def _tables(task: Task) -> dict[tuple[str, int], Counts]:
    """The bins of each attribute that has few enough, alone and beside another."""
    found = {}
    for name in task.attributes:
        for bins in (ALONE, BESIDE):
            table = coarse(task, name, bins)
            if is_ordered(task.columns[name]) and not task.is_numeric(name):
                table = np.minimum(np.arange(task.sizes[name]) * bins // task.known(name), bins)  # days
            if width(table) <= MOST_BINS:
                found[name, bins] = table
    return found


@once_per_task
def _candidates(task: Task) -> list[tuple[str, ...]]:
    tables = _tables(task)
    names = [name for name in task.attributes if (name, ALONE) in tables]
    pairs = [
        pair
        for pair in combinations(names, 2)
        if all((name, BESIDE) in tables for name in pair)
        and math.prod(width(tables[name, BESIDE]) for name in pair) <= MOST_BINS
    ]
    return [*((name,) for name in names), *(pairs if len(pairs) <= MOST_PAIRS else [])]


def _one_step(
    records: Records,
    task: RegressionTask,
    offered: Sequence[tuple[str, ...]],
    half: int,
    choosing: Budget,
    measuring: Budget,
) -> tuple[AddedEffect, Records]:
    """One choice, one measurement, and the records with what is predicted so far."""
    left = np.arange(records.sizes[TARGET]) - np.arange(records.sizes[FIT])[:, None]
    cells = np.clip((left + half) * OF_RESIDUAL // (2 * half), 0, OF_RESIDUAL - 1)
    records = records.derive(LEFT, [FIT, TARGET], cells).derive(SIGN, [FIT, TARGET], (left > 0).astype(np.int64))
    splits = [_split(records, names) for names in offered]
    price = min(1.0 / measuring.rate, 50.0)
    (chosen,) = records.choose_each(splits, ClearMajority(price), choosing, label=SIGN)
    names, derived = offered[chosen], splits[chosen].attributes
    vector = records.vector(*derived, LEFT)
    strategy = _halves(vector.shape)
    above, below = vector.measure(strategy, measuring).reshape(-1, 2).T
    variance = 2 * max(vector.noise_variance(strategy, measuring), TINY)
    tables = _tables(task)
    used = tuple(tables[name, _finest(names)] for name in names)
    places = coordinates([task.columns[name] for name in names], used)
    effects = smooth_effects(half * (above - below), above + below, variance, half, places)
    levels = np.round(np.clip(effects, -half, half)).astype(np.int64)
    moved = np.clip(np.arange(records.sizes[FIT])[:, None] + levels, 0, LEVELS - 1)
    shaped = moved.reshape(records.sizes[FIT], *(width(table) for table in used))
    return AddedEffect(names, used, levels), records.derive(FIT, [FIT, *derived], shaped)


def _split(records: Records, names: tuple[str, ...]) -> Split:
    """By the bins of one attribute or two."""
    derived = [_key(name, _finest(names)) for name in names]
    return Split(derived[0], np.arange(math.prod(records.sizes[one] for one in derived)), tuple(derived[1:]))


def _halves(shape: tuple[int, ...]) -> Strategy:
    """Per bin the sum of what is left, scaled to [0, 1], and of one minus it: a record adds 1 in all."""
    from scipy.sparse import csr_array, eye_array, kron

    share = (np.arange(shape[-1]) + 0.5) / OF_RESIDUAL
    return matrix(kron(eye_array(math.prod(shape[:-1])), csr_array(np.stack([share, 1 - share]))), shape)


def _finest(names: tuple[str, ...]) -> int:
    return ALONE if len(names) == 1 else BESIDE


def _key(name: str, bins: int) -> str:
    return f"({name} in {bins} bins)"
