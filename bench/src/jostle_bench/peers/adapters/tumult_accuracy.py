"""Tumult Analytics on Spark: counts grouped by public keys, and quantiles. It protects one row more or less.

Runs are told apart by a key, so that one query makes all of them: a row is in one group, so each run has the whole ε.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
import uuid
from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "tmlt.analytics"


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """A noisy count for each key."""
    from tmlt.analytics import KeySet, PureDPBudget, QueryBuilder, Session  # type: ignore[import-not-found]

    spark, values = _spark(), {}
    for one, counts in estimating.inputs(job):
        cells = np.repeat(np.arange(counts.size), counts.reshape(-1))
        rows = _frame(spark, {"cell": np.tile(cells, job["trials"])}, job["trials"])
        keys = KeySet.from_dict({"run": list(range(job["trials"])), "cell": list(range(counts.size))})
        session = Session.from_dataframe(PureDPBudget(one["epsilon"]), "rows", rows, protected_change=_one_row())
        query = QueryBuilder("rows").groupby(keys).count()
        told = session.evaluate(query, PureDPBudget(one["epsilon"])).toPandas()
        found = np.zeros((job["trials"], counts.size))
        found[told["run"].to_numpy(), told["cell"].to_numpy()] = told["count"].to_numpy()
        values[one["name"]] = found
    method = "groupby(KeySet).count()"
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": method, "noise": "discrete Laplace"}


def quantiles(job: dict[str, Any]) -> dict[str, Any]:
    """Each with its share of ε."""
    from tmlt.analytics import KeySet, PureDPBudget, QueryBuilder, Session

    spark, values = _spark(), {}
    for one, counts in estimating.inputs(job):
        rows = _frame(spark, {"value": np.tile(estimating.spread(counts), job["trials"])}, job["trials"])
        keys, share = KeySet.from_dict({"run": list(range(job["trials"]))}), one["epsilon"] / len(job["levels"])
        session = Session.from_dataframe(PureDPBudget(one["epsilon"]), "rows", rows, protected_change=_one_row())
        found = np.zeros((job["trials"], len(job["levels"])))
        for number, level in enumerate(job["levels"]):
            query = QueryBuilder("rows").groupby(keys).quantile("value", level, low=0, high=int(counts.size), name="read")
            told = session.evaluate(query, PureDPBudget(share)).toPandas()
            found[told["run"].to_numpy(), number] = told["read"].to_numpy()
        values[one["name"]] = found
    method = "groupby(KeySet).quantile(), ε shared by the quantiles"
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": method}


def _spark() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", "2").config("spark.default.parallelism", "2").getOrCreate()


def _one_row() -> Any:
    from tmlt.analytics import AddOneRow

    return AddOneRow()


def _frame(spark: Any, columns: dict[str, Any], trials: int) -> Any:
    import pandas as pd

    frame = pd.DataFrame(columns)
    frame.insert(0, "run", np.repeat(np.arange(trials), len(frame) // trials))
    file = f"{_scratch()}/{uuid.uuid4()}.parquet"
    frame.to_parquet(file)
    return spark.read.parquet(file)


@functools.cache
def _scratch() -> str:
    """A folder for rows that Spark reads; it is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="jostle-peers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


ANSWERS = {"histogram": histogram, "quantiles": quantiles}
