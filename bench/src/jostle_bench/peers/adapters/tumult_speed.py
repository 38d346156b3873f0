"""Tumult Analytics on Spark in local mode: a histogram from a Parquet file, by rows or with persons bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "tmlt.analytics"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """Public keys, so pure ε. Persons: `MaxRowsPerID`. Starting Spark counts as starting the program."""
    import tmlt.analytics as tumult  # type: ignore[import-not-found]
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")  # of 200, which would only slow it down on one machine
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    change = tumult.AddRowsWithID("person") if job["bounded"] else tumult.AddOneRow()
    budget = tumult.PureDPBudget(job["epsilon"])

    def once() -> Any:
        frame = spark.read.parquet(job["data"])
        session = tumult.Session.from_dataframe(budget, "people", frame, protected_change=change)
        rows = tumult.QueryBuilder("people")
        if job["bounded"]:
            rows = rows.enforce(tumult.MaxRowsPerID(job["rows_a_person"]))
        keys = tumult.KeySet.from_dict({"x": list(range(job["cells"]))})
        return [row["count"] for row in session.evaluate(rows.groupby(keys).count(), budget).collect()]

    return once


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("tmlt.analytics", job),
}
