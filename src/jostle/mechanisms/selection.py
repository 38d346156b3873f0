"""One of several candidates, by a private score: the exponential mechanism, report noisy max, permute-and-flip.

All three are calibrated to the *reach* of the scores: how far one person may move two candidates' scores apart. That is
twice the sensitivity; or once, where a record is added or removed and never lowers, or never raises, a score when it is
added (`monotone=True`).

In a simulation with trials, the candidates are an array, and one is chosen per trial, each with noise of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import candidate_at, check_bounds, check_budget, private_scores, with_scores
from jostle.mechanisms.sampling import exponential_scale, exponential_weights, pick, pick_cell
from jostle.mechanisms.sensitivity import Lattice, Sensitivity

T = TypeVar("T")

CELLS = 2**40
"""The number of cells that the line between two bounds is cut into."""


def exponential(
    candidates: Iterable[T], scores: Any = None, *, sensitivity: Any, budget: Budget, monotone: bool = False, note: str = ""
) -> T:
    """A candidate with probability in proportion to exp(ε · score / reach): ε-differentially private.

    The reach is 2 · sensitivity; with `monotone=True` and add/remove neighbours, 1 · sensitivity.

    McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007. That half the reach is enough for
    monotone scores: docs/mechanisms/exponential.md.

    A dictionary {candidate: score} may stand for both. The candidates must be public: one that is made by counting private
    records has only those that occur, and so gives them away.

    `sensitivity` is how far one record, added or removed, moves any one score, or the pair `(add_remove, replace)`.
    Only claim `monotone` if adding a record, whichever it is, never lowers a score (or never raises one); `check_scores`
    tries that on public data. Scores are private, so none is refused: a NaN counts as lower than all others.

    See `utility.exponential_error` for how far below the best the choice may be.

    >>> from jostle import mechanisms
    >>> votes = {"pizza": 27, "salad": 23, "hamburger": 9, "pie": 0}
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> exponential(votes, sensitivity=1, monotone=True, budget=budget)
    'pizza'
    """
    options, values = with_scores(candidates, scores)
    gaps, reach = lattice_gaps(values, sensitivity, monotone, budget)
    scale = exponential_scale(reach, budget.exponential)
    noise = budget.draw(operator="exponential", note=note)
    return candidate_at(options, pick(exponential_weights(gaps, scale), noise))


def exponential_line(
    cuts: Any,
    scores: Any,
    *,
    bounds: tuple[float, float],
    sensitivity: Any,
    budget: Budget,
    monotone: bool = False,
    note: str = "",
) -> float:
    """A point between two bounds, with density in proportion to exp(ε · score / reach): ε-differentially private.

    The score is constant between neighbouring `cuts`, which may be private: there is one score more than there are
    cuts. A piece is drawn by the weight of its score times its length, then a point in it, uniformly, on a lattice of
    2^40 cells.

    McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007, with the length as base measure; for
    splitting points of trees, Friedman, Schuster: Data mining with differential privacy, KDD 2010.

    The sensitivity has to hold at every point of the line. Sort the cuts, and the scores with them: a cut below the one
    before it counts as equal to it. Cuts outside of the bounds are clipped to them. No cut and no score is refused.

    See `utility.exponential_error`, with lengths in place of numbers of candidates, for how far below the best it may be.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> cuts, scores = [2, 3, 5, 7, 10, 11], [3, 4, 5, 4, 3, 4, 3]
    >>> round(exponential_line(cuts, scores, bounds=(0, 12), sensitivity=1, monotone=True, budget=budget), 3)
    6.285
    """
    inner, (low, high) = private_scores(cuts, "cuts"), check_bounds(bounds)
    inner = np.maximum.accumulate(inner)  # no cut is refused: a refusal before the charge would reveal a value for free
    # Each step of this is monotone in the cut, also in floats. So a cell belongs to the piece of one point of the line, the
    # largest whose cell it is, and has the score of that point: the sensitivity is that of the score.
    edges = np.floor((np.clip(inner, low, high) - low) / (high - low) * CELLS).astype(np.int64)
    edges = np.concatenate([[0], edges, [CELLS]])
    lengths, values = np.diff(edges), private_scores(scores)
    if values.size != lengths.size:  # how many there are may be private: the message does not say it
        raise BadInput("scores", "must be one more than the cuts", "pass one score per piece, from left to right")
    gaps, reach = lattice_gaps(values, sensitivity, monotone, budget, lengths)
    scale = exponential_scale(reach, budget.exponential)
    noise = budget.draw(operator="exponential", note=note)
    cell = pick_cell(edges[:-1], lengths, exponential_weights(gaps, scale, lengths), noise)
    point: float = np.minimum(high, low + (high - low) * ((cell + 0.5) / CELLS))
    return point if np.ndim(point) else float(point)


def report_noisy_max(
    candidates: Iterable[T], scores: Any = None, *, sensitivity: Any, budget: Budget, monotone: bool = False, note: str = ""
) -> T:
    """The candidate whose score is largest after Laplace noise of scale reach/ε: ε-differentially private.

    Only the winner is released, not its noisy score. `permute_and_flip` is never worse, and is what to use; this is the
    classic.

    Dwork, Roth: The algorithmic foundations of differential privacy, 2014, Claim 3.9, which is about counts, that is,
    monotone scores. With the same noise on scores that are not, the loss is almost 2ε: there the scale doubles.

    Arguments as for `exponential`. See `utility.report_noisy_max_error` for how far below the best the choice may be.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> report_noisy_max(["a", "b"], [3, 30], sensitivity=1, budget=budget)
    'b'
    """
    options, values = with_scores(candidates, scores)
    gaps, reach = lattice_gaps(values, sensitivity, monotone, budget)
    scale = calibrate(reach, budget.pure)
    noise = budget.draw(operator="report_noisy_max", note=note)
    best = noise.outcome("noisy maximum", scale, -gaps, lambda: np.argmax(noise.discrete_laplace(-gaps, scale), axis=-1))
    return candidate_at(options, best)


def permute_and_flip(
    candidates: Iterable[T], scores: Any = None, *, sensitivity: Any, budget: Budget, monotone: bool = False, note: str = ""
) -> T:
    """The candidate whose score is largest after one-sided exponential noise of scale reach/ε: ε-differentially private.

    Never worse than the exponential mechanism, and up to twice as good.

    McKenna, Sheldon: Permute-and-flip: a new mechanism for differentially private selection, NeurIPS 2020. As a noisy
    maximum: Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang: The permute-and-flip mechanism is identical to
    report-noisy-max with exponential noise, 2021.

    Arguments as for `exponential`. See `utility.permute_and_flip_error` for how far below the best the choice may be.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> permute_and_flip(["a", "b"], [3, 30], sensitivity=1, budget=budget)
    'b'
    """
    options, values = with_scores(candidates, scores)
    gaps, reach = lattice_gaps(values, sensitivity, monotone, budget)
    scale = calibrate(reach, budget.pure)
    return candidate_at(options, budget.draw(operator="permute_and_flip", note=note).noisy_max(-gaps, scale))


def lattice_gaps(
    scores: Vector, sensitivity: Any, monotone: bool, budget: Budget, lengths: Counts | None = None
) -> tuple[Counts, Fraction]:
    """How far each candidate's score is from the best, on a lattice, and the reach in its units."""
    neighbours = check_budget(budget).neighbours
    lattice = Lattice.for_sensitivity(Sensitivity.of(sensitivity, monotone=monotone), neighbours)
    return lattice.gaps(scores, lengths), lattice.sensitivity.reach(neighbours, monotone=monotone)
