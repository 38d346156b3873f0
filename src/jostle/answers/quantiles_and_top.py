"""What can be read from a release of counts at no further cost: quantiles of a column, and the cells with most rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle import plots, workloads
from jostle.answers.answer import Answer, IntervalKind, labelled
from jostle.answers.release import Release
from jostle.kernel.partition import Counts, Vector
from jostle.linear.fitting.isotonic import isotonic
from jostle.schema import Integer, Numeric
from jostle.schema.rows import Rows, distinct_names
from jostle.simulate.margins import scaled_quantile

FEW_LEVELS = 5
"""No more quantiles than this are drawn as a box; more of them as a line."""


@dataclass(frozen=True, kw_only=True)
class ReadFromCounts(Answer):
    """What is read from a release of counts, at no further cost."""

    release: Release
    """The counts; further readings cost nothing."""

    @property
    def interval_kind(self) -> IntervalKind:
        return self.release.interval_kind


@dataclass(frozen=True, kw_only=True)
class Quantiles(ReadFromCounts):
    """Values below which given parts of the rows lie, read from one released distribution function."""

    column: str
    levels: tuple[float, ...]
    """The parts of the rows."""

    cells: Numeric
    """The cells that were counted."""

    @cached_property
    def values(self) -> Vector:
        """One value per level, rising with it."""
        return np.array([self._where(level) for level in self.levels])

    @cached_property
    def ends(self) -> tuple[Vector, Vector]:
        return self.ends_by(self.release.simulated_errors(workloads.prefix(self._sums.size)))

    def ends_by(self, errors: Vector) -> tuple[Vector, Vector]:
        """The ends of the first and of the last cell that may hold each quantile, by what is known of the sums.

        A quantile at level α lies in the one cell where P − αT passes 0. Wherever that is, P − αT is off by no more than its
        margin at the cell's two ends in 95 of 100 cases: each is passed on one side. Where in its cell a value lies is
        not known at all. The errors are those of sums over the first cells, one row per simulated run.
        """
        low, high = np.array([self._cells(level, errors) for level in self.levels]).T
        edges = np.asarray(self.cells.edges, dtype=np.float64)
        last = edges[high + 1] - 1 if isinstance(self.cells, Integer) else edges[high + 1]
        return np.minimum(edges[low], self.values), np.maximum(last, self.values)

    def _cells(self, level: float, errors: Vector) -> tuple[int, int]:
        """The first and the last cell that may hold a quantile."""
        off = scaled_quantile(np.abs(errors - level * errors[:, -1:]))
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
        """The value at which sums over the cells reach a part of the total: inside a cell of real numbers, evenly."""
        sums, at = self._sums, level * self._sums[-1]
        place = min(int(np.searchsorted(sums, at)), sums.size - 1)
        edges = self.cells.edges
        if isinstance(self.cells, Integer):
            return float(edges[place])
        below = sums[place - 1] if place else 0.0
        share = (at - below) / (sums[place] - below) if sums[place] > below else 0.5
        return float(edges[place] + (edges[place + 1] - edges[place]) * np.clip(share, 0, 1))

    def rows(self) -> Rows:
        """One row per level: its value, and the ends of its 95 % interval."""
        low, high = self.ends
        ends = {"low": low, "high": high}
        [name] = distinct_names([self.column], ["quantile", *ends])
        return labelled({}, {"quantile": self.levels, name: self.values, **ends})

    def _explained(self) -> str:
        read = ", ".join(f"{100 * level:g} % at {value:g}" for level, value in zip(self.levels, self.values, strict=True))
        by = self.release.algorithm.name
        return (
            f"Quantiles of {self.column} at {self._at}: {read}. All are read from one noisy distribution ({by}). {self._how}"
        )

    def rows_at_once(self) -> Rows:
        [name] = distinct_names([self.column], ["quantile"])
        return labelled({}, {"quantile": self.levels, name: self.values})

    def _drawn(self) -> Any:
        """On the column's axis: a box from the lowest to the highest, with a line and an interval for each."""
        low, high = self.ends
        title = plots.heading(f"quantiles of {self.column}")
        if len(self.values) > FEW_LEVELS:
            figure = plots.new(title, x="part of the rows", y=self.column)
            bars = {"array": high - self.values, "arrayminus": self.values - low, "thickness": 1.2}
            line = {"color": plots.ACCENT}
            return figure.add_scatter(x=self.levels, y=self.values, error_y=bars, mode="lines+markers", line=line)
        return plots.quantile_box(self.levels, self.values, low, high, title=title, x=self.column)

    def __repr__(self) -> str:
        return f"<Quantiles of {self.column} at {self._at}>"


@dataclass(frozen=True, kw_only=True)
class Top(ReadFromCounts):
    """The cells with the largest released counts. Those that noise has lifted are likelier to be among them."""

    k: int
    """How many cells."""

    per: tuple[str, ...] = ()
    """The columns of groups, if there are as many cells for each group."""

    @cached_property
    def places(self) -> Counts:
        """The cells by their released counts, the largest first; group after group."""
        order = np.argsort(-self.release.answers, kind="stable")
        groups = list(zip(*(self.release.about[name] for name in self.per), strict=True)) or [()] * len(order)
        found: dict[Any, list[int]] = {group: [] for group in groups}
        for place in order.tolist():
            found[groups[place]].append(place)
        return np.array([place for places in found.values() for place in places[: self.k]], dtype=np.int64)

    @cached_property
    def margins(self) -> Vector:
        """Half the width of a 95 % interval around each count.

        The largest noisy counts are often those that noise has lifted. So k of n intervals are such as would each hold in
        all but 0.05 k/n of cases: then at most 5 % of the selected ones miss, in the mean (Benjamini and Yekutieli 2005,
        theorem 1, for independent noise). No noise here has a longer tail than Laplace noise, for which they are wider by
        this factor. Estimates that were shrunk to what cells like them hold were not lifted, and keep their intervals.
        """
        margins, selected = self.release.margins[self.places], max(len(self.places), 1)
        if self.interval_kind != "exact":
            return margins
        return np.asarray(margins * (math.log(20 * len(self.release.answers) / selected) / math.log(20)))

    def rows(self) -> Rows:
        """One row per cell: its count, and the ends of its 95 % interval."""
        widened = self.release.margins.copy()
        widened[self.places] = self.margins
        return self.release.rows_within(widened).at(self.places)

    def _explained(self) -> str:
        each = f" for each {' and '.join(self.per)}" if self.per else ""
        return f"The {self.k if self.per else len(self.places)} largest counts{each}. {self.release._explained()}"

    def rows_at_once(self) -> Rows:
        return self.release.rows_at_once().at(self.places)

    def _drawn(self) -> Any:
        about = list(zip(*self.release.about.values(), strict=True))
        labels = [", ".join(about[place]) for place in self.places]
        title = plots.heading(f"the {len(self.places)} most frequent of {' and '.join(self.release.about)}")
        return plots.bars(self.release.answers[self.places], self.margins, labels=labels, title=title)

    def __repr__(self) -> str:
        return f"<Top {self.k} of {' and '.join(self.release.about)} at {self._at}>"
