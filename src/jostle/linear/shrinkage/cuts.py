"""Cutting a line of noisy cells into intervals that are nearly even: public post-processing only.

The intervals have power-of-two lengths and begin anywhere, as in DAWA (Li, Hay, Miklau, Wang: A data- and workload-aware
algorithm for range queries under differential privacy, PVLDB 7(5), 2014, Section 3).
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.functions.intervals import cheapest_cut, deviations, lengths
from jostle.kernel.partition import Counts, Vector

_GRAIN = 2**10
"""Costs are whole numbers of this many parts of the noise's scale, or of a record where that is more."""


def even_intervals(noisy: Vector, scale: float, price: float) -> Counts:
    """Where the intervals of the cheapest cut begin; an interval costs its cells' distance from their median, and a price.

    Noise of this scale adds to the distances even of cells that are alike, so what it is expected to add is taken off: its
    mean size for every cell but one, as one cell alone is always even. The price is in scales, too.

    >>> even_intervals(np.array([10.0, 11.0, 9.0, 10.0, 60.0, 62.0]), scale=2.0, price=3.0).tolist()
    [0, 4]
    """
    unit = _GRAIN / max(scale, 1.0)
    size = 1.0 / np.sinh(1.0 / scale) if scale > 1e-2 else 0.0
    costs = deviations(np.round(noisy * unit).astype(np.int64))
    costs += round(price * scale * unit) - np.round((lengths(noisy.size) - 1) * (size * unit)).astype(np.int64)[:, None]
    return cheapest_cut(costs)[1]
