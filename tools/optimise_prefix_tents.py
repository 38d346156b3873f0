"""Make the shipped weights of tents for prefix sums: `python tools/optimise_prefix_tents.py` (half an hour)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jostle.kernel.partition import Vector
from jostle.linear.design.prefix_tents import KNOTS, SHIPPED, fitted, scales, tents_at_every_scale

ROUNDS = {8: 300, 16: 300, 32: 300, 64: 300, 128: 300, 256: 300, 512: 200, 1024: 100, 2048: 30, 4096: 12}
"""By the number of cells, how many steps of descent. Large ones begin where smaller ones ended."""


def optimise(n: int, start: Vector) -> tuple[float, Vector]:
    """The mean variance of all prefix sums, for noise of variance 1, and the logarithms of the weights, a row per scale.

    >>> error, logarithms = optimise(16, np.zeros((5, KNOTS)))
    >>> logarithms.shape, error < 2.6
    ((5, 5), True)
    """
    from scipy.optimize import minimize

    options = {"maxiter": ROUNDS[n]}
    found = minimize(
        variance(n), start.reshape(-1), jac=True, method="L-BFGS-B", bounds=[(-9, 9)] * start.size, options=options
    )
    return float(np.exp(found.fun)) / n, found.x.reshape(start.shape)


def variance(n: int) -> Callable[[Vector], tuple[float, Vector]]:
    """The logarithm of tr(P G⁻¹ P') and its gradient, where G = S H S, H = Σ wᵣ rᵣrᵣ' and S makes its diagonal 1."""
    rows, basis = tents_at_every_scale(n)
    chunks = np.array_split(np.arange(rows.shape[0]), max(1, rows.shape[0] * n // 2**23))

    def of(logarithms: Vector) -> tuple[float, Vector]:
        weights = np.exp(basis @ logarithms)
        gram = (rows.T @ (rows * weights[:, None])).toarray()
        diagonal = gram.diagonal().copy()
        scaled = 1 / np.sqrt(diagonal)
        gram *= scaled
        gram *= scaled[:, None]
        known = np.cumsum(np.linalg.inv(gram), axis=0)
        total = float(np.cumsum(known[::-1], axis=0)[::-1].trace())
        slope = known.T @ known
        along = (slope * gram).sum(axis=1) / diagonal
        slope *= -scaled
        slope *= scaled[:, None]
        slope[np.diag_indices(n)] += along
        each = np.concatenate([((rows[chunk] @ slope) * rows[chunk].toarray()).sum(axis=1) for chunk in chunks])
        return float(np.log(total)), basis.T @ (each * weights) / total

    return of


def main() -> None:
    """Optimise all sizes, from small to large, and keep what was found after each."""
    found: dict[str, Vector] = {}
    last: Vector = np.zeros((len(scales(min(ROUNDS))) + 1, KNOTS))
    for n in ROUNDS:
        error, last = optimise(n, fitted(last, len(scales(n)) + 1))
        found[str(n)] = last.astype(np.float32)
        np.savez_compressed(SHIPPED, allow_pickle=False, **found)
        print(n, np.sqrt(error), flush=True)


if __name__ == "__main__":
    main()
