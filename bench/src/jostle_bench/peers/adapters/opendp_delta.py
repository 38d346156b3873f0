"""OpenDP's core: noise on vectors of counts and sums, Laplace or Gaussian, whichever is less; its searches find the scales.

Counts and centred sums are its input, at the distance at which a person moves them. Where marginals have different sizes,
their shares of the budget are those that make the squared error over all cells least.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "opendp"


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """Noisy counts of every cell."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        true = np.bincount(arrays["cell"], minlength=one["cells"])
        sizes = np.array(one.get("blocks") or [one["cells"]])
        touched = [1] * sizes.size if sizes.size > 1 else [one["touched"]]
        runs = [_blocks(job, one, np.split(true, np.cumsum(sizes)[:-1]), touched) for _ in range(one["trials"])]
        values[asking.answer(one, "counts")] = np.array(runs)
    return _told(job, values, "make_laplace or make_gaussian on vectors of counts")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """Counts, and sums of v − 50, half of the budget each; means and sums follow."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        true = np.bincount(arrays["cell"], minlength=one["cells"])
        sums = np.bincount(arrays["cell"], weights=arrays["value"] - asking.CENTRE, minlength=one["cells"])
        both = [true, np.rint(sums).astype(np.int64)]
        moved = one["touched"], one["touched"]
        runs = np.array([_blocks(job, one, both, moved, [1.0, asking.REACH]) for _ in range(one["trials"])])
        values |= asking.three(one, *np.split(runs, 2, axis=1))
    return _told(job, values, "make_laplace or make_gaussian on counts and on sums of v − 50, half of the budget each")


def _blocks(job: Any, one: Any, blocks: Any, touched: Any, reach: Any = None) -> Any:
    """Noise on several vectors that share the budget."""
    reach = reach or [1.0] * len(blocks)
    sizes = np.array([block.size for block in blocks], dtype=float)
    laplace, gauss = sizes ** (1 / 3), sizes**0.5
    laplace, gauss = laplace / laplace.sum(), gauss / gauss.sum()
    found = []
    whole = sum(size * 2 * (t / (one["epsilon"] * part)) ** 2 for size, t, part in zip(sizes, touched, laplace, strict=True))
    rho = asking.rho(one["epsilon"], job["delta"])
    other = sum(size * t / (2 * rho * part) for size, t, part in zip(sizes, touched, gauss, strict=True))
    for number, block in enumerate(blocks):
        if other < whole:
            most = rho * gauss[number], reach[number] * math.sqrt(touched[number])
        else:
            most = one["epsilon"] * laplace[number], reach[number] * touched[number]
        found.append(_noisy(block, *most, normal=other < whole))
    return np.concatenate(found)


def _noisy(vector: Any, most: float, moved: float, *, normal: bool) -> Any:
    return _mechanism(vector.size, most, moved, normal)(vector.tolist())


@cache
def _mechanism(size: int, most: float, moved: float, normal: bool) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    metric = dp.l2_distance(T="f64") if normal else dp.l1_distance(T="i64")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=size), metric
    make = dp.m.make_gaussian if normal else dp.m.make_laplace
    scale = dp.binary_search_param(lambda scale: make(*space, scale), d_in=moved if normal else round(moved), d_out=most)
    return make(*space, scale)


def _told(job: dict[str, Any], values: Any, method: str) -> dict[str, Any]:
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": method}


ANSWERS = {"counts": counts, "three": three}
