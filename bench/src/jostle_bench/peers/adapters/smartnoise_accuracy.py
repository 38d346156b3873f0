"""SmartNoise SQL: a query that counts rows by cell, as its documentation has it.

It learns from the rows which cells there are, and drops those with too few (`censor_dims`), which takes a δ.
Runs are told apart by a column, so that one query makes all of them: a row is in one group, so each run has the whole ε.
"""

from __future__ import annotations

from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "smartnoise-sql"
DELTA = 1e-6


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """Counts by cell; those that were dropped are 0."""
    import pandas as pd
    import snsql  # type: ignore[import-not-found]

    values, spent = {}, 0.0
    for one, counts in estimating.inputs(job):
        cells = np.repeat(np.arange(counts.size), counts.reshape(-1))
        runs = np.repeat(np.arange(job["trials"]), cells.size)
        rows = pd.DataFrame({"run": runs, "cell": np.tile(cells, job["trials"])})
        table = {"row_privacy": True, "rows": len(rows), "run": {"type": "int"}, "cell": {"type": "int"}}
        privacy = snsql.Privacy(epsilon=one["epsilon"], delta=DELTA)
        reader = snsql.from_df(rows, privacy=privacy, metadata={"": {"": {"rows": table}}})
        query = "SELECT run, cell, COUNT(*) AS counted FROM rows GROUP BY run, cell"
        found = np.zeros((job["trials"], counts.size))
        for run, cell, counted in reader.execute(query)[1:]:
            found[run, cell] = counted
        values[one["name"]] = found
        spent = max(spent, float(reader.get_privacy_cost(query)[1]))
    method = "SELECT COUNT(*) … GROUP BY cell; rare cells dropped"
    return {"values": values, "delta": spent, "neighbours": "add_remove", "method": method}


ANSWERS = {"histogram": histogram}
