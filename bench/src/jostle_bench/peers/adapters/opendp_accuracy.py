"""OpenDP: discrete Laplace noise on every cell, and its b-ary tree with consistency for ranges and quantiles.

Counts are its input, at an L1 distance of 1: one record more or less.
"""

from __future__ import annotations

from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "opendp"
TOLD = {"delta": 0.0, "neighbours": "add_remove"}


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """Every cell with noise; the scale is found by its own search."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    values = {}
    for one, counts in estimating.inputs(job):
        space = dp.vector_domain(dp.atom_domain(T="i64"), size=counts.size), dp.l1_distance(T="i64")
        release = _measured(dp, lambda scale, space=space: dp.m.make_laplace(space[0], space[1], scale), one["epsilon"])
        flat = counts.reshape(-1).tolist()
        values[one["name"]] = np.array([release(flat) for _ in range(job["trials"])], dtype=np.int64)
    return {"values": values, **TOLD, "method": "make_laplace on the cells (discrete noise)"}


def tree(job: dict[str, Any]) -> dict[str, Any]:
    """The leaves of a noisy tree of counts, made consistent."""
    values = {}
    for one, counts in estimating.inputs(job):
        if counts.ndim > 1:
            raise NotImplementedError("its tree is for one dimension")
        values[one["name"]] = np.array(_leaves(counts, one["epsilon"], job["trials"]))
    return {"values": values, **TOLD, "method": "make_b_ary_tree, make_consistent_b_ary_tree"}


def quantiles(job: dict[str, Any]) -> dict[str, Any]:
    """From the same tree."""
    import opendp.prelude as dp

    values = {}
    for one, counts in estimating.inputs(job):
        leaves = _leaves(counts, one["epsilon"], job["trials"])
        read = dp.t.make_quantiles_from_counts([float(edge) for edge in range(len(leaves[0]) + 1)], job["levels"])
        values[one["name"]] = np.array([read(one_run) for one_run in leaves])
    return {"values": values, **TOLD, "method": "make_b_ary_tree, make_consistent_b_ary_tree, make_quantiles_from_counts"}


def _leaves(counts: Any, epsilon: float, trials: int) -> list[list[float]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    # The paper that it cites takes the number of cells; with the number of records, the tree is much the same.
    branching = dp.t.choose_branching_factor(counts.size)
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=counts.size), dp.l1_distance(T="i64")
    nodes = dp.t.make_b_ary_tree(*space, leaf_count=counts.size, branching_factor=branching)
    release = _measured(dp, lambda scale: nodes >> dp.m.then_laplace(scale), epsilon)
    consistent, flat = dp.t.make_consistent_b_ary_tree(branching), counts.tolist()
    return [consistent(release(flat))[: counts.size] for _ in range(trials)]


def _measured(dp: Any, make: Any, epsilon: float) -> Any:
    return make(dp.binary_search_param(make, d_in=1, d_out=epsilon))


ANSWERS = {"histogram": histogram, "ranges": tree, "quantiles": quantiles}
