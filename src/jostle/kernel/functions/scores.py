"""Private numbers of which the best is to be found: one per candidate, with a lemma that bounds how one record moves them.

A score's `sensitivities` bound how far two candidates' numbers may move apart: a noisy maximum is calibrated to that. If
all of them move in the same direction it is half of what one would need otherwise.
Proofs: docs/proofs/statistics.md; tests/kernel/test_statistics.py tries them on random neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from jostle.kernel.arguments import LARGEST_TOTAL, check_whole
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.statistics import check_price
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies.base import Strategy, check_measurable


class Score(ABC):
    """One private number per candidate, of which the best is to be found."""

    @property
    def name(self) -> str:
        """What the ledger calls it; public facts only."""
        return type(self).__name__

    @abstractmethod
    def sensitivities(self) -> tuple[int, int]:
        """How far one record moves two candidates' scores apart at most: added or removed, replaced."""

    @abstractmethod
    def values(self, x: Counts) -> Counts:
        """The true scores: for operators only."""

    @abstractmethod
    def check(self, size: int, candidates: int) -> None:
        """Raise if it does not fit the domain and the candidates."""


@final
@dataclass(frozen=True, eq=False)
class QueryScore(Score):
    """The answer to each query of a strategy: the candidate that counts most.

    >>> from jostle.kernel.strategies.cells import identity
    >>> QueryScore(identity(3)).sensitivities()
    (1, 2)
    """

    queries: Strategy
    """One row per candidate."""

    def sensitivities(self) -> tuple[int, int]:
        """A record adds one column to the scores, whose entries lie within the strategy's bounds."""
        low, high = self.queries.bounds
        return high - low, 2 * (high - low)

    def values(self, x: Counts) -> Counts:
        return np.asarray(self.queries.apply(x))

    def check(self, size: int, candidates: int) -> None:
        _check_queries(self.queries, size, candidates)


@final
@dataclass(frozen=True, eq=False)
class QueryDistance(Score):
    """How far each query's answer is from a public estimate of it: the candidate that is known worst (MWEM's choice).

    >>> from jostle.kernel.strategies.cells import identity
    >>> QueryDistance(identity(3), np.array([1.0, 2.0, 3.0]), grain=1).sensitivities()
    (2, 2)
    """

    queries: Strategy
    """One row per candidate."""

    estimates: Vector
    """What each query is believed to answer."""

    grain: int = 2**10
    """Estimates are rounded to this fraction of the strategy's unit; a public choice."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "grain", check_whole(self.grain, "grain", "leave it out", least=1, most=2**20))

    def sensitivities(self) -> tuple[int, int]:
        """Each distance moves up or down as far as its answer does, so two of them move apart twice as far."""
        low, high = self.queries.bounds
        return 2 * max(-low, high) * self.grain, 2 * (high - low) * self.grain

    def values(self, x: Counts) -> Counts:
        """Distances from the rounded estimates, in exact integers."""
        rounded = np.round(np.asarray(self.estimates) * (self.queries.unit * self.grain)).astype(np.int64)
        return np.abs(np.asarray(self.queries.apply(x)) * self.grain - rounded)

    def check(self, size: int, candidates: int) -> None:
        _check_queries(self.queries, size, candidates)
        if np.shape(self.estimates) != (self.queries.rows,) or not np.isfinite(self.estimates).all():
            raise BadInput("estimates", f"must be {self.queries.rows} finite numbers", "pass one estimate per query")
        low, high = self.queries.bounds
        if max(np.abs(self.estimates).max() * self.queries.unit, max(-low, high) * LARGEST_TOTAL) * self.grain > 2**61:
            raise BadInput("estimates", "are too large to be compared exactly", "clip them to the possible counts")


@final
@dataclass(frozen=True)
class SplitScore(Score):
    """Where to cut a line of cells in two: how many records are on the wrong side of the cut, if all cells were alike.

    Candidate 0 is not to cut; it scores the price, a public number. Candidate c cuts before cell c; it scores |S_c − S·c/k|,
    where S_c is the sum of the first c of k cells and S that of all, in units of 1/k.

    >>> SplitScore(cells=4, price=1.5).values(np.array([0, 0, 4, 4])).tolist()
    [6, 8, 16, 8]
    """

    cells: int
    """The number of cells of the line."""

    price: float
    """What a cut has to be worth, in records."""

    def sensitivities(self) -> tuple[int, int]:
        """A record in cell i moves score c by k − c if c > i, else by c, up or down; a replaced one by at most k."""
        k = self.cells
        return (0, 0) if k == 1 else (2 * k - 3, k if k == 2 else 2 * k)

    def values(self, x: Counts) -> Counts:
        sums = np.cumsum(x)
        wrong = np.abs(self.cells * sums[:-1] - np.arange(1, self.cells) * sums[-1])
        return np.concatenate([[round(self.price * self.cells)], wrong])

    def check(self, size: int, candidates: int) -> None:
        if type(self.cells) is not int or not size == candidates == self.cells:
            raise BadInput(
                "candidates", f"must be one for each of {size} cells: no cut, or a cut before cell c", "pass range(cells)"
            )
        check_price(self.price, size)
        if size * LARGEST_TOTAL > 2**62:
            raise BadInput("cells", f"must be at most {2**62 // LARGEST_TOTAL}", "reduce the domain first")


def _check_queries(queries: Strategy, size: int, candidates: int) -> None:
    check_measurable(queries)
    if queries.size != size or queries.rows != candidates:
        raise BadInput(
            "queries", f"have {queries.rows} rows over {queries.size} cells, not {candidates} over {size}", "make them fit"
        )
