"""diffprivlib: a histogram of a column that PyArrow reads, and noise number by number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "diffprivlib"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """`tools.histogram` with declared bins."""
    if job["bounded"]:
        raise NotImplementedError("it bounds nobody's rows")
    import pyarrow.parquet as pq
    from diffprivlib.tools import histogram as private  # type: ignore[import-not-found]

    def once() -> Any:
        column = pq.read_table(job["data"], columns=["x"])["x"].to_numpy()
        counts, _ = private(column, epsilon=job["epsilon"], bins=job["cells"], range=(0, job["cells"]))
        return counts.tolist()

    return once


def noise(job: dict[str, Any]) -> Callable[[], Any]:
    """The mechanism that its histogram uses: truncated geometric noise, one number at a time."""
    from diffprivlib.mechanisms import GeometricTruncated  # type: ignore[import-not-found]

    def once() -> Any:
        mechanism = GeometricTruncated(epsilon=job["epsilon"], sensitivity=1, lower=0, upper=sys.maxsize)
        return [mechanism.randomise(0) for _ in range(job["cells"])]

    return once


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "noise": lambda job: timing.repeated(job, noise) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("diffprivlib", job),
}
