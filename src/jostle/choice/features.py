"""What a selector may ask about an input, what each answer costs and how noisy it is (Section 8.1 of the Pythia paper).

Selectors are trained at ε = 1. Another ε is reached by exchange (Section 6.3): the data are taken to be εx, so a feature
that grows with the counts is multiplied by ε, and so is its noise. The number of non-zero cells does not grow, and is not.
Where one person moves a histogram by more than one (by two under `replace`), ε is divided by that, as the noise is larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle.algorithms import TASKS
from jostle.algorithms.dawa import hilbert_line
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.statistics import NonZeroCells, PartitionCost, Scale, Statistic, TotalVariation
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.simulate.grid import WORKLOADS
from jostle.workloads import LENGTHS, Workload

PRICE = 1.0
"""What an interval costs in partitionality, in records at ε = 1: about the noise on its total."""

CLASSES: Final = MappingProxyType({TASKS[task]: kinds for task, kinds in WORKLOADS.items()})
"""The classes of workloads that selectors tell apart, by the number of dimensions."""

NEARLY_ALL = 0.8
"""A workload of rectangles is of a class if this share of its queries is; else it is mixed."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A number about an input: public, or a statistic of the kernel; a question that a choice may ask.

    Its values are at ε = 1: `rate` is the exchange rate of the budget.
    """

    name: str
    about: str
    """What it is, in words."""

    public: Callable[[Workload], float] | None = None
    """How it is read off the workload and its domain."""

    statistic: Callable[[float], Statistic] | None = None
    """The kernel's statistic behind a private feature, for an exchange rate."""

    exchanges: bool = False
    """Whether it grows with the counts, and so is multiplied by ε."""

    along_curve: bool = False
    """Whether it wants a line of cells: a grid is then laid out along Hilbert's curve."""

    @property
    def private(self) -> bool:
        """Whether it has to be paid for."""
        return self.statistic is not None

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float | None:
        """Its value where that is public: always for some, and the scale under `replace`."""
        if not isinstance(query, Workload):
            raise BadInput("informed_by", f"{self.name} is about workloads", "use a metafeature instead")
        if self.public is not None:
            return self.public(query)
        return None if self.name != "scale" or db.total is None else db.total * exchange_rate(epsilon, db.neighbours)

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """Some statistics are exact only on domains of moderate size."""
        if self.known(db, query, epsilon) is None:
            self._statistic(db.size, exchange_rate(epsilon, db.neighbours)).check(db.size)

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """The noisy value at a source.

        Privacy: one statistic of the kernel, calibrated to its lemma and paid for with the token.
        """
        line = db.reduce(hilbert_line((db.shape[0], db.shape[1]))) if self.along_curve and len(db.shape) == 2 else db
        rate = exchange_rate(epsilon, db.neighbours)
        noisy = float(line.statistic(self._statistic(db.size, rate), token))
        return noisy * rate if self.exchanges else noisy

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        return self.noise_scale(db.size, float(share), exchange_rate(epsilon, db.neighbours), db.neighbours)

    def value(self, x: Counts, workload: Workload, rate: float = 1.0) -> float:
        """The true value on public data.

        >>> from jostle import workloads
        >>> FEATURES["scale"].value(np.array([3, 0, 4]), workloads.identity(3), rate=0.5)
        3.5
        """
        if self.public is not None:
            return self.public(workload)
        statistic = self._statistic(x.size, rate)
        line = hilbert_line(x.shape).sums(x.reshape(-1)) if self.along_curve and x.ndim == 2 else x.reshape(-1)
        exact = statistic.value(np.asarray(line, dtype=np.int64)) / statistic.unit(x.size)
        return exact * rate if self.exchanges else exact

    def noise_scale(
        self, size: int, epsilon: float, rate: float = 1.0, neighbours: Neighbours | str = "add_remove"
    ) -> float:
        """The scale of its Laplace noise when ε is spent on it, in the units in which selectors see it.

        >>> FEATURES["scale"].noise_scale(100, epsilon=0.01), FEATURES["domain"].noise_scale(100, epsilon=0.01)
        (100.0, 0.0)
        """
        if self.statistic is None:
            return 0.0
        statistic = self._statistic(size, rate)
        moved = Neighbours.of(neighbours).sensitivity(*statistic.sensitivities(size))
        return float(moved) / statistic.unit(size) / epsilon * (rate if self.exchanges else 1.0)

    def _statistic(self, size: int, rate: float) -> Statistic:
        if self.statistic is None:
            raise PlanError(f"the feature {self.name} is public: there is nothing to measure")
        return self.statistic(max(rate, size * 2.0**-36))  # a smaller rate would ask for prices beyond what is exact


def exchange_rate(epsilon: Fraction, neighbours: Neighbours) -> float:
    """By what the counts are multiplied to reach ε = 1 under `add_remove`.

    >>> exchange_rate(Fraction(1, 2), Neighbours("replace"))
    0.25
    """
    return float(epsilon / neighbours.sensitivity(1, 2))


def workload_class(workload: Workload) -> str:
    """The class of workloads whose training serves this one: its own, else the one with queries of like length.

    On a line, cells (length 1) and prefixes (half the line) are distinguished at the geometric mean of their lengths. On a
    grid, a query is short, medium or long by its mean side, as in the paper; single cells are short on any grid.

    >>> from jostle import workloads
    >>> workload_class(workloads.prefix(64)), workload_class(workloads.all_ranges(64))
    ('prefix', 'prefix')
    >>> workload_class(workloads.identity((8, 8)))
    'short'
    """
    dimensions = len(workload.domain)
    if dimensions not in CLASSES:
        raise BadInput("workload", f"has {dimensions} dimensions", f"selectors are for {' or '.join(map(str, CLASSES))}")
    if workload.kind in CLASSES[dimensions]:
        return workload.kind
    cells = np.abs(workload.lengths)
    if dimensions == 1:
        return "identity" if float(cells.mean()) ** 2 < workload.shape[1] / 2 else "prefix"
    sides = np.where(cells <= 1, 0.0, np.sqrt(cells / workload.shape[1]))
    shares = {name: float(np.mean((low <= sides) & ((sides < high) | (high == 1)))) for name, (low, high) in LENGTHS.items()}
    found = max(shares, key=lambda name: shares[name])
    return found if shares[found] >= NEARLY_ALL else "mixed"


def _class_number(workload: Workload) -> float:
    return float(CLASSES[len(workload.domain)].index(workload_class(workload)))


FEATURES: Final = MappingProxyType(
    {
        feature.name: feature
        for feature in (
            Feature(name="workload", about="the class of the workload, by number", public=_class_number),
            Feature(name="queries", about="the number of queries", public=lambda w: float(w.shape[0])),
            Feature(
                name="length",
                about="the mean length of a query, as a share of the domain",
                public=lambda w: w.average_length / w.shape[1],
            ),
            Feature(name="domain", about="the number of cells", public=lambda w: float(w.shape[1])),
            Feature(name="scale", about="the number of records", statistic=lambda rate: Scale(), exchanges=True),
            Feature(name="nonzeros", about="the number of cells that are not empty", statistic=lambda rate: NonZeroCells()),
            Feature(
                name="variation",
                about="half the L1 distance from uniform counts of the same total",
                statistic=lambda rate: TotalVariation(),
                exchanges=True,
            ),
            Feature(
                name="partitionality",
                about="what the cheapest cut into intervals costs",
                statistic=lambda rate: PartitionCost(price=PRICE / rate),
                exchanges=True,
                along_curve=True,
            ),
        )
    }
)
"""All features by name."""
