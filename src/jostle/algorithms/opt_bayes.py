"""OPT-Bayes: a strategy optimised for the workload, with cells shrunk by empirical Bayes (after McKenna et al. 2018)."""

from __future__ import annotations

import numpy as np

from jostle.algorithms.bayes import REACHES, bayes
from jostle.algorithms.opt import best_strategy, by_squares, opt_nonnegative
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Identity, identity
from jostle.linear.design.gram import Gram, fingerprint
from jostle.linear.design.p_identity import PIdentity
from jostle.linear.design.tents import best_tents
from jostle.linear.fitting.projections import project_nonnegative
from jostle.linear.shrinkage.bayes import shrink
from jostle.linear.shrinkage.few_cells import MOST, posterior_of_few
from jostle.linear.shrinkage.fusion import fuse_known, fuse_rows, held_back, shared_errors
from jostle.linear.shrinkage.leaves import regular
from jostle.linear.shrinkage.priors import SHARP
from jostle.workloads import Workload

LARGEST = 2**12
"""On more cells than this the update is too dear: there it is OPT-nonnegative."""


@algorithm(name="OPT-Bayes", tasks=("range-1d", "range-2d"), cite="mckenna2018optimizing", data_dependent=True, version=6)
def opt_bayes(x: Source, workload: Workload, budget: Budget) -> Vector:
    """Cells and overlapping sums, weighted for the workload (Section 5.2); the cells shrunk, then fused with the sums.

    Up to 64 cells are shrunk under many priors, and the counts of at least 0 are taken whose answers are nearest.

    Privacy: one Laplace measurement of a strategy that depends only on the workload. The rest is post-processing.
    """
    if isinstance(workload.queries, Identity):  # nothing serves single cells better than themselves
        return bayes.plan(x, workload, budget)
    if x.size <= MOST:
        return _few_cells(x, workload, budget)
    found = _tents(workload)
    if found is None:
        return opt_nonnegative.plan(x, workload, budget)
    noise, scale = x.noise_variance(found.queries, budget), x.noise_scale(found.queries, budget)
    answers = x.measure(found.queries, budget)
    noisy = answers[: x.size] / found.cells
    if scale == 0:
        return noisy
    weight = float(found.cells[0])  # tents add up to 1, so all cells weigh the same
    around = regular(x.shape, x.shape).surroundings(noisy, [r for r in REACHES[len(x.shape)] if 4 * r <= max(x.shape)])
    cells = shrink(noisy, scale / weight, around)
    rows = found.theta.toarray() * found.cells
    shared = shared_errors(cells, noise / weight**2)
    return fuse_rows(cells, shared, rows, answers[x.size :], np.full(len(rows), noise))


def _few_cells(x: Source, workload: Workload, budget: Budget) -> Vector:
    """The same with OPT's strategy, better than tents on few cells: cells under many priors, fused with the sums.

    No farther from OPT's unbiased answers than these allow: where no prior fits, sums of shrunk cells would be worse.
    """
    found, gram = best_strategy(workload, squares=by_squares(budget)), Gram.of(workload)
    rows = found.queries.dense()
    single = (rows != 0).sum(axis=1) == 1
    weights = (rows * single[:, None]).max(axis=0)
    own = (rows * single[:, None]).argmax(axis=0)
    scale, noise = x.noise_scale(found.queries, budget), x.noise_variance(found.queries, budget)
    if scale < SHARP * weights.min() or not weights.all() or gram is None or gram.dense is None:
        return opt_nonnegative.plan(x, workload, budget)
    answers = x.measure(found.queries, budget)
    known = posterior_of_few((answers[own] / weights)[None], scale / weights)
    others = np.setdiff1d(np.arange(len(rows)), own)
    fused, covariance = fuse_known(known.means[0], known.covariances[0], rows[others], answers[others], noise)
    variance = found.variance * x.noise_variance(identity(x.shape), budget)
    nearer = held_back(gram.dense, found.solve(answers), variance, fused, covariance)
    return project_nonnegative(workload, nearer, total=x.total)


_found: dict[str, PIdentity | None] = {}


def _tents(workload: Workload) -> PIdentity | None:
    """Every cell and the tents that serve the workload best, remembered in this process; None on large domains."""
    name = fingerprint(workload)
    if name not in _found:
        if len(_found) >= 32:
            _found.clear()
        gram = Gram.of(workload) if 2 < workload.shape[1] <= LARGEST else None
        _found[name] = None if gram is None else PIdentity(best_tents(workload.domain, gram), workload.domain)
    return _found[name]
