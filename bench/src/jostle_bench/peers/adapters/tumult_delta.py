"""Tumult Analytics on Spark: pure ε or ρ, whichever has less noise, and an (ε, δ) for groups that nobody listed.

It protects a bounded number of groups per person with one row in each (`AddMaxRowsInMaxGroups`); ρ is what (ε, δ) allows.
"""

from __future__ import annotations

from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "tmlt.analytics"


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """`count()` by a KeySet: groups, cells of marginals or questions."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        asked = _Asked(job, one, arrays)
        values[asking.answer(one, "counts")] = asked.by_keys(lambda rows: rows.count(name="found"), 1)
    return _told(job, values, "count() by a KeySet, PureDPBudget or RhoZCDPBudget, whichever has less noise")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """`count()` and `sum()` of v − 50, half of the budget each; means and sums follow."""
    values: dict[str, Any] = {}
    reach = round(asking.REACH)
    for one, arrays in asking.inputs(job):
        asked = _Asked(job, one, arrays)
        counted = asked.by_keys(lambda rows: rows.count(name="found"), 2)
        summed = asked.by_keys(lambda rows: rows.sum("value", low=-reach, high=reach, name="found"), 2)
        values |= asking.three(one, counted, summed)
    return _told(job, values, "count() and sum() of v − 50 by a KeySet, half of a PureDPBudget or RhoZCDPBudget each")


def keys(job: dict[str, Any]) -> dict[str, Any]:
    """`get_groups()` with δ and half of ε, then `count()` by those groups with the other half."""
    from tmlt.analytics import ApproxDPBudget, KeySet, QueryBuilder  # type: ignore[import-not-found]

    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        whole, half = (ApproxDPBudget(part, job["delta"]) for part in (one["epsilon"], one["epsilon"] / 2))
        session = _Asked(job, one, arrays, whole).session
        groups = session.evaluate(QueryBuilder("rows").get_groups(["cell"]), half)
        found = np.zeros((0,)), np.zeros((0,))
        shown = groups.toPandas()["cell"].tolist()
        if shown:
            query = QueryBuilder("rows").groupby(KeySet.from_dict({"cell": shown})).count(name="found")
            told = session.evaluate(query, ApproxDPBudget(one["epsilon"] / 2, 0)).toPandas()
            found = told["cell"].to_numpy(), told["found"].to_numpy()
        values[asking.answer(one, "counts")] = asking.by_run(one, *found)
    return _told(job, values, "get_groups() with half of ε and all of δ, then count() with half of ε")


class _Asked:
    """A session with all runs of an input."""

    def __init__(self, job: Any, one: Any, arrays: Any, budget: Any = None) -> None:
        import pandas as pd
        from pyspark.sql import SparkSession
        from tmlt.analytics import AddMaxRowsInMaxGroups, PureDPBudget, RhoZCDPBudget, Session

        rho = asking.rho(one["epsilon"], job["delta"])
        normal = asking.gaussian(one, (2 * rho) ** -0.5)
        self.one = one
        self.budget: Any = lambda parts: RhoZCDPBudget(rho / parts) if normal else PureDPBudget(one["epsilon"] / parts)
        builder: Any = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "ERROR").config("spark.sql.execution.arrow.pyspark.enabled", "true")
        spark: Any = (
            builder.config("spark.sql.shuffle.partitions", "1").config("spark.default.parallelism", "1").getOrCreate()
        )
        rows = asking.told_apart(one, arrays)
        columns = {"cell": rows["cell"]}
        if "value" in rows:
            columns["value"] = rows["value"] - round(asking.CENTRE)
        change = AddMaxRowsInMaxGroups("cell", max_groups=one["touched"], max_rows_per_group=1)
        frame = spark.createDataFrame(pd.DataFrame(columns))
        self.session = Session.from_dataframe(budget or self.budget(1), "rows", frame, protected_change=change)

    def by_keys(self, ask: Any, parts: int) -> Any:
        """One aggregate by all cells, at a part of the budget."""
        from tmlt.analytics import KeySet, QueryBuilder

        listed = KeySet.from_dict({"cell": list(range(self.one["trials"] * self.one["cells"]))})
        told = self.session.evaluate(ask(QueryBuilder("rows").groupby(listed)), self.budget(parts)).toPandas()
        return asking.by_run(self.one, told["cell"], told["found"])


def _told(job: Any, values: Any, method: str) -> dict[str, Any]:
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": method}


ANSWERS = {"counts": counts, "three": three, "keys": keys}
