"""Priors on what cells hold, or on how it differs from their surroundings, fitted to noisy values under Laplace noise.

A group of cells gets either a prior of any form, or one on few points where that is likely enough. The compiled loops at
the end take distinct values in rising order, and how often each was seen: noisy counts on a lattice repeat a lot. With the
kernel r^|u − s| = exp(−|u − s|/scale), a sum over all support points s ≤ u follows from the one at the next smaller u by one
factor, so each pass takes linear time. `small_problems` does the same for many short rows at once, in NumPy.

In the loops, sums, searches and sorts are written out: Numba's own take longer to compile, and load SciPy whenever compiled
loops are loaded. Post-processing only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Vector

ATOM_PRICE = 3.0
"""The gain in log-likelihood that a further point of a small prior must bring."""

FREE_PRICE = 10.0
"""The gain that a prior of any form must bring over the small ones."""

CUT_PRICE = 6.0
"""The gain that telling two ranges of a context apart must bring."""

CENTRE_PRICE = 3.0
"""The gain in log-likelihood that a prior on differences from the surroundings must bring over one on counts."""

EVEN = 100.0
"""Counts that lie within this many scales may be described by their differences from the surroundings."""

ROUNDS = 40
"""How often the weights of a prior are improved: not to the end, which would fit the noise."""

SMALLEST_GROUP = 16
"""Fewer cells than this do not get a prior of their own."""

NARROW = 30.0
"""Counts within this many scales are described by a prior on few points, if it is likely enough."""

GAP = 10.0
"""Counts beyond a gap of this many scales are described separately from those below: noise hardly bridges it."""

ENOUGH = 64
"""This many counts below the gap are enough to be described separately: fewer say little of what they have in common."""

SHARP = 1 / 64
"""Noise of a smaller scale hides nothing of a whole number, and its densities are beyond floats: counts stay as they are."""

MOST_ATOMS = 4
"""A prior on few points has no more than this."""

GRAIN = 16
"""To fit a prior, values are taken to be alike within this fraction of the noise's scale: far less than the noise hides."""

TIE = 1e-10
"""Two points that are wanted alike within this share are equally wanted, and the smaller is taken: symmetric counts must not
be distinguished by the rounding of a sum, which depends on the order of its terms."""

DRAW = 1e-7
"""For the same reason, log-likelihoods that differ by less are equal: with few counts, they often are."""


def count_supports(values: Vector, sizes: Counts, scale: float) -> tuple[Vector, Counts]:
    """Where priors on counts may put their mass: near the values, not below 0, and everywhere from 0 to a few scales.

    Each row is in rising order; only its first values count, as many as `sizes` says. Gives one row of points per row, with
    zeros behind them, and how many points each has.
    """
    step = max(1.0, np.floor(scale / 3))
    near = np.minimum(last_values(values, sizes), 4 * scale + 8.0)[:, None]
    grid = np.arange(int((4 * scale + 8.0) / step) + 1) * step
    inside = (grid <= near) | (grid == 0.0)
    last = np.where(inside, grid, 0.0).max(axis=1, keepdims=True)
    points = np.round(values / step) * step
    return _compact(grid, inside, points, points > last, sizes)


def difference_supports(values: Vector, sizes: Counts, scale: float) -> tuple[Vector, Counts]:
    """The same for priors on differences: near the values, and everywhere within a few scales of 0."""
    step = max(1.0, np.floor(scale / 3))
    reach = int(6 * scale / step)
    grid = np.arange(-reach, reach + 1) * step
    inside = (grid >= values[:, :1] - step) & (grid <= last_values(values, sizes)[:, None] + step) | (grid == 0.0)
    points = np.round(values / step) * step
    return _compact(grid, inside, points, np.abs(points) > reach * step, sizes)


def _compact(grid: Vector, inside: Any, points: Vector, outside: Any, sizes: Counts) -> tuple[Vector, Counts]:
    """The grid's points inside and the different points outside of it, for each row in rising order."""
    outside = outside & (np.arange(points.shape[1]) < sizes[:, None])
    outside[:, 1:] &= points[:, 1:] != points[:, :-1]
    found = np.concatenate([np.where(inside, grid, np.inf), np.where(outside, points, np.inf)], axis=1)
    number = np.isfinite(found).sum(axis=1)
    found = np.sort(found, axis=1)[:, : number.max()]
    return np.where(np.isfinite(found), found, 0.0), number


