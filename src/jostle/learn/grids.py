"""A grid over at most three numeric attributes, smoothed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import LARGEST_VECTOR, Records
from jostle.learn.cells import NoisyClasses, binned, coarse, derive_bins, known_total, measure
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import FloatArray, IntArray, check_number, learner
from jostle.learn.smoothing import weights_beyond
from jostle.learn.task import Task

MOST_AXES = 3
"""More attributes would have too many cells."""

DENSITY = 15.0
"""A grid has DENSITY · √(records · ε) cells: more are noisier, fewer are coarser.

Made-up tables do better with fewer, public pixels' colours with a few more.
"""

WIDTHS = tuple(0.25 * 2 ** (step / 4) for step in range(15))
"""The widths of the Gaussian filter to choose among, in cells."""

WIDER = 1.6
"""The filter is this many times wider than the width of least squared error: which class leads changes more slowly.

On made-up tables, values from 1.3 to 2 make little difference.
"""

LARGEST = 2**16
"""The most cells of a grid."""


@dataclass(frozen=True)
class GridModel:
    """Noisy leads or counts of the classes on a grid, interpolated linearly between the middles of its cells."""

    attributes: tuple[str, ...]

    values: tuple[int, ...]
    """The number of cells of each attribute for values that the schema names: the axis runs over these."""

    levels: FloatArray
    """One grid for each class: the larger, the likelier."""

    scale: float
    """Of the noise on a cell."""

    beyond: float = -1.0
    """Of two classes: how many records are beyond the leads, per weight (`weights_beyond`); below 0 if that is not known."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The levels at each record's place, as odds. Values that the schema does not name lie at the axis' upper end."""
        from scipy.ndimage import map_coordinates

        places = [
            (np.minimum(codes[name], values - 1) + 0.5) * bins / values - 0.5
            for name, values, bins in zip(self.attributes, self.values, self.levels.shape[1:], strict=True)
        ]
        found = np.array([map_coordinates(level, places, order=1, mode="nearest") for level in self.levels])
        if self.beyond >= 0:
            sizes = np.abs(found[1]) + self.scale / 4 + self.beyond * weights_beyond(found[1], self.scale / 2)
            second = 0.5 + 0.5 * found[1] / sizes
            return np.column_stack([1 - second, second])
        found /= self.scale
        odds = np.exp(np.clip(found - found.max(axis=0), -30, 0))
        return np.asarray((odds / odds.sum(axis=0)).T)

    def describe(self) -> str:
        cells = " × ".join(map(str, self.levels.shape[1:]))
        return f"A smoothed grid of {cells} cells over {', '.join(self.attributes)}."


def fits(task: Task) -> bool:
    """Whether a task can have a grid: few attributes, all of them numeric."""
    return len(task.attributes) <= MOST_AXES and all(task.is_numeric(name) for name in task.attributes)


@learner(name="Grid", cite="qardaji2013differentially", version=3)
def grid(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    density: float = DENSITY,
    smoothing: float | None = None,
    total: float | None = None,
) -> GridModel:
    """The classes on a regular grid whose fineness follows from records times ε, as in uniform grids for points on a map.

    Privacy: a noisy number of records (3 % of the budget) unless one that was paid for is given, and one Laplace measurement
    of the grid's cells with the rest. The cells follow from the schema and from the noisy number; smoothing, as wide
    as the noisy cells suggest, is post-processing.
    """
    check_number("density", density, 2.0**-20, LARGEST)
    if smoothing is not None:
        check_number("smoothing", smoothing, 0.0, LARGEST)
    if not fits(task):
        raise BadInput("learner", f"a grid is for at most {MOST_AXES} numeric attributes", "use Joint, or let one be chosen")
    total, rest = known_total(records, budget, total)
    cells = min(LARGEST, density * np.sqrt(total * rest.rate))
    shape = _shape(task, max(2, round(cells ** (1 / len(task.attributes)))))
    tables = {name: coarse(task, name, bins) for name, bins in zip(task.attributes, shape, strict=True)}
    measured = measure(derive_bins(records, tables), [*map(binned, tables)], task.label, rest)
    levels = _smoothed(measured, shape, records.sizes[task.label], smoothing)
    beyond = -1.0
    if len(levels) == 2:
        weights, left = weights_beyond(levels[1], measured.scale), max(total - float(np.abs(levels[1]).sum()), 0.0)
        beyond = left / max(float(weights.sum()), 1.0)
    return GridModel(
        attributes=task.attributes,
        values=tuple(task.known(name) for name in task.attributes),
        levels=levels,
        scale=2 * measured.scale,
        beyond=beyond,
    )


def _shape(task: Task, bins: int) -> tuple[int, ...]:
    """The bins of each axis: `bins`, or fewer where their combinations with the classes would be too many to count.

    >>> from jostle.schema import Category, Integer
    >>> columns = {"x": Integer(0, 999), "y": Integer(0, 99), "class": Category(list(range(4_000)))}
    >>> _shape(Task.over(columns, "class"), 150), _shape(Task.over(columns, "class"), 256)
    ((150, 100), (165, 100))
    """
    while True:
        shape = tuple(min(bins, task.known(name)) for name in task.attributes)
        if bins <= 2 or prod(width + 1 for width in shape) * len(task.classes) <= LARGEST_VECTOR:
            return shape
        bins = min(bins, max(shape)) - 1


def _smoothed(measured: NoisyClasses, shape: tuple[int, ...], classes: int, width: float | None) -> FloatArray:
    """One smoothed grid per class, without the last bins, which are for values that the schema does not name."""
    noisy = np.column_stack([-measured.noisy, measured.noisy]) if classes == 2 else measured.noisy
    whole = noisy.reshape(*(bins + 1 for bins in shape), classes)
    inside = np.moveaxis(whole[tuple(slice(bins) for bins in shape)], -1, 0)
    return _filtered(inside, _width(inside, 2 * measured.scale**2) * WIDER if width is None else width)


def _filtered(levels: FloatArray, width: float) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    return np.array([gaussian_filter(level, width, mode="nearest") for level in levels])


def _width(levels: FloatArray, variance: float) -> float:
    """The width of least squared error by Stein's unbiased estimate: computed only from released numbers.

    The estimate is the squared distance between noisy and smoothed levels, plus twice the noise's variance times the weights
    that cells keep of themselves.

    >>> noise = np.random.default_rng(0).laplace(size=(1, 20, 20))
    >>> _width(noise, 2.0) > _width(noise + 99 * (np.arange(20) > 9), 2.0)
    True
    """
    axes = levels.ndim - 1
    alone = np.zeros(2 * 4 * round(WIDTHS[-1]) + 3)
    alone[alone.size // 2] = 1.0
    kept = [float(_filtered(alone[None], width).max()) ** axes for width in WIDTHS]
    errors = [
        float(((_filtered(levels, width) - levels) ** 2).sum()) + 2 * variance * own * levels.size
        for width, own in zip(WIDTHS, kept, strict=True)
    ]
    return WIDTHS[int(np.argmin(errors))]


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateGrid(PrivateEstimator):
    """Predicts the class that prevails around a record, for at most three numeric attributes.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateGrid(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 5
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "Grid"

    density: float = DENSITY
    smoothing: float | None = None
