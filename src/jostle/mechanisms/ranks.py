"""Medians and quantiles, by the exponential mechanism over the line: noise on the rank, not on the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import Noise
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import check_bounds, check_budget, column, listed
from jostle.mechanisms.sampling import exponential_scale, exponential_weights, jitter, pick_cell

_FINE = 2**24
_SPREAD = 16
_FINEST = 2**36
_DENOMINATOR = 2**16


def median(values: Any, *, bounds: tuple[float, float], budget: Budget, step: float | None = None, note: str = "") -> float:
    """A number with about half of the column's values below it: ε-differentially private.

    The same as `quantiles` at 1/2. A median that gets Laplace noise instead needs a scale of (high − low)/ε, whatever
    the data: one record may move it that far.

    See `utility.exponential_error` for error bars, which are in ranks: docs/mechanisms/quantiles.md.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> median(range(1001), bounds=(0, 10_000), step=1, budget=budget)
    500.0
    """
    return float(quantiles(values, [Fraction(1, 2)], bounds=bounds, budget=budget, step=step, note=note)[0])


def quantiles(
    values: Any,
    probabilities: Sequence[Any],
    *,
    bounds: tuple[float, float],
    budget: Budget,
    step: float | None = None,
    note: str = "",
) -> Vector:
    """For each probability α a number with about that part of the values below it: together ε-differentially private.

    Each is drawn by the exponential mechanism with the distance |rank − αn| as its score, which one record moves by at most
    max(α, 1 − α), and one replaced by at most 1. The middle one comes first, and cuts the values in two parts; the others
    are found in their own part. So ⌈log₂(k + 1)⌉ shares of ε are enough for k of them.

    Smith: Privacy-preserving statistical estimation with optimal convergence rates, STOC 2011; several
    quantiles: Kaplan, Schnapp, Stemmer: Differentially private approximate quantiles, ICML 2022.

    Values and answers are rounded to multiples of `step` above the lower bound: pass 1 for whole numbers. Without it,
    there are 2^24 steps. A finer step costs more where many values are equal: such a value must win against all others
    by its rank. Values outside of the bounds count as the nearer bound, NaN are left out. Answers never fall.

    See `utility.exponential_error` for error bars of each, which are in ranks: docs/mechanisms/quantiles.md.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> quantiles(range(1001), (0.25, 0.5, 0.75), bounds=(0, 10_000), step=1, budget=budget).tolist()
    [247.0, 497.0, 748.0]
    """
    private, (low, high), levels = column(values), check_bounds(bounds), _probabilities(probabilities)
    size = _step(step, low, high)
    depth = len(levels).bit_length()
    check_budget(budget)
    widest = reach(Fraction(1, _DENOMINATOR), budget.neighbours.in_part())
    parts = _parts(budget.neighbours.in_part())
    exponential_scale(widest, budget.pure / depth, parts)  # refuses what could not be drawn, before it is charged
    noise = budget.draw(operator="quantiles", note=note)
    known = np.clip(private[~np.isnan(private)], low, high)
    cells = np.rint((known - low) / size).astype(np.int64)
    # Equal values are spread over their cell at random, each on its own: so a cut leaves the right part on either side.
    ranked = np.sort((cells << _SPREAD) + jitter(cells.size, _SPREAD, noise))
    search = QuantileSearch(budget, depth, noise)
    search.find(ranked, levels, 0, (round((high - low) / size) + 1) << _SPREAD, budget.neighbours)
    return np.asarray(np.minimum(low + size * (np.array(search.found) >> _SPREAD), high))


@dataclass
class QuantileSearch:
    """Finds quantiles from the middle outwards, and collects them from left to right."""

    budget: Budget
    depth: int
    noise: Noise
    found: list[int] = field(default_factory=list)

    def find(self, ranked: Counts, levels: list[Fraction], start: int, stop: int, neighbours: Neighbours) -> None:
        """Find the quantiles of the values in these cells, start ≤ cell < stop. Both ends were released before."""
        if not levels:
            return
        if start >= stop:  # nothing is left between the last answer and the bound
            self.found += [start - 1] * len(levels)
            return
        middle = len(levels) // 2
        level = levels[middle]
        cell = self.draw(ranked, level.limit_denominator(_DENOMINATOR), start, stop, neighbours)
        cut = int(np.searchsorted(ranked, cell, side="right"))
        inner = neighbours.in_part()
        self.find(ranked[:cut], [left / level for left in levels[:middle]], start, cell + 1, inner)
        self.found.append(cell)
        self.find(ranked[cut:], [(right - level) / (1 - level) for right in levels[middle + 1 :]], cell + 1, stop, inner)

    def draw(self, ranked: Counts, level: Fraction, start: int, stop: int, neighbours: Neighbours) -> int:
        """Draw one cell by the exponential mechanism over the pieces between neighbouring values."""
        starts, lengths, weights = self.weighed(ranked, level, start, stop, neighbours)
        return int(pick_cell(starts, lengths, weights, self.noise))

    def weighed(
        self, ranked: Counts, level: Fraction, start: int, stop: int, neighbours: Neighbours
    ) -> tuple[Counts, Counts, Vector]:
        """The pieces' first cells, lengths and weights, with the share of ε of one round."""
        starts, lengths, gaps = pieces(ranked, level, start, stop)
        scale = _scale(level, neighbours, self.budget.pure, self.depth)
        return starts, lengths, exponential_weights(gaps, scale, lengths)


