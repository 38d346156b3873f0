"""PipelineDP on its local backend: counts by partition, and percentiles. Partitions are public, so that no δ is needed.

Runs are told apart in the partition's key, so that one aggregation makes all of them: every record has a privacy id of its
own and is in one partition, so each run has the whole ε.
"""

from __future__ import annotations

from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "pipeline-dp"


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """A noisy count for each public partition."""
    import pipeline_dp  # type: ignore[import-not-found]

    values = {}
    for one, counts in estimating.inputs(job):
        cells = np.repeat(np.arange(counts.size), counts.reshape(-1)).tolist()
        rows = [(run, cell) for run in range(job["trials"]) for cell in cells]
        public = [(run, cell) for run in range(job["trials"]) for cell in range(counts.size)]
        numbered = [(number, key, 0.0) for number, key in enumerate(rows)]
        found = np.zeros((job["trials"], counts.size))
        for (run, cell), told in _aggregated(numbered, public, [pipeline_dp.Metrics.COUNT], one["epsilon"]):
            found[run, cell] = told.count
        values[one["name"]] = found
    method = "Metrics.COUNT with public partitions"
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": method, "noise": "Laplace"}


def quantiles(job: dict[str, Any]) -> dict[str, Any]:
    """All percentiles of a run come from one noisy tree of its own."""
    import pipeline_dp

    values = {}
    metrics = [pipeline_dp.Metrics.PERCENTILE(round(100 * level)) for level in job["levels"]]
    for one, counts in estimating.inputs(job):
        records = estimating.spread(counts).tolist()
        rows = [(run, record) for run in range(job["trials"]) for record in records]
        numbered = [(number, run, record) for number, (run, record) in enumerate(rows)]
        found = np.zeros((job["trials"], len(metrics)))
        bounds = {"min_value": 0.0, "max_value": float(counts.size)}
        for run, told in _aggregated(numbered, list(range(job["trials"])), metrics, one["epsilon"], **bounds):
            found[run] = [getattr(told, f"percentile_{round(100 * level)}") for level in job["levels"]]
        values[one["name"]] = found
    method = "Metrics.PERCENTILE, all from one tree"
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": method}


def _aggregated(rows: Any, public: Any, metrics: Any, epsilon: float, **bounds: float) -> Any:
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0.0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=metrics,
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        **bounds,
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    told = engine.aggregate(rows, params, columns, public_partitions=public)
    accountant.compute_budgets()
    return told


ANSWERS = {"histogram": histogram, "quantiles": quantiles}
