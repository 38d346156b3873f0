"""From samples on two neighbours to a lower bound on ε: search an event on one part of them, measure it on the rest.

A pure ε-differentially private mechanism has P[E | x] ≤ e^ε P[E | x′] + δ for every event E. So every event gives a lower
bound, ln((P[E | x] − δ) / P[E | x′]). Of a ρ-concentrated mechanism, whether E occurs has a Rényi divergence of at most αρ
at every order α; so every event gives a lower bound on ρ, too.

One half of the samples is used to find an event. What it proves is counted on the other half, which had no part in choosing
it, with Clopper and Pearson's exact bounds on both probabilities. Nothing is assumed about the distributions, and however
badly the search goes, the bound holds with its confidence.
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
"""From outputs, one row per run, to one number per run."""

THRESHOLDS = 96
"""How many thresholds of a score are tried."""

LIKELY = 0.3
"""A pair promises what its events would prove with this chance of failure. What a few samples prove with a much smaller
chance says more about how often an event is seen than about what it tells."""

_ORDERS = (1.1, 1.3, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.5, 8.0, 12.0, 20.0, 50.0)
"""Orders of Rényi divergences, beside 1: each gives a bound, and between two of them little is lost."""

_BINS = 24
_MOST_OUTCOMES = 4_096
_SMALLEST_SIDE = 8


@dataclass(frozen=True)
class OutputEvent:
    """A set of outputs: those whose score reaches a threshold, or those whose score does not."""

    name: str
    """What the score looks at."""

    score: Score
    threshold: float

    above: bool
    """Whether the event has the outputs that reach the threshold, or the others."""

    swapped: bool
    """Whether it is likelier under the second input of the pair."""

    def counts(self, one: Vector, other: Vector) -> tuple[int, int, int, int]:
        """How many outputs are in it where it is likelier and where it is rarer, and how many outputs there are."""
        likelier, rarer = (other, one) if self.swapped else (one, other)
        return self._count(likelier), self._count(rarer), len(likelier), len(rarer)

    def _count(self, outputs: Vector) -> int:
        reached = int(np.count_nonzero(self.score(outputs) >= self.threshold))
        return reached if self.above else len(outputs) - reached

    def __str__(self) -> str:
        return f"{self.name} {'≥' if self.above else '<'} {self.threshold:.6g}"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an event proves about a pair of inputs."""

    bound: float
    """ε, or ρ, is at least this, with the confidence asked for; 0 if nothing is proven."""

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
    """A lower bound on ln((P[E | x] − δ) / P[E | x′]) that fails with at most this chance; 0 if that is negative.

    >>> epsilon_bounds([500], [100], 1000, 1000, chance=0.001).round(2).tolist()
    [1.2]
    """
    return _at_least_epsilon(*_apart(hits, others, samples, other_samples, chance), delta)


def rho_bounds(hits: Any, others: Any, samples: int, other_samples: int, *, chance: float) -> Vector:
    """A lower bound on ρ, by the Rényi divergences of whether the event occurs, that fails with at most this chance.

    The divergences grow with the one probability and fall with the other, as long as the first is the larger.

    >>> rho_bounds([500], [100], 1000, 1000, chance=0.001).round(2).tolist()
    [0.31]
    """
    return _at_least_rho(*_apart(hits, others, samples, other_samples, chance))


def _apart(hits: Any, others: Any, samples: int, other_samples: int, chance: float) -> tuple[Vector, Vector]:
    """Below the one probability, and above the other; both hold but with this chance."""
    return probability_bounds(hits, samples, chance / 2)[0], probability_bounds(others, other_samples, chance / 2)[1]


def _at_least_epsilon(low: Vector, high: Vector, delta: float) -> Vector:
    return np.asarray(np.log(np.maximum(low - delta, 1e-300) / high).clip(0.0))


def _at_least_rho(low: Vector, high: Vector) -> Vector:
    """The largest D_α(p‖q) / α of two coins with p > q; 0 where p is not above q."""
    from scipy.special import xlogy

    p, q = np.maximum(low, 1e-300), np.clip(high, 1e-300, 1 - 1e-15)
    seen, unseen = np.log(p / q), np.log1p(-np.minimum(p, 1 - 1e-15)) - np.log1p(-q)
    by_order = [xlogy(p, p / q) + (1 - p) * unseen]  # at order 1
    for order in _ORDERS:
        each = np.logaddexp(np.log(p) + (order - 1) * seen, np.log1p(-np.minimum(p, 1 - 1e-15)) + (order - 1) * unseen)
        by_order.append(each / (order - 1) / order)
    return np.asarray(np.where(p > q, np.max(by_order, axis=0), 0.0).clip(0.0))


def rough_bounds(
    hits: Any, others: Any, samples: int, other_samples: int, *, chance: float, delta: float = 0.0, in_rho: bool = False
) -> Vector:
    """Either of them by Wilson's bounds, which are near and cheap: for a search, whose own bound is never reported.

    >>> rough_bounds(np.array([500]), np.array([100]), 1000, 1000, chance=0.001).round(2).tolist()
    [1.2]
    """
    far = NormalDist().inv_cdf(1 - max(chance, 1e-15) / 2)
    low, high = _wilson(hits, samples, -far), _wilson(others, other_samples, far)
    return _at_least_rho(low, high) if in_rho else _at_least_epsilon(low, high, delta)


