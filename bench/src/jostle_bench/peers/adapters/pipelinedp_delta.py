"""PipelineDP on its local backend: public partitions with the noise that is less, and partitions that it selects.

Persons are bounded by it: to so many partitions, and one record in each. Its accountant is the naive one: the other, by
privacy loss distributions, is said in its own words to be "not yet compatible with DPEngine".
"""

from __future__ import annotations

from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "pipeline-dp"


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """COUNT by public partitions: groups, cells of marginals or questions."""
    import pipeline_dp  # type: ignore[import-not-found]

    values = {}
    for one, arrays in asking.inputs(job):
        told = _aggregated(job, one, arrays, [pipeline_dp.Metrics.COUNT], normal=_normal(job, one))
        values[asking.answer(one, "counts")] = asking.by_run(one, *_columns(told, "count"))
    return _told(job, values, "COUNT with public partitions, Laplace or Gaussian noise, whichever is less")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """COUNT, SUM and MEAN, which share two measurements."""
    import pipeline_dp

    metrics, values = [pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM, pipeline_dp.Metrics.MEAN], {}
    for one, arrays in asking.inputs(job):
        half = {"epsilon": one["epsilon"] / 2, "touched": one["touched"]}
        normal = asking.gaussian(half, asking.sigma(one["epsilon"] / 2, job["delta"] / 2))
        told = _aggregated(job, one, arrays, metrics, normal=normal)
        for what in ("count", "sum", "mean"):
            values[asking.answer(one, f"{what}s")] = asking.by_run(one, *_columns(told, what))
    return _told(job, values, "COUNT, SUM and MEAN at once with public partitions, Laplace or Gaussian noise")


def keys(job: dict[str, Any]) -> dict[str, Any]:
    """Private partitions: selected before the count at a share of the budget, or by a threshold on the noisy count."""
    import pipeline_dp

    values = {}
    metric, strategies = pipeline_dp.Metrics.PRIVACY_ID_COUNT, pipeline_dp.PartitionSelectionStrategy
    for one, arrays in asking.inputs(job):
        normal = _normal(job, one)
        ways = {
            "selected first": {"partition_selection_strategy": strategies.TRUNCATED_GEOMETRIC},
            "threshold on the count": {
                "partition_selection_strategy": strategies.GAUSSIAN_THRESHOLDING
                if normal
                else strategies.LAPLACE_THRESHOLDING,
                "post_aggregation_thresholding": True,
            },
        }
        for way, settings in ways.items():
            told = _aggregated(job, one, arrays, [metric], normal=normal, public=False, **settings)
            values[asking.answer(one, "counts", way)] = asking.by_run(one, *_columns(told, "privacy_id_count"))
    return _told(job, values, "PRIVACY_ID_COUNT with private partitions, Laplace or Gaussian noise, whichever is less")


def _normal(job: Any, one: Any) -> bool:
    return bool(asking.gaussian(one, asking.sigma(one["epsilon"], job["delta"])))


def _aggregated(job: Any, one: Any, arrays: Any, metrics: Any, *, normal: bool, public: bool = True, **more: Any) -> Any:
    import pipeline_dp

    rows = asking.told_apart(one, arrays)
    values = rows.get("value", np.zeros(rows["cell"].size))
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=one["epsilon"], total_delta=job["delta"])
    params = pipeline_dp.AggregateParams(
        metrics=metrics,
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN if normal else pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=one["touched"],
        max_contributions_per_partition=1,
        min_value=0.0,
        max_value=2 * asking.REACH,
        **more,
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    told = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend()).aggregate(
        list(zip(rows["person"].tolist(), rows["cell"].tolist(), values.tolist(), strict=True)),
        params,
        columns,
        public_partitions=list(range(one["trials"] * one["cells"])) if public else None,
    )
    accountant.compute_budgets()
    return list(told)


def _columns(told: Any, what: str) -> tuple[list[int], list[float]]:
    return [cell for cell, _ in told], [getattr(found, what) for _, found in told]


def _told(job: Any, values: Any, method: str) -> dict[str, Any]:
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": method}


ANSWERS = {"counts": counts, "three": three, "keys": keys}