def pieces(ranked: Counts, level: Fraction, start: int, stop: int) -> tuple[Counts, Counts, Counts]:
    """Where the rank is constant: the first cell, the number of cells, and how much further |rank − αn| is than at best.

    The rank of a cell is how many values are in it or before it. Distances are in units of 1/denominator of a rank. A piece
    without cells is never drawn, so the best is sought among the others.

    >>> [part.tolist() for part in pieces(np.array([2, 5, 5]), Fraction(1, 2), 0, 10)]
    [[0, 2, 5, 5], [2, 3, 0, 5], [2, 0, 0, 2]]
    """
    edges = np.concatenate([[start], ranked, [stop]])
    ranks = np.arange(ranked.size + 1, dtype=np.int64)
    distances = np.abs(ranks * level.denominator - ranked.size * level.numerator)
    lengths = np.diff(edges)
    return edges[:-1], lengths, np.maximum(distances - distances[lengths > 0].min(), 0)


def reach(level: Fraction, neighbours: Neighbours) -> Fraction:
    """How far one person moves the distances of two cells apart, in units of 1/denominator of a rank.

    One record moves |rank − αn| by max(α, 1 − α), up here and down there; one that is replaced moves it by 1.

    >>> reach(Fraction(1, 4), Neighbours()), reach(Fraction(1, 4), Neighbours("replace"))
    (Fraction(6, 1), Fraction(8, 1))
    """
    most = max(level.numerator, level.denominator - level.numerator)
    return neighbours.sensitivity(2 * most, 2 * level.denominator)


@lru_cache(maxsize=1024)
def _scale(level: Fraction, neighbours: Neighbours, epsilon: Fraction, depth: int) -> Fraction:
    """The scale of one round's weights, which depends only on public numbers."""
    return exponential_scale(reach(level, neighbours), epsilon / depth, _parts(neighbours))


def _parts(neighbours: Neighbours) -> int:
    """How many parts of one round a person's records may be in; where they are replaced, before and after."""
    return neighbours.rows * (1 if neighbours.relation == "add_remove" else 2)


def _probabilities(probabilities: Sequence[Any]) -> list[Fraction]:
    levels = [exact(probability, "probabilities", zero=True) for probability in listed(probabilities, "probabilities")]
    rise = all(a < b for a, b in pairwise(levels))
    if not levels or not rise or levels[0] <= 0 or levels[-1] >= 1:
        raise BadInput("probabilities", "must rise, strictly between 0 and 1", "pass for instance (0.25, 0.5, 0.75)")
    return levels


def _step(step: float | None, low: float, high: float) -> float:
    try:
        size = (high - low) / _FINE if step is None else float(step)
    except (TypeError, ValueError, OverflowError):
        size = math.nan
    if not (math.isfinite(size) and 0 < size <= high - low):
        problem = f"must be a number above 0 and at most {high - low:g}"
        raise BadInput("step", problem, "pass 1 for whole numbers, or leave it out")
    if (high - low) / size > _FINEST:
        raise BadInput("step", f"is so fine that there are more than {_FINEST:,} multiples", "use a larger one")
    return size
