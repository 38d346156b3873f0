"""From samples on two neighbours to a lower bound on ε: search an event on one part of them, measure it on the rest.

A pure ε-differentially private mechanism has P[E | x] ≤ e^ε P[E | x′] + δ for every event E. So every event gives a lower
bound, ln((P[E | x] − δ) / P[E | x′]). Which event is looked for with one half of the samples; what it proves is counted on
the other half, which had no part in choosing it, with Clopper and Pearson's exact bounds on both probabilities. Nothing is
assumed about the distributions, and however badly the search goes, the bound holds with its confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from jostle.kernel.partition import Vector

Score = Callable[[Vector], Vector]

THRESHOLDS = 96
"""How many thresholds of a score are tried."""

LIKELY = 0.3
"""A pair promises what its events would prove with this chance of failure: what a few samples prove with a much smaller one
is more a matter of how often an event is seen than of what it tells."""

_BINS = 24
_MOST_OUTCOMES = 4_096
_SMALLEST_SIDE = 8


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose score reaches a threshold, or those whose score does not."""

    name: str
    """What the score looks at."""

    score: Score
    """From outputs, one row each, to a number each."""

    threshold: float
    """Where the event begins."""

    above: bool
    """Whether it is the outputs that reach the threshold, or the others."""

    swapped: bool
    """Whether it is likelier under the second data set of the pair."""

    def count(self, outputs: Vector) -> int:
        """How many outputs are in it."""
        reached = int(np.count_nonzero(self.score(outputs) >= self.threshold))
        return reached if self.above else len(outputs) - reached

    def __str__(self) -> str:
        return f"{self.name} {'≥' if self.above else '<'} {self.threshold:.6g}"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an event proves about a pair of data sets."""

    bound: float
    """ε is at least this, with the confidence asked for; 0 where nothing is proven."""

    event: str
    """The event in words, and how often it was seen on either side."""

    promise: float = 0.0
    """What more samples may prove: a rough bound at LIKELY. It is a guess, for picking among pairs."""


def probability_bounds(hits: Any, samples: int, chance: float) -> tuple[Vector, Vector]:
    """Clopper and Pearson's bounds, below and above, each of which fails with at most this chance.

    >>> low, high = probability_bounds(np.array([0, 50]), 100, 0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.398], [0.036, 0.602])
    """
    from scipy.special import betaincinv

    k = np.asarray(hits, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), samples - k + 1, chance), 0.0)
    high = np.where(k < samples, betaincinv(k + 1, np.maximum(samples - k, 1), 1 - chance), 1.0)
    return low, high


def epsilon_bounds(hits: Any, others: Any, samples: int, other_samples: int, *, chance: float, delta: float = 0.0) -> Vector:
    """ln((P[E | x] − δ) / P[E | x′]) at least, but for this chance; 0 where that is negative.

    >>> epsilon_bounds([500], [100], 1000, 1000, chance=0.001).round(2).tolist()
    [1.2]
    """
    low, high = probability_bounds(hits, samples, chance / 2)[0], probability_bounds(others, other_samples, chance / 2)[1]
    return np.log(np.maximum(low - delta, 1e-300) / high).clip(0.0)


def rough_bounds(hits: Any, others: Any, samples: int, other_samples: int, *, chance: float, delta: float = 0.0) -> Vector:
    """The same by Wilson's bounds, which are near and cost little: for a search, whose bound nobody is told.

    >>> rough_bounds(np.array([500]), np.array([100]), 1000, 1000, chance=0.001).round(2).tolist()
    [1.2]
    """
    far = NormalDist().inv_cdf(1 - max(chance, 1e-15) / 2)
    low, high = _wilson(hits, samples, -far), _wilson(others, other_samples, far)
    return np.log(np.maximum(low - delta, 1e-300) / high).clip(0.0)


def _wilson(hits: Any, samples: int, far: float) -> Vector:
    """Where a binomial's mean is so many deviations away from what was seen."""
    share, weight = np.asarray(hits, dtype=np.float64) / samples, far**2 / samples
    spread = np.sqrt(share * (1 - share) / samples + weight / (4 * samples))
    return np.asarray((share + weight / 2 + far * spread) / (1 + weight))


def evidence(one: Vector, other: Vector, *, chance: float, delta: float = 0.0) -> Evidence:
    """The bound that the best event found proves; it is wrong with at most this chance.

    >>> generator = np.random.default_rng(0)
    >>> coins = [np.where(generator.random((20_000, 1)) < p, 1.0, 0.0) for p in (0.25, 0.75)]
    >>> round(evidence(*coins, chance=0.001).bound, 1)  # the truth is ln 3
    1.1
    """
    (fit_a, pick_a, kept_a), (fit_b, pick_b, kept_b) = _parts(one), _parts(other)
    found: list[tuple[float, Event | None]] = [(-1.0, None), (-1.0, None)]
    for name, score in _scores(fit_a, fit_b):
        best = _best_thresholds(name, score, pick_a, pick_b, (chance, LIKELY), delta)
        found = [max(old, new, key=lambda one: one[0]) for old, new in zip(found, best, strict=True)]
    event, promising = (one[1] for one in found)
    if event is None or promising is None:
        return Evidence(bound=0.0, event="no event")
    likelier, rarer = (kept_b, kept_a) if event.swapped else (kept_a, kept_b)
    hits, others = event.count(likelier), event.count(rarer)
    sides = ("the other", "the first") if event.swapped else ("the first", "the other")
    return Evidence(
        bound=float(epsilon_bounds(hits, others, len(likelier), len(rarer), chance=chance, delta=delta)),
        event=f"{event}: {hits:,} of {len(likelier):,} runs on {sides[0]}, {others:,} of {len(rarer):,} on {sides[1]}",
        promise=_promise(promising, kept_a, kept_b, delta),
    )


