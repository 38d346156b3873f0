"""PipelineDP on its local backend: a histogram from a Parquet file, by rows or with persons bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "pipeline-dp"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """Public partitions, so pure ε. Persons: a fixed number of rows of each in all, kept at random."""
    import pipeline_dp as pdp  # type: ignore[import-not-found]
    import pyarrow.parquet as pq

    bounds = {"max_contributions": job["rows_a_person"]}
    trusted = {
        "max_partitions_contributed": 1,
        "max_contributions_per_partition": 1,
        "contribution_bounds_already_enforced": True,
    }
    columns = ["x", "person"] if job["bounded"] else ["x"]

    def once() -> Any:
        table = pq.read_table(job["data"], columns=columns)
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=job["epsilon"], total_delta=0)
        result = pdp.DPEngine(accountant, pdp.LocalBackend()).aggregate(
            list(zip(*(table[name].to_pylist() for name in columns), strict=True)),
            pdp.AggregateParams(
                metrics=[pdp.Metrics.COUNT],
                noise_kind=pdp.NoiseKind.LAPLACE,
                **(bounds if job["bounded"] else trusted),
            ),
            pdp.DataExtractors(
                partition_extractor=lambda row: row[0],
                privacy_id_extractor=(lambda row: row[1]) if job["bounded"] else None,
                value_extractor=lambda row: 0,
            ),
            public_partitions=list(range(job["cells"])),
        )
        accountant.compute_budgets()
        return [counted.count for _, counted in result]

    return once


ANSWERS = {
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("pipeline_dp", job),
}
