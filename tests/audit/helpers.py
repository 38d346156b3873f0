"""Entries that several tests of the audit share."""

from __future__ import annotations

import math

import numpy as np

from jostle.audit import Audited, Pair, catalogue
from jostle.kernel.budget import PURE

ENTRIES = {name: entry for name, entry in catalogue.every().items() if entry.measure == PURE}


def leaky(loss: float, name: str = "leaky") -> Audited:
    """Randomized response on a bit that loses this much, whatever is claimed."""

    def run(side, epsilon, neighbours, samples, seed):
        truth = np.random.default_rng(seed).random((samples, 1)) < 1 / (1 + math.exp(-loss))
        return np.where(truth, side, 1 - side).astype(float)

    return Audited(name=name, family="mechanism", run=run, pairs=lambda neighbours: [Pair("a bit", 0, 1)])
