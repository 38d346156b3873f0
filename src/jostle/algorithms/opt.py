"""OPT: a strategy optimised for the workload (McKenna et al. 2018)."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Identity, Prefix, Strategy, hierarchy
from jostle.linear.design.gaussian import GaussianStrategy
from jostle.linear.design.gram import Gram, fingerprint
from jostle.linear.design.levels import best_weights, level_energies, weighted
from jostle.linear.design.p_identity import PIdentity, refine, total_variance
from jostle.linear.design.prefix_rows import interpolated
from jostle.linear.design.prefix_tents import least_squares_cells, prefix_bound, prefix_tents
from jostle.linear.design.tents import best_tents
from jostle.linear.fitting.projections import project_nonnegative
from jostle.linear.fitting.trees import tree_least_squares
from jostle.workloads import Ranks, Workload

LARGEST = 2**14
"""On more cells than this, only trees are considered."""

DENSE = 2**9
"""On at most this many cells, the best strategy under Gaussian noise is found, which takes about a second."""

_ABOVE = 1.02
"""So far above the bound from below is the error of tents for prefixes, on 512 cells and more: `prefix_tents`."""

REFINED = 2**10
"""On at most this many cells, a strategy that does not come with the package is refined, which takes about a second."""


@algorithm(name="OPT", tasks=("range-1d", "range-2d"), cite="mckenna2018optimizing", data_dependent=False, batched=True)
def opt(x: Source, workload: Workload, budget: Budget) -> Vector:
    """The strategy that answers the workload with the least expected error, among trees and p-identity ones (Section 5.2).

    On a line, strategies for all prefixes, all ranges and ranks come with the package. Others start from overlapping sums of
    a few sizes and are refined by gradient descent on domains of up to 1,024 cells; these are kept in the user's cache
    folder. Large domains get a tree whose levels are weighted for the workload.

    Under ρ, noise goes by the L2 norm: up to 512 cells get a strategy within 1 % of the best, which is a convex problem. All
    prefixes of a longer line get tents at every scale; others get a tree or overlapping sums, weighted anew.

    Privacy: one measurement of a strategy that depends only on the workload. The rest is post-processing.
    """
    found = best_strategy(workload, squares=by_squares(budget))
    return found.solve(x.measure(found.queries, budget))


@dataclass(frozen=True)
class Optimised:
    """A strategy and what it is worth for the workload that it was made for."""

    queries: Strategy
    """What to measure."""

    solve: Callable[[Vector], Vector]
    """From its noisy answers to the cells."""

    variance: float
    """The workload's total variance for noise of variance 1 at a norm of 1; exact but for irregular trees and for tents."""


_KINDS: Final = {Prefix: "prefix", Ranks: "ranks"}
"""Queries that strategies were shipped for, apart from all ranges."""

_found: dict[str, Optimised] = {}


def by_squares(budget: Budget) -> bool:
    """Whether its noise is Gaussian, and so goes by the L2 norm of a strategy's columns, not by their L1 norm."""
    return budget.measure != "pure"


def best_strategy(workload: Workload, *, squares: bool = False) -> Optimised:
    """The best strategy that is known for the workload, for Laplace or for Gaussian noise, remembered in this process.

    >>> from jostle import workloads
    >>> best_strategy(workloads.identity(64)).queries.norm
    1
    >>> round(best_strategy(workloads.prefix(256)).variance / 256)
    27
    >>> round(best_strategy(workloads.prefix(256), squares=True).variance / 256, 1)
    6.4
    """
    name = fingerprint(workload)
    key = f"{name}, squares" if squares else name
    if key not in _found:
        if len(_found) >= 32:
            _found.clear()
        tree, other = _tree(workload, squares=squares), _by_squares(workload) if squares else None
        other = other or _overlapping(workload, name, squares=squares)
        _found[key] = other if other and other.variance < 0.999 * tree.variance else tree
    return _found[key]


def _by_squares(workload: Workload) -> Optimised | None:
    """What is best under Gaussian noise, or within 1 % of it: any workload on a few cells, and prefixes on many."""
    cells = workload.shape[1]
    if isinstance(workload.queries, Identity):
        return None
    if isinstance(workload.queries, Prefix) and DENSE < cells <= LARGEST:
        tents = prefix_tents(cells)
        return Optimised(tents, partial(least_squares_cells, tents), cells * (_ABOVE * prefix_bound(cells)) ** 2)
    gram = Gram.of(workload) if cells <= DENSE else None
    if gram is None or gram.dense is None:
        return None
    strategy = GaussianStrategy(gram.dense, workload.domain)
    return Optimised(strategy.queries, strategy.solve, strategy.variance(gram.dense))


def _tree(workload: Workload, *, squares: bool) -> Optimised:
    """Nested grids; of the levels of a tree that halves and of one that cuts in three, those that are worth measuring."""
    found = []
    for branching in (2, 3):
        full = hierarchy(workload.domain, branching)
        weights, variance = best_weights(full, level_energies(full, workload.queries), squares=squares)
        found.append((variance, full, weights))
    variance, full, weights = min(found, key=lambda candidate: candidate[0])
    tree = weighted(full, weights)
    return Optimised(tree, partial(tree_least_squares, tree), variance)


