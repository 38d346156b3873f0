"""What can be read from a release of counts at no further cost: quantiles of a column, and the cells with most rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import algorithms, plots, workloads
from jostle.answers.release import Release, in_ledger, labelled
from jostle.kernel.budget import round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.linear.fitting.isotonic import isotonic
from jostle.schema import Integer, Numeric, Real
from jostle.schema.names import apart
from jostle.workloads import Workload

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.events import Event
    from jostle.schema.rows import Rows

FINE = 4096
"""Quantiles are looked for among at most so many cells between the bounds."""


class Digest(ABC):
    """Post-processing of a release, with the release behind it."""

    release: Release
    """The counts that it was read from; further readings cost nothing."""

    @property
    def spent(self) -> Fraction:
        """The ε that it was charged."""
        return self.release.spent

    @property
    def remaining(self) -> Fraction:
        """The ε that is left after it."""
        return self.release.remaining

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change without it being noticed."""
        return self.release.neighbours

    @property
    def charges(self) -> tuple[Event, ...]:
        """The events of the ledger that paid for it."""
        return self.release.charges

    @abstractmethod
    def rows(self) -> Rows:
        """What was read, with the ends of 95 % intervals."""

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    @abstractmethod
    def explain(self) -> str:
        """The release in words."""

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())


@dataclass(frozen=True, kw_only=True)
class Quantiles(Digest):
    """Values below which given parts of the rows lie, read from one released distribution function."""

    column: str
    """Of which column."""

    levels: tuple[float, ...]
    """Which parts."""

    cells: Numeric
    """The cells that were counted."""

    release: Release

    @cached_property
    def values(self) -> Vector:
        """One value for each part, rising with it."""
        return np.array([self._where(level) for level in self.levels])

    @cached_property
    def _ends(self) -> tuple[Vector, Vector]:
        """The ends of the first and of the last cell that may hold each quantile, by what is known of the sums.

        A quantile at level α lies in the one cell where P − αT passes 0. Wherever that is, P − αT is off by no more than its
        margin at the cell's two ends in 95 of 100 cases: each is passed on one side alone. Where in its cell a value lies is
        not known at all.
        """
        errors = self.release.simulated_errors(workloads.prefix(self._sums.size))
        low, high = np.array([self._cells(level, errors) for level in self.levels]).T
        edges = np.asarray(self.cells.edges, dtype=np.float64)
        last = edges[high + 1] - 1 if isinstance(self.cells, Integer) else edges[high + 1]
        return np.minimum(edges[low], self.values), np.maximum(last, self.values)

    def _cells(self, level: float, errors: Vector) -> tuple[int, int]:
        """The first and the last cell that may hold a quantile."""
        off = np.quantile(np.abs(errors - level * errors[:, -1:]), 0.95, axis=0)
        above = self._sums - level * self._sums[-1]
        begun, ended = above[:-1] - off[:-1] <= 0, above[:-1] + off[:-1] >= 0
        first = int(np.argmax(ended)) if ended.any() else ended.size
        last = ended.size - int(np.argmax(begun[::-1])) if begun.any() else 0
        return first, max(first, last)

    @cached_property
    def _sums(self) -> Vector:
        """The released distribution function as one that does not fall, between 0 and the total as it was released.

        Were the total one of the sums that are fitted, it would be drawn up by noise below it: the last value of an
        isotonic fit is the largest mean of some last sums.
        """
        sums = np.cumsum(self.release.estimate)
        total = max(float(sums[-1]), 0.0)
        return np.append(isotonic(sums[:-1], lower=0.0, upper=total), total)

    def _where(self, level: float) -> float:
        """The point at which sums over the cells reach a part of the last: inside a cell of real numbers, evenly."""
        sums, at = self._sums, level * self._sums[-1]
        place = min(int(np.searchsorted(sums, at)), sums.size - 1)
        edges = self.cells.edges
        if isinstance(self.cells, Integer):
            return float(edges[place])
        below = sums[place - 1] if place else 0.0
        share = (at - below) / (sums[place] - below) if sums[place] > below else 0.5
        return float(edges[place] + (edges[place + 1] - edges[place]) * np.clip(share, 0, 1))

    def rows(self) -> Rows:
        """Each part, its value, and the ends of its 95 % interval."""
        low, high = self._ends
        ends = {"low": low, "high": high}
        [name] = apart([self.column], ["quantile", *ends])
        return labelled({}, {"quantile": self.levels, name: self.values, **ends})

    def explain(self) -> str:
        """The release in words."""
        read = ", ".join(f"{level:g}: {value:g}" for level, value in zip(self.levels, self.values, strict=True))
        return f"Quantiles of {self.column} are {read}; all from one distribution function. {self.release.explain()}"

    def plot(self) -> Any:
        """The values with their 95 % intervals, as a Plotly figure."""
        low, high = self._ends
        title = f"Quantiles of {self.column}, ε = {round_up(self.spent):g}"
        figure = plots.new(title, x="part of the rows", y=self.column)
        bars = {"array": high - self.values, "arrayminus": self.values - low, "thickness": 1.2}
        return figure.add_scatter(x=self.levels, y=self.values, error_y=bars, mode="markers", marker={"color": plots.ACCENT})

    def __repr__(self) -> str:
        return f"<Quantiles of {self.column} at ε = {round_up(self.spent):g}>"


