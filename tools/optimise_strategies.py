"""Make the strategies that come with the package: `python tools/optimise_strategies.py` (ten minutes on one core).

For all prefixes, all ranges and the ranks of quantiles on a line: gradient descent over p-identity strategies from several
arrangements of overlapping sums, of which the best is kept. It all follows from the domain, without random numbers.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from jostle.algorithms.opt import SHIPPED, pack
from jostle.kernel.partition import Vector
from jostle.linear.design.gram import Gram
from jostle.linear.design.p_identity import refine, total_variance
from jostle.linear.design.tents import best_tents, tents
from jostle.workloads import Workload, all_ranges, prefix, ranks

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
KINDS = {"prefix": prefix, "ranges": all_ranges, "ranks": ranks}


def starts(workload: Workload, gram: Gram) -> list[Any]:
    """Arrangements to start from: the best even one, and some that are a little finer than it.

    Ranks need the total besides. On many cells no finer arrangement led to less than the even one with it.
    """
    from scipy.sparse import vstack

    (n,) = workload.domain
    if workload.kind == "ranks":
        even, total = best_tents((n,), gram), np.full((1, n), 0.5)
        finer = vstack([0.7 * tents((n,), n / 4), 0.7 * tents((n,), 16), total])
        return [even, vstack([even, total]), *([finer] if n <= 512 else [])]
    levels = ([n / 2, 16], [n / 2, 21], [n / 4, 16], [n / 2, n / 14, 25])
    arrangements = [vstack([0.7 * tents((n,), spacing) for spacing in spacings]) for spacings in levels]
    return [best_tents((n,), gram), *arrangements]


def optimised(workload: Workload) -> tuple[Vector, float]:
    """The best rows found, and the root of their total variance at ε = 1."""
    gram = Gram.of(workload)
    if gram is None:
        raise TypeError(f"nothing is known about the squares of {workload!r}")
    found = [refine(start.toarray(), gram.rows, gram.diagonal, iterations=400) for start in starts(workload, gram)]
    variances = [total_variance(theta, gram.rows, gram.diagonal)[0] for theta in found]
    best = int(np.argmin(variances))
    return found[best], float(np.sqrt(2 * variances[best]))


def main() -> None:
    """Optimise for every kind and size, and write them all into one file."""
    tables: dict[str, Any] = {}
    for kind, make in KINDS.items():
        for n in SIZES:
            began = time.perf_counter()
            theta, error = optimised(make(n))
            tables |= {f"{kind}-{n}-{part}": values for part, values in pack(theta).items()}
            seconds = time.perf_counter() - began
            sys.stdout.write(f"{kind:7} {n:5} cells  {len(theta):4} sums  error {error:10.1f}  {seconds:5.0f} s\n")
            sys.stdout.flush()
    np.savez_compressed(SHIPPED, allow_pickle=False, **tables)
    sys.stdout.write(f"{SHIPPED.name}: {SHIPPED.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
