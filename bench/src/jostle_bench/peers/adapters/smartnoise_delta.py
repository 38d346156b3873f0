"""SmartNoise SQL: counts, sums and means by groups in one statement.

It knows no public keys. For groups that are known, its threshold is switched off (`censor_dims`), and all of them occur.
Cells of marginals may not, and which do would then be released without noise. Its ε is for each column of an answer, so two
columns get half of it each. Its noise is Laplace noise: of its Gaussian noise, a person in k groups needs k times as much,
not √k.
"""

from __future__ import annotations

from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "smartnoise-sql"


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """COUNT(*) by groups."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        if one["form"] == "groups":
            found = _asked(job, one, arrays, "COUNT(*) AS found", 1, censored=False)
            values[asking.answer(one, "counts")] = np.nan_to_num(asking.by_run(one, found["cell"], found["found"]))
    return _told(job, values, "SELECT cell, COUNT(*) … GROUP BY cell, censor_dims off")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """COUNT(*) and SUM(v − 50), half of ε and δ each; means and sums follow."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        found = _asked(job, one, arrays, "COUNT(*) AS found, SUM(value) AS total", 2, censored=False)
        both = (asking.by_run(one, found["cell"], found[name]) for name in ("found", "total"))
        values |= asking.three(one, *map(np.nan_to_num, both))
    return _told(job, values, "SELECT cell, COUNT(*), SUM(v − 50) … GROUP BY cell, censor_dims off, half of ε each")


def keys(job: dict[str, Any]) -> dict[str, Any]:
    """COUNT(*) by keys above its threshold."""
    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        found = _asked(job, one, arrays, "COUNT(DISTINCT person) AS found", 1, censored=True)
        values[asking.answer(one, "counts")] = asking.by_run(one, found["cell"], found["found"])
    return _told(job, values, "SELECT cell, COUNT(DISTINCT person) … GROUP BY cell, rare cells dropped")


def _asked(job: Any, one: Any, arrays: Any, asked: str, columns: int, *, censored: bool) -> Any:
    import pandas as pd
    import snsql  # type: ignore[import-not-found]

    rows = asking.told_apart(one, arrays)
    if "value" in rows:
        rows["value"] = rows["value"] - round(asking.CENTRE)
    reach = round(asking.REACH)
    about = {
        "max_ids": one["touched"],
        "sample_max_ids": True,
        "censor_dims": censored,
        "clamp_counts": False,
        "person": {"type": "int", "private_id": True},
        "cell": {"type": "int"},
        "value": {"type": "int", "lower": -reach, "upper": reach},
    }
    privacy = snsql.Privacy(epsilon=one["epsilon"] / columns, delta=job["delta"] / columns)
    reader = snsql.from_df(pd.DataFrame(rows), privacy=privacy, metadata={"": {"": {"pairs": about}}})
    told = reader.execute(f"SELECT cell, {asked} FROM pairs GROUP BY cell")  # noqa: S608  # no text of anybody else
    return {name: [row[place] for row in told[1:]] for place, name in enumerate(told[0])}


def _told(job: Any, values: Any, method: str) -> dict[str, Any]:
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": method}


ANSWERS = {"counts": counts, "three": three, "keys": keys}