def _overlapping(workload: Workload, name: str, *, squares: bool) -> Optimised | None:
    """Every cell and overlapping sums; None where that is known not to help, or the domain is too large."""
    if isinstance(workload.queries, Identity) or not 2 < workload.shape[1] <= LARGEST:
        return None
    gram = Gram.of(workload)
    if gram is None:
        return None
    theta = _rows(workload, gram, name)
    strategy = PIdentity(theta, workload.domain, squares=squares)
    return Optimised(strategy.queries, strategy.least_squares, strategy.variance(gram.rows, gram.diagonal))


def _rows(workload: Workload, gram: Gram, name: str) -> Vector:
    """The sums to measure: those that come with the package, else from the user's cache, else made now and kept there."""
    cells = workload.shape[1]
    kind = _KINDS.get(type(workload.queries), "ranges" if len(workload.domain) == 1 else "")
    known = shipped(kind, cells) if kind else None
    if known is not None and (kind != "ranges" or gram.everything) and (cells > REFINED or cells.bit_count() == 1):
        return known
    theta = recall(name, cells)
    if theta is None:
        starts = [best_tents(workload.domain, gram).toarray()] + ([] if known is None else [known])
        theta = min(starts, key=lambda start: total_variance(start, gram.rows, gram.diagonal)[0])
        if cells <= REFINED:
            theta = refine(theta, gram.rows, gram.diagonal, iterations=100)
        theta = rounded(theta)  # as it will be read next time, so that a seed means the same then
        if cells >= 512:
            keep(name, theta)
    return theta


SHIPPED: Final = Path(__file__).with_name("strategies.npz")
"""Made by `python tools/optimisepy`, from a checkout."""

_FORMAT = "1"


def shipped(kind: str, n: int) -> Vector | None:
    """The rows for "prefix" or "ranges" (all of them) over n cells, stretched from the nearest size that there is."""
    sizes = [int(name.split("-")[1]) for name in _tables() if name.startswith(f"{kind}-") and name.endswith("-values")]
    nearest = min(sizes, key=lambda size: abs(np.log(size / n)))
    if not 0.7 < n / nearest < 1.45:
        return None
    return stretch(_unpack({part: _tables()[f"{kind}-{nearest}-{part}"] for part in _PARTS}), n)


def stretch(theta: Vector, n: int) -> Vector:
    """The same rows over another number of cells.

    >>> stretch(np.array([[0.0, 1.0]]), 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    cells = theta.shape[1]
    return interpolated(theta, (np.arange(n) + 0.5) / n * cells - 0.5)


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    with np.load(SHIPPED, allow_pickle=False) as file:
        return dict(file)


def cache_folder() -> Path:
    """Where optimised strategies are kept: $JOSTLE_CACHE, or the platform's folder for caches."""
    own = os.environ.get("JOSTLE_CACHE")
    if own:
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "jostle" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "jostle"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jostle"


def recall(name: str, cells: int) -> Vector | None:
    """What was kept under this name, if it can be read and fits."""
    try:
        with _file(name).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            theta = _unpack({part: file[part] for part in _PARTS})
    except (OSError, KeyError, ValueError, IndexError, EOFError, zipfile.BadZipFile):
        return None
    return theta if theta.shape[1] == cells and np.isfinite(theta).all() and (theta >= 0).all() else None


def keep(name: str, theta: Vector) -> None:
    """Keep it for the next time. A reader sees the whole file or none; where nothing can be written, nothing is kept."""
    target = _file(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, allow_pickle=False, **pack(theta))
            Path(scratch).replace(target)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError:
        return


def _file(name: str) -> Path:
    return cache_folder() / f"strategy-{_FORMAT}-{name}.npz"


_PARTS = ("values", "steps", "counts", "cells")


def pack(theta: Vector) -> dict[str, Any]:
    """Sparse rows, in little space: half-precision values, and columns as steps from one to the next."""
    kept = theta > 1e-3
    columns = np.nonzero(kept)[1]
    return {
        "values": np.minimum(theta[kept], np.finfo(np.float16).max).astype(np.float16),  # some grow without end
        "steps": np.diff(columns, prepend=0).astype(np.int32),
        "counts": kept.sum(axis=1).astype(np.int32),
        "cells": np.array(theta.shape[1], dtype=np.int64),
    }


def rounded(theta: Vector) -> Vector:
    """What comes back of it from disk."""
    return _unpack(pack(theta))


def _unpack(parts: dict[str, Any]) -> Vector:
    counts = parts["counts"].astype(np.int64)
    theta = np.zeros((len(counts), int(parts["cells"])))
    theta[np.repeat(np.arange(len(counts)), counts), np.cumsum(parts["steps"])] = parts["values"]
    return theta


@algorithm(
    name="OPT-nonnegative",
    tasks=("range-1d", "range-2d"),
    cite="mckenna2018optimizing",
    data_dependent=True,
    batched=True,
)
def opt_nonnegative(x: Source, workload: Workload, budget: Budget) -> Vector:
    """What OPT measures, then the counts of at least 0 whose answers to the workload are nearest to OPT's.

    Nearest in the requested answers, not in the cells: sums over sparse parts of the domain stay free of the bias
    that clipped cells have, and the error falls on every input. Answers to other questions may be worse than OPT's.

    Privacy: one measurement of a strategy that depends only on the workload. The rest is post-processing.
    """
    found = best_strategy(workload, squares=by_squares(budget))
    return project_nonnegative(workload, found.solve(x.measure(found.queries, budget)), total=x.total)
