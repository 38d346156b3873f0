"""OpenDP's front for Polars: a histogram from a Parquet file, by rows or with persons bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "opendp"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """Public keys, so pure ε. Persons: `truncate_per_group` keeps a fixed number of rows of each, at random."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    keys = pl.LazyFrame({"x": range(job["cells"])}, schema={"x": pl.Int32})

    identifier: Any = pl.col("person") if job["bounded"] else None

    def once() -> Any:
        context = dp.Context.compositor(
            data=pl.scan_parquet(job["data"]),
            privacy_unit=dp.unit_of(contributions=1, identifier=identifier),
            privacy_loss=dp.loss_of(epsilon=float(job["epsilon"])),
            split_evenly_over=1,
        )
        rows: Any = context.query()
        if job["bounded"]:
            rows = rows.truncate_per_group(job["rows_a_person"])
        count = dp.len(signed=True)  # type: ignore[attr-defined]  # it is there once Polars is
        query = rows.group_by("x").agg(count).with_keys(keys)
        return query.release().collect()["len"].to_list()

    return once


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("opendp.prelude, polars", job),
}
