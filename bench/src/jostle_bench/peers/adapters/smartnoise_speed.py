"""SmartNoise SQL on a pandas frame: a histogram from a Parquet file, by rows or with persons bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "smartnoise-sql"


DELTA = 1e-9
"""It knows no public keys: which cells are shown is decided by a threshold, at this price."""


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """SELECT … GROUP BY. Persons: a fixed number of rows of each, sampled."""
    import pandas as pd
    import snsql  # type: ignore[import-not-found]

    about: dict[str, Any] = {"row_privacy": not job["bounded"], "x": {"type": "int", "lower": 0, "upper": job["cells"] - 1}}
    columns = ["x"]
    if job["bounded"]:
        about |= {"max_ids": job["rows_a_person"], "sample_max_ids": True, "person": {"type": "int", "private_id": True}}
        columns.append("person")

    def once() -> Any:
        frame = pd.read_parquet(job["data"], columns=columns)
        privacy = snsql.Privacy(epsilon=float(job["epsilon"]), delta=DELTA)
        reader = snsql.from_df(frame, privacy=privacy, metadata={"": {"": {"people": about}}})
        return [count for _, count in reader.execute("SELECT x, COUNT(*) AS n FROM people GROUP BY x")[1:]]

    return once


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": DELTA},
    "import": lambda job: timing.imports("snsql", job),
}
