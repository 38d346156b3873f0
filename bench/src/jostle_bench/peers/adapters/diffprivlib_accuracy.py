"""diffprivlib: `tools.histogram` and `histogram2d`, and `tools.quantile` for several quantiles at once."""

from __future__ import annotations

import time
from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "diffprivlib"
MOST_RECORDS = 10**5
"""It builds Python lists of all records for every quantile: small inputs come first, as long as there is time."""


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """Its noise is geometric, and what would fall below 0 is 0."""
    from diffprivlib import tools  # type: ignore[import-not-found]

    values = {}
    for number, (one, counts) in enumerate(estimating.inputs(job)):
        # One record a cell, weighing as much as the cell: the same histogram as of all records.
        places = [axis.reshape(-1) + 0.5 for axis in np.indices(counts.shape)]
        bounds = [(0, side) for side in counts.shape]
        runs = []
        for trial in range(job["trials"]):
            seed = estimating.seed(job["seed"], number, trial)
            how = {"epsilon": one["epsilon"], "weights": counts.reshape(-1), "random_state": seed}
            if counts.ndim == 1:
                found, _ = tools.histogram(places[0], bins=counts.size, range=bounds[0], **how)
            else:
                found, _, _ = tools.histogram2d(*places, bins=list(counts.shape), range=bounds, **how)
            runs.append(np.asarray(found, dtype=np.int64).reshape(-1))
        values[one["name"]] = np.array(runs)
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": "tools.histogram (truncated at 0)"}


def quantiles(job: dict[str, Any]) -> dict[str, Any]:
    """Each by the exponential mechanism, with its share of ε."""
    from diffprivlib import tools

    values, began = {}, time.perf_counter()
    with np.load(job["data"]) as data:
        given = [(number, one, data[one["array"]]) for number, one in enumerate(job["inputs"])]
    for number, one, counts in sorted(given, key=lambda each: int(each[2].sum())):
        if counts.sum() > MOST_RECORDS or time.perf_counter() - began > job["enough"]:
            break
        records = estimating.spread(counts)
        how = {"quant": job["levels"], "epsilon": one["epsilon"], "bounds": (0, counts.size)}
        runs = [
            tools.quantile(records, **how, random_state=estimating.seed(job["seed"], number, t))
            for t in range(job["trials"])
        ]
        values[one["name"]] = np.array(runs)
    if not values:
        raise NotImplementedError(f"it is not tried on more than {MOST_RECORDS:,} records: it makes lists of all of them")
    return {"values": values, "delta": 0.0, "neighbours": "replace", "method": "tools.quantile, ε shared by the quantiles"}


ANSWERS = {"histogram": histogram, "quantiles": quantiles}