@dataclass(frozen=True, kw_only=True)
class Top(Digest):
    """The cells with the largest released counts. Those that noise has lifted are likelier to be among them."""

    k: int
    """How many."""

    release: Release

    @cached_property
    def places(self) -> Counts:
        """Which cells, by their released counts, the largest first."""
        return np.argsort(-self.release.answers, kind="stable")[: self.k]

    def rows(self) -> Rows:
        """The cells, their counts, and the ends of 95 % intervals."""
        return self.release.rows().at(self.places)

    def explain(self) -> str:
        """The release in words."""
        return f"The {len(self.places)} largest of these: {self.release.explain()}"

    def plot(self) -> Any:
        """Bars with their 95 % intervals, as a Plotly figure."""
        about = list(zip(*self.release.about.values(), strict=True))
        labels = [", ".join(about[place]) for place in self.places]
        title = f"The largest of {' and '.join(self.release.about)}, ε = {round_up(self.spent):g}"
        return plots.bars(self.release.answers[self.places], self.release.margins[self.places], labels=labels, title=title)

    def __repr__(self) -> str:
        return f"<Top {self.k} of {' and '.join(self.release.about)} at ε = {round_up(self.spent):g}>"


def check_levels(levels: Any) -> tuple[float, ...]:
    """Parts strictly between 0 and 1, one or several, rising."""
    try:
        told = tuple(float(level) for level in (levels if isinstance(levels, (Sequence, np.ndarray)) else [levels]))
    except (TypeError, ValueError, OverflowError):
        told = ()
    if not told or any(not 0 < level < 1 for level in told) or any(np.diff(told) <= 0):
        raise BadInput("levels", "must be numbers between 0 and 1 that rise", "pass for instance [0.25, 0.5, 0.75]")
    return told


def fine_cells(column: Numeric) -> Numeric:
    """The same range in up to 4,096 cells, with every value between the bounds in one of them."""
    if isinstance(column, Integer):
        return Integer(column.low, column.high, bins=FINE if column.high - column.low >= FINE else None)
    return Real(float(column.low), float(column.high), bins=FINE)


def quantile_workload(cells: int, algorithm: str | None = None) -> Workload:
    """What is asked of the cells for quantiles: ranks, of what is measured the same on all data; else prefixes.

    Algorithms whose error depends on the data were made, and selectors were trained, for prefixes.

    >>> quantile_workload(8), quantile_workload(8, "DAWA")
    (<ranks: 23 queries over 8>, <prefix: 8 queries over 8>)
    """
    if algorithm is not None and algorithms.get(algorithm).data_dependent:
        return workloads.prefix(cells)
    return workloads.ranks(cells)