def _wilson(hits: Any, samples: int, far: float) -> Vector:
    """Where a binomial's mean is `far` deviations away from what was seen."""
    share, weight = np.asarray(hits, dtype=np.float64) / samples, far**2 / samples
    spread = np.sqrt(share * (1 - share) / samples + weight / (4 * samples))
    return np.asarray((share + weight / 2 + far * spread) / (1 + weight))


def evidence(one: Vector, other: Vector, *, chance: float, delta: float = 0.0, in_rho: bool = False) -> Evidence:
    """What the best event found proves, about ε or about ρ; the bound is wrong with at most this chance.

    A quarter of the samples makes the scores, a quarter picks the event, and half counts it.

    >>> generator = np.random.default_rng(0)
    >>> coins = [np.where(generator.random((20_000, 1)) < p, 1.0, 0.0) for p in (0.25, 0.75)]
    >>> round(evidence(*coins, chance=0.001).bound, 1)  # the truth is ln 3
    1.1
    """
    (fit_a, pick_a, kept_a), (fit_b, pick_b, kept_b) = (
        np.split(outputs, [len(outputs) // 4, 2 * (len(outputs) // 4)]) for outputs in (one, other)
    )
    candidates = [found for score in _scores(fit_a, fit_b) for found in _events(*score, pick_a, pick_b)]
    event, promising = (_best(candidates, at, delta, in_rho) for at in (chance, LIKELY))
    hits, others, samples, other_samples = counted = event.counts(kept_a, kept_b)
    sides = ("the other", "the first") if event.swapped else ("the first", "the other")
    return Evidence(
        bound=float(rho_bounds(*counted, chance=chance) if in_rho else epsilon_bounds(*counted, chance=chance, delta=delta)),
        event=f"{event}: {hits:,} of {samples:,} runs on {sides[0]}, {others:,} of {other_samples:,} on {sides[1]}",
        promise=float(rough_bounds(*promising.counts(kept_a, kept_b), chance=LIKELY, delta=delta, in_rho=in_rho)),
    )


Candidates = tuple[tuple[Any, Any, int, int], Callable[[int], OutputEvent]]
"""For each threshold, how often its event is seen where it should be likelier and rarer, and of how many; and the events."""


def _events(name: str, score: Score, one: Vector, other: Vector) -> Iterator[Candidates]:
    """The events of a score: all thresholds, both sides of them, and both directions."""
    a, b = np.sort(score(one)), np.sort(score(other))
    cuts = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, THRESHOLDS), method="nearest"))
    below = np.searchsorted(a, cuts, side="left"), np.searchsorted(b, cuts, side="left")
    for above, swapped in product((True, False), (False, True)):
        hits, others = (len(a) - below[0], len(b) - below[1]) if above else below
        counts = (others, hits, len(b), len(a)) if swapped else (hits, others, len(a), len(b))
        yield counts, partial(_event, name, score, cuts, above, swapped)


def _event(name: str, score: Score, cuts: Vector, above: bool, swapped: bool, at: int) -> OutputEvent:
    return OutputEvent(name, score, float(cuts[at]), above, swapped)


def _best(candidates: Sequence[Candidates], chance: float, delta: float, in_rho: bool) -> OutputEvent:
    """The event that proves most with this chance of failure: with a larger one, rarer events that tell more come first."""
    bounds = [rough_bounds(*counts, chance=chance, delta=delta, in_rho=in_rho) for counts, _ in candidates]
    best = max(range(len(candidates)), key=lambda place: bounds[place].max())
    return candidates[best][1](int(np.argmax(bounds[best])))


def _scores(one: Vector, other: Vector) -> Iterator[tuple[str, Score]]:
    """Scores of outputs: coordinates, a projection, log-likelihood ratios by coordinate and by whole output."""
    width = one.shape[1]
    for column in range(width):
        yield f"output[{column}]" if width > 1 else "output", partial(np.take, indices=column, axis=1)
    difference, spread = one.mean(axis=0) - other.mean(axis=0), one.var(axis=0) + other.var(axis=0)
    if width > 1 and difference.any():
        weights, signs = difference / np.maximum(spread, 1e-12), np.sign(difference)
        middle = (one.mean(axis=0) + other.mean(axis=0)) / 2
        yield "the projection toward the difference", lambda rows: rows @ weights
        # how many coordinates are beyond the middle between the two means, in the direction of the first
        yield "the outputs on the side of the difference", lambda rows: ((rows - middle) * signs > 0).sum(axis=1) * 1.0
    yield "the log-likelihood ratio by coordinate", _by_coordinate(one, other)
    table = _by_outcome(one, other)
    if table is not None:
        yield "the log-likelihood ratio of the whole output", table


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
    """The log-ratio of the frequencies of each whole output; None where outputs hardly ever repeat."""
    names = np.random.default_rng(0).standard_normal(one.shape[1])  # one number per whole row, to look rows up by
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
    """The chance with which each of several comparisons may fail, for all together to have this confidence.

    >>> failure_chance(0.999, 100)
    1e-05
    """
    return round(1 - confidence, 12) / max(comparisons, 1) if confidence < 1 else math.nan