def _promise(event: Event, one: Vector, other: Vector, delta: float) -> float:
    likelier, rarer = (other, one) if event.swapped else (one, other)
    hits, others = event.count(likelier), event.count(rarer)
    return float(rough_bounds(hits, others, len(likelier), len(rarer), chance=LIKELY, delta=delta))


def _parts(outputs: Vector) -> tuple[Vector, Vector, Vector]:
    """A quarter to make scores of, a quarter to pick the event with, and half to count it on."""
    quarter = len(outputs) // 4
    return outputs[:quarter], outputs[quarter : 2 * quarter], outputs[2 * quarter :]


def _best_thresholds(
    name: str, score: Score, one: Vector, other: Vector, chances: Sequence[float], delta: float
) -> list[tuple[float, Event | None]]:
    """Of all thresholds, both sides of them and both directions, the event that proves most on these samples.

    For each of some chances of failure: with a larger one, events that are rarer and tell more come first.
    """
    a, b = np.sort(score(one)), np.sort(score(other))
    cuts = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, THRESHOLDS), method="nearest"))
    best: list[tuple[float, Event | None]] = [(-1.0, None) for _ in chances]
    below = np.searchsorted(a, cuts, side="left"), np.searchsorted(b, cuts, side="left")
    for above, swapped, (place, chance) in product((True, False), (False, True), enumerate(chances)):
        hits = (len(a) - below[0], len(b) - below[1]) if above else below
        k, m = (hits[1], hits[0]) if swapped else (hits[0], hits[1])
        n, n_other = (len(b), len(a)) if swapped else (len(a), len(b))
        bounds = rough_bounds(k, m, n, n_other, chance=chance, delta=delta)
        at = int(np.argmax(bounds))
        if bounds[at] > best[place][0]:
            best[place] = (float(bounds[at]), Event(name, score, float(cuts[at]), above, swapped))
    return best


def _scores(one: Vector, other: Vector) -> Iterator[tuple[str, Score]]:
    """What events are made of: coordinates, a projection, log-likelihood ratios by coordinate, and by whole outcome."""
    width = one.shape[1]
    for column in range(width):
        yield f"output[{column}]" if width > 1 else "output", partial(_column, column)
    apart, spread = one.mean(axis=0) - other.mean(axis=0), one.var(axis=0) + other.var(axis=0)
    if width > 1 and apart.any():
        weights = apart / np.maximum(spread, 1e-12)
        yield "the projection toward the difference", lambda rows: rows @ weights
        yield "the outputs on the side of the difference", lambda rows: _sides(rows, one, other, apart)
    yield "the log-likelihood ratio by coordinate", _by_coordinate(one, other)
    table = _by_outcome(one, other)
    if table is not None:
        yield "the log-likelihood ratio of the whole output", table


def _column(column: int, rows: Vector) -> Vector:
    return rows[:, column]


def _sides(rows: Vector, one: Vector, other: Vector, apart: Vector) -> Vector:
    """How many coordinates are beyond the middle between the two means, in the direction of the first."""
    middle = (one.mean(axis=0) + other.mean(axis=0)) / 2
    return np.asarray(((rows - middle) * np.sign(apart) > 0).sum(axis=1), dtype=np.float64)


def _by_coordinate(one: Vector, other: Vector) -> Score:
    """The sum over coordinates of the log-ratio of two histograms: the best score where coordinates are independent."""
    both = np.concatenate([one, other])
    tables: list[tuple[Vector, Vector]] = []
    for column in range(one.shape[1]):
        edges = np.unique(np.quantile(both[:, column], np.linspace(0, 1, _BINS + 1)[1:-1], method="nearest"))
        counts = [
            np.bincount(np.searchsorted(edges, part[:, column], side="right"), minlength=edges.size + 1)
            for part in (one, other)
        ]
        tables.append((edges, np.log((counts[0] + 1.0) / (counts[1] + 1.0))))

    def score(rows: Vector) -> Vector:
        total = np.zeros(len(rows))
        for column, (edges, ratios) in enumerate(tables):
            total += ratios[np.searchsorted(edges, rows[:, column], side="right")]
        return total

    return score


def _by_outcome(one: Vector, other: Vector) -> Score | None:
    """The log-ratio of the frequencies of each whole output, where outputs come again; else nothing."""
    names = np.random.default_rng(0).standard_normal(one.shape[1])  # whole rows as one number each, to look them up
    a, b = one @ names, other @ names
    outcomes = np.unique(np.concatenate([a, b]))
    if outcomes.size > min(_MOST_OUTCOMES, (len(a) + len(b)) // _SMALLEST_SIDE):
        return None
    counts = [np.bincount(np.searchsorted(outcomes, part), minlength=outcomes.size) for part in (a, b)]
    ratios = np.log((counts[0] + 0.5) / (counts[1] + 0.5))

    def score(rows: Vector) -> Vector:
        values = rows @ names
        at = np.minimum(np.searchsorted(outcomes, values), outcomes.size - 1)
        return np.asarray(np.where(outcomes[at] == values, ratios[at], 0.0))

    return score


def failure_chance(confidence: float, comparisons: int) -> float:
    """The chance that each of so many comparisons may fail with, for all together to have this confidence.

    >>> failure_chance(0.999, 100)
    1e-05
    """
    return round(1 - confidence, 12) / max(comparisons, 1) if confidence < 1 else math.nan