def last_values(values: Vector, sizes: Counts) -> Vector:
    """The last value of each row that counts."""
    return np.asarray(np.take_along_axis(values, np.maximum(sizes - 1, 0)[:, None], axis=1)[:, 0])


def rounded(values: Vector, scale: float) -> Vector:
    """Values to fit a prior to: on a lattice that is far finer than the noise."""
    return np.asarray(np.round(values * (GRAIN / scale)) * (scale / GRAIN))


class GroupPrior:
    """A prior of any form, fitted to the noisy values of one group of cells, in rising order."""

    def __init__(self, everything: Vector, scale: float, supports: Any) -> None:
        self.everything, self.scale = everything, scale
        self.values, self.seen = distinct(rounded(everything, scale))
        self.support: Vector = supports(self.values[None], np.array([self.values.size]), scale)[0][0]
        flat = np.full(self.support.size, 1.0 / self.support.size)
        before, self.weights, likelihood = maximise(self.values, self.seen, self.support, flat, scale, ROUNDS)
        self.free = self.support, before, self.weights
        self.score: float = likelihood - FREE_PRICE

    def take(self, score: float, support: Vector, weights: Vector) -> None:
        """Another prior instead, if it is at least as likely."""
        if score >= self.score - DRAW:
            self.support, self.weights, self.score = support, weights, score

    def means(self) -> Vector:
        """The posterior mean of each cell."""
        values, seen = distinct(self.everything)
        mass, first, _ = moments(values, self.support, self.weights, self.scale)
        return np.repeat(values + first / mass, seen)

    def foretold(self) -> Vector:
        """How likely each noisy value is, given the other cells."""
        return left_out(self.everything, self.support, self.weights, self.scale)

    def posterior(self) -> tuple[Vector, Vector]:
        """The posterior mean of each count, and a variance no smaller than without the cell's own part in the prior."""
        values, seen = distinct(self.everything)
        mass, first, second = moments(values, self.support, self.weights, self.scale)
        shift = first / mass
        variances = np.maximum(second / mass - shift**2, self._without_itself(values))
        return np.repeat(np.maximum(values + shift, 0.0), seen), np.repeat(variances, seen)

    def _without_itself(self, u: Vector) -> Vector:
        """The posterior variance if the prior had been fitted to the other cells, plus one cell's worth of a flat prior."""
        support, before, after = self.free
        n, scale = self.everything.size, self.scale
        density = moments(u, support, before, scale)[0]
        own = moments(u, support, before, scale / 2) / density
        flat = _flat_moments(u, scale) / (max(u[-1], 0.0) + 4 * scale)
        mass, first, second = n * moments(u, support, after, scale) - own + flat
        return np.asarray(second / mass - (first / mass) ** 2)


class CountPrior(GroupPrior):
    """A prior on counts.

    `split_at_gap` describes counts beyond a gap by a prior of their own: single cells get better, sums over many worse.
    """

    def __init__(self, everything: Vector, scale: float, *, split_at_gap: bool = False) -> None:
        super().__init__(everything, scale, count_supports)
        values, seen = self.values, self.seen
        gaps = np.flatnonzero(np.diff(values) >= GAP * scale)
        below = int(gaps[0]) + 1 if split_at_gap and gaps.size else values.size
        enough = below == values.size or seen[:below].sum() >= ENOUGH
        if enough and values[below - 1] - values[0] < NARROW * scale:
            self.take(*_few_points(values, seen, self.support, scale, below))


class DifferencePrior(GroupPrior):
    """A prior on the differences of cells from their surroundings."""

    def __init__(self, everything: Vector, scale: float) -> None:
        super().__init__(everything, scale, difference_supports)
        if self.values[-1] - self.values[0] < NARROW * scale:
            low = self.values[0] - 1.0  # atoms are sought from 0 on
            found = few_atoms(self.values - low, self.seen, self.support - low, scale, MOST_ATOMS, ATOM_PRICE)
            atoms, weights, likelihood = found
            self.take(likelihood - ATOM_PRICE * (atoms.size - 1), atoms + low, weights)


