"""The large-margin mechanism, which forgets all candidates but the few at the top: (ε, δ)-private, not ε-private."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from jostle.kernel.budget import Budget, round_down
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import Noise, calibrate
from jostle.kernel.partition import Counts
from jostle.mechanisms.arguments import candidate_at, check_budget, with_scores
from jostle.mechanisms.sampling import at_each, exponential_scale, exponential_weights, pick
from jostle.mechanisms.sensitivity import Lattice, Sensitivity

T = TypeVar("T")


def large_margin(candidates: Iterable[T], scores: Any = None, *, sensitivity: Any, budget: Budget, note: str = "") -> T:
    """A candidate near the top, whatever the number of candidates: (ε, δ)-differentially private, with δ above 0.

    The token has a δ, which an (ε, δ) account pays from the part that it keeps for selections: `account.grant(1,
    delta=1e-6)`. There is no pure version, since every ε-differentially private choice needs a lead that grows with the
    logarithm of the number of candidates (docs/mechanisms/large-margin.md). Without a δ, use `permute_and_flip`.

    A third of ε finds the best score, a third finds, from the top down, the first candidate that is clearly behind it,
    and a third pays for an exponential mechanism among those before it.

    Chaudhuri, Hsu, Song: The large margin mechanism for differentially private maximization, NIPS 2014; with whole noise
    on a lattice, and thresholds from the tails of that noise.

    A dictionary {candidate: score} may stand for both. See `utility.large_margin_gap` for the lead that the best one needs.
    In a simulation with trials, the candidates are an array, and one is chosen per trial.

    >>> from jostle import mechanisms
    >>> scores = [500, 480, *[0] * 100_000]
    >>> budget = mechanisms.simulation(seed=0).grant(1, delta=1e-6)  # public data; else account.grant(1, delta=1e-6)
    >>> large_margin(range(100_002), scores, sensitivity=1, budget=budget)
    0
    """
    options, values = with_scores(candidates, scores)
    if not check_budget(budget).delta:
        remedy = "pass account.grant(1, delta=1e-6) of an (ε, δ) account; for a choice without δ use `permute_and_flip`"
        raise BadInput("budget", "has no δ, and the large-margin mechanism is private only up to one", remedy)
    loss, chance, neighbours = budget.amount, budget.delta, budget.neighbours
    lattice = Lattice.for_sensitivity(Sensitivity.of(sensitivity), neighbours)
    size, gaps = lattice.sensitivity.size(neighbours), lattice.gaps(values)
    scale = exponential_scale(2 * size, loss / 3)
    noise = budget.draw(operator="large_margin", note=note, with_delta=True)
    order = np.argsort(gaps, kind="stable")

    def among(kept: int) -> Any:
        return order[pick(exponential_weights(gaps[order[:kept]], scale), noise)]

    return candidate_at(options, at_each(_top(gaps[order], size, loss, round_down(chance), noise), among))


def _top(gaps: Counts, size: Fraction, epsilon: Fraction, delta: float, noise: Noise) -> Any:
    """How many candidates from the top are kept: those before the first that is clearly behind the best."""
    best, kept = noise_scales(size, epsilon)
    noisy_best, offset = (noise.discrete_laplace(np.array([0]), scale) for scale in (best, kept[0]))
    margins = noisy_best + noise.discrete_laplace(gaps[1:], kept[1])
    behind = margins >= offset + thresholds(gaps.size, size, epsilon, delta)
    return np.argmax(np.concatenate([behind, np.ones_like(offset, dtype=np.bool_)], axis=-1), axis=-1) + 1


@lru_cache(maxsize=1024)
def noise_scales(size: Fraction, epsilon: Fraction) -> tuple[Fraction, tuple[Fraction, Fraction]]:
    """The scales on the best score, and on the threshold and the queries of the search, each with a third of ε.

    >>> noise_scales(Fraction(1), Fraction(1))
    (Fraction(3, 1), (Fraction(6, 1), Fraction(12, 1)))
    """
    third = epsilon / 3
    return calibrate(size, third), (calibrate(2 * size, third), calibrate(4 * size, third))


@lru_cache(maxsize=64)
def thresholds(candidates: int, size: Fraction, epsilon: Fraction, delta: float) -> Counts:
    """How far behind the best the candidate after the first 1, 2, … must seem to be, for the search to stop there.

    Half of δ is for the noise: with that probability at most, some margin seems larger than it is (a sixth for the best
    score, a sixth for the threshold, a sixth over all queries, the r-th of which gets 1/(r(r + 1)) of it). Half of δ is
    for the choice: among r candidates, with a true margin of 2·size·(1 + ln(2r/δ)·3/ε), one that a neighbour has not
    among its first r is drawn with that probability at most.

    >>> thresholds(3, Fraction(1), Fraction(1), 0.01).tolist()
    [178, 195]
    """
    ranks = np.arange(1, candidates, dtype=np.float64)
    best, kept = noise_scales(size, epsilon)
    margin = 2 * float(size) * (1 + np.log(2 * ranks / delta) * float(3 / epsilon))
    misled = float(best + kept[0]) * math.log(6 / delta) + float(kept[1]) * np.log(6 * ranks * (ranks + 1) / delta)
    found = np.ceil(margin + misled).astype(np.int64) + 1
    found.setflags(write=False)  # what they depend on is public, and they are made once
    return found
