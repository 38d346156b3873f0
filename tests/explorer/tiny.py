"""A selector that is quick to train and has something to choose."""

from __future__ import annotations

import numpy as np

from jostle.choice import delphi, selectors


def tiny_selector():
    """Two algorithms on two shapes: few records are best answered by Uniform, many by Laplace."""
    shapes = {"rising": np.arange(256) ** 3, "falling": np.arange(256)[::-1].copy() ** 2}
    how = {"sides": [64, 128, 256], "exponents": list(range(4, 24, 3)), "trials": 2, "workers": 1}
    return selectors.train(delphi.collect("range-1d", ["Laplace", "Uniform"], shapes=shapes, **how), least=10)