def _few_points(values: Vector, seen: Counts, support: Vector, scale: float, below: int) -> tuple[float, Vector, Vector]:
    """A prior on few points for the values below a gap, any prior for those above it, and the penalised log-likelihood.

    A few large counts must not be the reason that all small ones are described by a prior of any form, which finds a little
    of everything among thousands of zeros.
    """
    near, often = values[:below], seen[:below]
    inside = support[support <= max(near[-1], 0.0) + scale]
    atoms, weights, likelihood = few_atoms(near, often, inside, scale, MOST_ATOMS, ATOM_PRICE)
    score = likelihood - ATOM_PRICE * (atoms.size - 1)
    if below == values.size:
        return score, atoms, weights
    outside = support[support > (near[-1] + values[below]) / 2]
    flat = np.full(outside.size, 1.0 / outside.size)
    _, rest, likelihood = maximise(values[below:], seen[below:], outside, flat, scale, ROUNDS)
    share = often.sum() / seen.sum()
    score += likelihood + often.sum() * np.log(share) + seen[below:].sum() * np.log1p(-share)
    return score, np.concatenate([atoms, outside]), np.concatenate([share * weights, (1 - share) * rest])


def left_out(values: Vector, support: Vector, weights: Vector, scale: float) -> Vector:
    """The density of each value, given in rising order, under a prior fitted to the others and to one flat cell.

    Fitted to the value itself, too, a prior would seem to foretell whatever was seen.
    """
    different, seen = distinct(values)
    density = moments(different, support, weights, scale)[0]
    own = moments(different, support, weights, scale / 2)[0] / density
    flat = 2 * scale / (values[-1] - values[0] + 4 * scale)
    return np.repeat(np.maximum(density - own / values.size, 0.0) + flat / values.size, seen)


