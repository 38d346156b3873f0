"""Mixtures of Laplace distributions on a line: the loops behind `bayes`, compiled.

Everything here takes distinct values in rising order, and how often each was seen: noisy counts on a lattice repeat a lot.
With the kernel r^|u − s| = exp(−|u − s|/scale), a sum over all support points s ≤ u follows from the one at the next smaller
u by one factor, so each pass takes linear time.

Sums, searches and sorts are written out: what Numba has for them takes longer to compile, and brings SciPy with it whenever
compiled loops are loaded.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled

TIE = 1e-10
"""Two points that are wanted alike within this share are equally wanted, and the smaller is taken: symmetric counts must not
be told apart by the rounding of a sum, which depends on the order of its terms."""

DRAW = 1e-7
"""For the same reason, log-likelihoods that differ by less are equal: with few counts, they often are."""


@compiled
def support_for(values: np.ndarray, scale: float) -> np.ndarray:
    """Where the prior may put its mass: near the values, not below 0, and everywhere from 0 to a few scales."""
    step = max(1.0, np.floor(scale / 3))
    near = min(values[-1], 4 * scale + 8.0)
    out = np.empty(values.size + int(max(near, 0.0) / step) + 2)
    size = 0
    at = 0.0
    while at <= near or size == 0:
        out[size] = at
        size += 1
        at += step
    last = out[size - 1]
    for u in values:
        point = np.rint(u / step) * step
        if point > last:
            out[size] = point
            size += 1
            last = point
    return out[:size]


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
