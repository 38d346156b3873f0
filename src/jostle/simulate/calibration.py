"""By how much simulated intervals are widened, as public data require: fitted, and checked on data sets left out.

A simulation on released numbers is too sure where these are smoother than the data, and how much depends on how much there
is to see. So there is a factor per algorithm, kind of workload and strength of the signal, in `calibration.json`, which
`jostle bench coverage --fit` writes. No private number has a part in it: the strength is that of the released numbers.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from jostle.kernel.budget import Price
from jostle.kernel.partition import Vector

KNOTS: Final = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""The strengths that there are factors for. Between them, their logarithms go along straight lines."""

Kind = tuple[str, tuple[int, ...]]
"""A kind of workload, and the shape of its domain."""

FEW: Final = 64
"""Up to this many cells, which say little about one another, factors are others."""

LEAST: Final = 0.02
"""No simulated margin counts as less than this part of the usual one (the root of the mean square): a cell that was
simulated without any error is not known without any."""

SINGLE: Final = ("identity", "prefix")
"""The workloads with factors of their own. All others share those of ranges."""


def signal(estimate: Vector, price: Price) -> float:
    """How much there is to see: the logarithm of ε times the records per cell, by what was released.

    >>> signal(np.full(10, 50.0), Price.of("0.2"))
    1.0
    """
    return float(np.log10(max(price.rate * float(estimate.sum()) / estimate.size, 1e-6)))


def key(algorithm: str, kind: Kind) -> str:
    """Under which name the factors are kept.

    >>> key("DAWA", ("prefix", (11,))), key("DAWA", ("rectangles", (32, 32)))
    ('DAWA, prefix, 1D, few cells', 'DAWA, ranges, 2D')
    >>> key("AdaptiveGrid", ("identity", (64, 64)))
    'Bayes, identity, 2D'
    """
    few = ", few cells" if math.prod(kind[1]) <= FEW else ""
    if kind[0] == "identity" and algorithm in ("OPT-Bayes", "AdaptiveGrid"):
        algorithm = "Bayes"  # which they run for single cells
    elif algorithm == "OPT-Bayes" and len(kind[1]) == 2:
        algorithm = "AdaptiveGrid"  # which runs it for most sums
    return f"{algorithm}, {kind[0] if kind[0] in SINGLE else 'ranges'}, {len(kind[1])}D{few}"


def widened(raw: Vector, algorithm: str, kind: Kind, strength: float) -> Vector:
    """The margins of a data-dependent algorithm, widened.

    >>> float(widened(np.ones(1), "an algorithm of your own", ("identity", (9,)), 0.0)[0])
    1.0
    """
    found = _of(factors(), key(algorithm, kind))
    return raw if found is None else apply(raw, found, strength)


def apply(raw: Vector, found: tuple[float, ...], strength: float) -> Vector:
    """With given numbers: how much narrower and wider margins than the usual one give way, then the factor at each knot.

    >>> numbers = (0.0, -0.5, *[2.0] * len(KNOTS))
    >>> apply(np.array([3.0, 3.0]), numbers, 0.0).tolist()
    [6.0, 6.0]
    >>> apply(np.array([1.0, 1.0, 1.0, 7.0]), numbers, 0.0).round(1).tolist()  # the widest gives way
    [2.0, 2.0, 2.0, 10.0]
    """
    narrow, wide, *each = found
    usual = math.sqrt(float(np.mean(raw**2)))
    if usual == 0:
        return raw
    relative = np.maximum(raw / usual, LEAST)
    factor = math.exp(float(np.interp(strength, KNOTS, np.log(each))))
    return np.asarray(usual * factor * relative ** (1 + np.where(relative < 1, narrow, wide)))


def typical(algorithm: str, kind: Kind, strength: float) -> float | None:
    """The margin of a typical answer on public data, in those of the algorithm that previews compare with.

    That is Laplace for cells, and HB for everything else. None for algorithms that were not measured.
    """
    found = _of(_read()["typical"], key(algorithm, kind))
    return None if found is None else float(np.exp(np.interp(strength, KNOTS, np.log(found))))


def factors() -> dict[str, tuple[float, ...]]:
    """By how much intervals are widened, by name."""
    return _read()["factors"]


def _of(known: dict[str, tuple[float, ...]], name: str) -> tuple[float, ...] | None:
    """What is known of few cells, or of many."""
    return known.get(name, known.get(name.removesuffix(", few cells")))


@cache
def _read() -> dict[str, dict[str, tuple[float, ...]]]:
    """What the file says."""
    text = json.loads((files("jostle.simulate") / "calibration.json").read_text(encoding="utf-8"))
    return {part: {name: tuple(numbers) for name, numbers in text[part].items()} for part in ("factors", "typical")}