def distinct(values: Vector) -> tuple[Vector, Counts]:
    """The different ones among values in rising order, and how often each is there."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.diff(np.append(first, values.size))


def _flat_moments(u: Vector, scale: float) -> Vector:
    """The integrals over s ≥ 0 of exp(−|s − u|/scale)·(s − u)^k for k = 0, 1, 2."""
    above, below = np.maximum(u, 0.0), np.minimum(u, 0.0)
    tail, head = np.exp(-above / scale), np.exp(below / scale)
    positive = u >= 0
    zeroth = np.where(positive, 2 - tail, head) * scale
    first = np.where(positive, (above + scale) * tail, (scale - below) * head) * scale
    second = np.where(
        positive,
        4 * scale**2 - (above**2 + 2 * above * scale + 2 * scale**2) * tail,
        ((scale - below) ** 2 + scale**2) * head,
    )
    return np.stack([zeroth, first, second * scale])


@compiled
def _places(values: np.ndarray, support: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    """For each support point the number of values below it, and the factors that carry sums from one point to the next."""
    places = np.empty(support.size, dtype=np.int64)
    below = 0
    for k in range(support.size):
        while below < values.size and values[below] < support[k]:
            below += 1
        places[k] = below
    steps = np.empty(values.size)
    steps[0] = 0.0
    for j in range(1, values.size):
        steps[j] = np.exp((values[j - 1] - values[j]) / scale)
    up = np.zeros(support.size)
    down = np.zeros(support.size)
    for k in range(support.size):
        if places[k] < values.size:
            up[k] = np.exp((support[k] - values[places[k]]) / scale)
        if places[k] > 0:
            down[k] = np.exp((values[places[k] - 1] - support[k]) / scale)
    return places, steps, up, down


@compiled
def _densities(weights: np.ndarray, places: np.ndarray, steps: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """At each value, the sum over the support of weight × kernel."""
    size = steps.size
    out = np.zeros(size)
    for k in range(weights.size):
        if places[k] < size:
            out[places[k]] += weights[k] * up[k]
    for j in range(1, size):
        out[j] += out[j - 1] * steps[j]
    left = np.zeros(size)
    for k in range(weights.size):
        if places[k] > 0:
            left[places[k] - 1] += weights[k] * down[k]
    for j in range(size - 2, -1, -1):
        left[j] += left[j + 1] * steps[j + 1]
    for j in range(size):
        out[j] += left[j]
    return out


@compiled
def _pulls(inverse: np.ndarray, places: np.ndarray, steps: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """At each support point, the sum over all that was seen of kernel / density: where it is large, more mass is wanted."""
    size = steps.size
    rising, falling = np.empty(size), np.empty(size)
    rising[0], falling[size - 1] = inverse[0], inverse[size - 1]
    for j in range(1, size):
        rising[j] = inverse[j] + rising[j - 1] * steps[j]
    for j in range(size - 2, -1, -1):
        falling[j] = inverse[j] + falling[j + 1] * steps[j + 1]
    out = np.zeros(places.size)
    for k in range(places.size):
        if places[k] > 0:
            out[k] += rising[places[k] - 1] * down[k]
        if places[k] < size:
            out[k] += falling[places[k]] * up[k]
    return out


@compiled
def maximise(
    values: np.ndarray, seen: np.ndarray, support: np.ndarray, weights: np.ndarray, scale: float, rounds: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """EM: weights of the prior that make the values likelier each round. Gives the last two weights and the log-likelihood.

    The likelihood leaves out the kernel's constant, which is the same for every prior.
    """
    places, steps, up, down = _places(values, support, scale)
    number = _total(seen)
    before = weights
    total = 0.0
    for _ in range(rounds):
        density = _densities(weights, places, steps, up, down)
        total = 0.0
        for j in range(density.size):
            total += seen[j] * np.log(density[j])
            density[j] = seen[j] / density[j]
        before = weights
        weights = _pulls(density, places, steps, up, down)
        for k in range(weights.size):
            weights[k] = before[k] * weights[k] / number
    return before, weights, total


@compiled
def _total(seen: np.ndarray) -> int:
    number = 0
    for often in seen:
        number += often
    return number


@compiled
def few_atoms(
    values: np.ndarray, seen: np.ndarray, support: np.ndarray, scale: float, most: int, price: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """A prior on one to `most` points: each further one must gain `price` in log-likelihood."""
    middle, passed, half = 0, seen[0], _total(seen) // 2
    while passed <= half:
        middle += 1
        passed += seen[middle]
    atoms, weights = np.empty(1), np.empty(1)
    atoms[0], weights[0] = max(0.0, values[middle]), 1.0
    best = 0.0
    for j in range(values.size):
        best -= seen[j] * abs(values[j] - atoms[0]) / scale
    places, steps, up, down = _places(values, support, scale)
    for _ in range(most - 1):
        at = _places(values, atoms, scale)
        inverse = _densities(weights, at[0], at[1], at[2], at[3])
        possible = True
        for j in range(values.size):
            possible = possible and not inverse[j] < 1e-250
            inverse[j] = seen[j] / inverse[j]
        if not possible:
            break
        wanted = support[_first_of_largest(_pulls(inverse, places, steps, up, down))]
        more = _inserted(atoms, wanted)
        if more.size == atoms.size:
            break
        even = np.empty(more.size)
        for k in range(more.size):
            even[k] = 1.0 / more.size
        _, tried, total = maximise(values, seen, more, even, scale, 15)
        if not total - best >= price - DRAW:
            break
        atoms, weights, best = more, tried, total
    return atoms, weights, best


@compiled
def _first_of_largest(pulls: np.ndarray) -> int:
    """The place of the largest, or of the first that is as large but for rounding."""
    largest = pulls[0]
    for pull in pulls:
        largest = max(largest, pull)
    for k in range(pulls.size):
        if pulls[k] >= largest * (1 - TIE):
            return k
    return 0


@compiled
def _inserted(atoms: np.ndarray, wanted: float) -> np.ndarray:
    """Rising numbers with another one among them; the same if they have it already."""
    smaller = 0
    for atom in atoms:
        if atom == wanted:
            return atoms
        if atom < wanted:
            smaller += 1
    out = np.empty(atoms.size + 1)
    for k in range(atoms.size):
        out[k if k < smaller else k + 1] = atoms[k]
    out[smaller] = wanted
    return out


@compiled
def moments(values: np.ndarray, support: np.ndarray, weights: np.ndarray, scale: float) -> np.ndarray:
    """At each value u, the sums over the support of weight × kernel × (s − u)^k for k = 0, 1, 2, without cancellation."""
    out = np.zeros((3, values.size))
    for direction in (1, -1):
        f0, f1, f2 = 0.0, 0.0, 0.0
        k = 0 if direction == 1 else support.size - 1
        j = 0 if direction == 1 else values.size - 1
        position = values[j]
        for _ in range(values.size):
            u = values[j]
            shift = u - position
            factor = np.exp(-abs(shift) / scale)
            f2 = (f2 - 2 * shift * f1 + shift * shift * f0) * factor
            f1 = (f1 - shift * f0) * factor
            f0 *= factor
            while 0 <= k < support.size and ((direction == 1 and support[k] <= u) or (direction == -1 and support[k] > u)):
                distance = support[k] - u
                mass = weights[k] * np.exp(-abs(distance) / scale)
                f0 += mass
                f1 += mass * distance
                f2 += mass * distance * distance
                k += direction
            out[0, j] += f0
            out[1, j] += f1
            out[2, j] += f2
            position = u
            j += direction
    return out
