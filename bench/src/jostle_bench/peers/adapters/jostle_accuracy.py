"""jostle: what `jostle.release` takes if no algorithm is named (Pythia), run as a simulation on public data."""

from __future__ import annotations

from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "jostle"


def _estimates(job: dict[str, Any], counts: Any, epsilon: float) -> Any:
    from jostle.answers.release import plan_for
    from jostle.simulate import estimates
    from jostle_bench.peers.inputs import workload

    asked = workload(job["workload"], counts.shape)
    plan, _ = plan_for(asked, None, {})
    how = {"trials": job["trials"], "seed": job["seed"], "neighbours": job["neighbours"]}
    return np.concatenate(list(estimates(plan, counts, asked, epsilon, **how)))


def cells(job: dict[str, Any]) -> dict[str, Any]:
    """Estimates of every cell, with the job's workload in mind."""
    values = {one["name"]: _estimates(job, counts, one["epsilon"]) for one, counts in estimating.inputs(job)}
    return {"values": values, "delta": 0.0, "neighbours": job["neighbours"], "method": "the default choice (Pythia)"}


def quantiles(job: dict[str, Any]) -> dict[str, Any]:
    """As a private table reads them from one distribution function, real numbers evenly within their cells."""
    from fractions import Fraction

    from jostle import Neighbours, Real
    from jostle.answers.quantiles_and_top import Quantiles
    from jostle.answers.release import Release, plan_for
    from jostle_bench.peers.inputs import workload

    values = {}
    for one, counts in estimating.inputs(job):
        asked, column = workload(job["workload"], counts.shape), Real(0, counts.size, bins=counts.size)
        plan, why = plan_for(asked, None, {})
        found = []
        for estimate in _estimates(job, counts, one["epsilon"]):
            release = Release(
                answers=asked @ estimate,
                estimate=estimate,
                workload=asked,
                algorithm=plan,
                reason=why,
                neighbours=Neighbours.of(job["neighbours"]),
                spent=Fraction(one["epsilon"]),
                remaining=Fraction(0),
            )
            price = release.price
            read = Quantiles(column="value", levels=tuple(job["levels"]), cells=column, release=release, **price)
            found.append(read.values)
        values[one["name"]] = np.array(found)
    method = "table.quantiles: ranks by OPT, all read from one distribution function"
    return {"values": values, "delta": 0.0, "neighbours": job["neighbours"], "method": method}


ANSWERS = {"histogram": cells, "ranges": cells, "quantiles": quantiles}
