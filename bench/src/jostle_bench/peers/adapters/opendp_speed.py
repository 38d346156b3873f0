"""OpenDP's plain core: exact noise, and a histogram of a column that PyArrow reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "opendp"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """A count for each category, and discrete Laplace noise, chained."""
    if job["bounded"]:
        raise NotImplementedError("the core bounds nobody's rows: that is for its front for Polars")
    import opendp.prelude as dp
    import pyarrow.parquet as pq

    dp.enable_features("contrib")

    def once() -> Any:
        column = pq.read_table(job["data"], columns=["x"])["x"].to_numpy().copy()  # it takes no arrays that are read-only
        space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
        counts = space >> dp.t.then_count_by_categories(list(range(job["cells"])), null_category=False, TOA="i64")
        private = counts >> dp.m.then_laplace(scale=1 / job["epsilon"])
        return private(column)

    return once


def noise(job: dict[str, Any]) -> Callable[[], Any]:
    """Discrete Laplace noise on integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    zeros = [0] * job["cells"]
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return lambda: dp.m.make_laplace(domain, metric, scale=1 / job["epsilon"])(zeros)


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "noise": lambda job: timing.repeated(job, noise) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("opendp.prelude", job),
}
