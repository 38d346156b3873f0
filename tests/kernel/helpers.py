"""What the kernel's tests share: an engine that writes down what it is asked, all neighbours, and tests of distributions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from jostle.kernel.functions import expressions as terms
from jostle.kernel.functions.statistics import (
    Derived,
    LargestCell,
    NonZeroCells,
    PartitionCost,
    Scale,
    Statistic,
    TotalVariation,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import PrivateData, SimulatedSource
from jostle.kernel.strategies import (
    Strategy,
    blocks,
    boxes,
    grid,
    hierarchy,
    identity,
    matrix,
    prefix,
    residual,
    stack,
    total,
    wavelet,
)

FLUKE = 1e-9
"""A comparison of distributions fails by chance with this probability. There are fewer than a hundred of them in all."""

RELATIONS = [
    Neighbours("add_remove"),
    Neighbours("replace"),
    Neighbours("add_remove", rows=3),
    Neighbours("replace", rows=3),
    Neighbours("replace", part=True),
    Neighbours("replace", rows=3, part=True),
]


@dataclass
class Recorder:
    """An engine without noise, which keeps the scales that it was asked for and what they were for."""

    asked: list[tuple[str, Any, Any]] = field(default_factory=list)
    trials: int | None = None

    @property
    def scales(self) -> list[Any]:
        return [scale for _, scale, _ in self.asked]

    @property
    def values(self) -> list[Any]:
        return [values for _, _, values in self.asked]

    def discrete_laplace(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        self.asked.append(("discrete_laplace", scale, values.copy()))
        return values.copy()

    def discrete_gaussian(self, values: np.ndarray, square: Fraction) -> np.ndarray:
        self.asked.append(("discrete_gaussian", square, values.copy()))
        return values.copy()

    def gumbel_max(self, scores: np.ndarray, scale: Fraction) -> int:
        self.asked.append(("gumbel_max", scale, scores.copy()))
        return int(np.argmax(scores))

    def geometric(self, size: int, scale: Fraction) -> np.ndarray:
        self.asked.append(("geometric", scale, size))
        return np.zeros(size, dtype=np.int64)

    def noisy_max(self, scores: np.ndarray, scale: Fraction) -> int:
        self.asked.append(("noisy_max", scale, scores.copy()))
        return int(np.argmax(scores))

    def laplace(self, values: np.ndarray, sensitivity: Fraction, epsilon: Fraction) -> np.ndarray:
        self.asked.append(("laplace", sensitivity / epsilon, values.copy()))
        return values.copy()

    def below(self, bound: int) -> int:
        self.asked.append(("below", bound, None))
        return bound // 2

    def outcome(self, law: str, how: Any, private: Any, draw: Callable[[], Any]) -> Any:
        return draw()


def with_custody(source: PrivateData, **changed: Any) -> None:
    """Put other noise or another purse behind a source or records, past what hides them."""
    for kind in type(source).__mro__:
        name = f"_{kind.__name__}__custody"
        if hasattr(source, name):
            setattr(source, name, replace(getattr(source, name), **changed))


def recorded(x: Any, neighbours: Neighbours | str = "add_remove", **options: Any) -> tuple[SimulatedSource, Recorder]:
    """A source whose engine is a recorder."""
    source, recorder = SimulatedSource(x, seed=0, neighbours=neighbours, **options), Recorder()
    with_custody(source, noise=recorder)
    return source, recorder


def one_more(x: np.ndarray) -> Iterator[np.ndarray]:
    """x with one record more, in each cell in turn."""
    for cell in range(x.size):
        more = x.copy()
        more[cell] += 1
        yield more


def one_changed(x: np.ndarray) -> Iterator[np.ndarray]:
    """x with one record moved, from and to each cell in turn."""
    for source in np.flatnonzero(x):
        for target in range(x.size):
            if source != target:
                changed = x.copy()
                changed[source] -= 1
                changed[target] += 1
                yield changed


def small_vectors(cells: int, largest: int) -> Iterator[np.ndarray]:
    """Every vector of so many cells with counts from 0 to the largest."""
    for counts in itertools.product(range(largest + 1), repeat=cells):
        yield np.array(counts, dtype=np.int64)


def furthest(statistic: Statistic, cells: int, largest: int) -> tuple[int, int]:
    """How far one record moves it: added or removed, replaced; over all vectors with such counts."""
    value = {tuple(x): statistic.value(x) for x in small_vectors(cells, largest + 1)}
    added = changed = 0
    for x in small_vectors(cells, largest):
        here = value[tuple(x)]
        added = max(added, *(abs(value[tuple(other)] - here) for other in one_more(x)))
        changed = max(changed, *(abs(value[tuple(other)] - here) for other in one_changed(x)), 0)
    return added, changed


def all_strategies(size: int = 8) -> dict[str, Strategy]:
    """One strategy of every kind over a line of cells."""
    halves = Partition.intervals([0, size // 2], size)
    return {
        "identity": identity(size),
        "total": total(size),
        "prefix": prefix(size),
        "blocks": blocks(halves),
        "grid": grid(size, 2),
        "boxes": boxes(size, [[0], [1], [0]], [[2], [size], [size]]),
        "whole matrix": matrix(np.vander(np.arange(size) % 3, 3).T - 1),
        "real matrix": matrix(np.linspace(-1, 1.3, 2 * size).reshape(2, size)),
        "stack": stack(identity(size), total(size), hierarchy(size, 2), weights=[1, 2, 5]),
        "uneven stack": stack(prefix(size), wavelet(size), weights=[0.3, 1]),
        "hierarchy": hierarchy(size, 2),
        "weighted hierarchy": hierarchy(size, 3, root=False, weights=[1, 1.7]),
        "wavelet": wavelet(size),
        "residual": residual((2, size // 2), kept=[0, 1], centred=[1]),
    }


def group_deviation(partition: Partition, ddof: int = 0) -> Derived:
    """The standard deviation of the totals of groups of cells."""
    totals = terms.grouped(terms.cells(partition.labels.size), partition)
    return Derived(terms.length(totals, centred=True, divisor=partition.groups - ddof), f"deviation of groups, ddof {ddof}")


def all_statistics(size: int = 8) -> list[Statistic]:
    """One of every kind, with groups and prices that differ."""
    thirds = Partition.of(np.arange(size) % 3)
    return [
        Scale(),
        NonZeroCells(),
        LargestCell(),
        TotalVariation(),
        group_deviation(thirds),
        group_deviation(thirds, ddof=1),
        PartitionCost(price=1.5),
    ]


def fits(observed: np.ndarray, expected: np.ndarray, least: float = 30.0) -> bool:
    """Whether counts fit expected counts, by a chi-square test over classes that are merged until each expects enough."""
    seen, due = [0.0], [0.0]
    for count, want in zip(observed, expected, strict=True):
        if due[-1] >= least:
            seen.append(0.0)
            due.append(0.0)
        seen[-1] += count
        due[-1] += want
    if len(due) > 1 and due[-1] < least:
        last_seen, last_due = seen.pop(), due.pop()
        seen[-1] += last_seen
        due[-1] += last_due
    if len(due) == 1:
        return True
    statistic = sum((count - want) ** 2 / want for count, want in zip(seen, due, strict=True))
    return bool(stats.chi2.sf(statistic, len(due) - 1) > FLUKE)


def fit_each_other(first: np.ndarray, second: np.ndarray, classes: int = 60) -> bool:
    """Whether two samples of numbers may come from one distribution, by a chi-square test over common classes."""
    cuts = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, classes + 1)[1:-1]))
    table = np.array([np.bincount(np.searchsorted(cuts, sample), minlength=cuts.size + 1) for sample in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    return bool(stats.chi2_contingency(table).pvalue > FLUKE)
