"""jostle beyond one core: training on processes and on a Dask cluster."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "jostle"


def training(job: dict[str, Any]) -> dict[str, Any]:
    """Measure the paper's options on a small grid of made-up inputs, as `jostle train` does, and time what comes in."""
    from jostle.simulate import grid, measure
    from jostle.simulate.results import Results
    from jostle_bench.speed import lumpy

    shapes = {f"made-up-{number}": lumpy((side,)) for number, side in enumerate(job["shapes"])}
    cells = grid.cells("range-1d", shapes, sides=job["sides"], exponents=job["exponents"])
    todo = measure.jobs(cells, grid.SUITE["range-1d"], trials=job["trials"], seed=job["seed"])
    arrivals: list[float] = []
    processor = 0.0
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Results(Path(folder)) as results:
        for outcome in measure.run(todo, results, workers=job["workers"], cluster=job["cluster"]):
            if isinstance(outcome, measure.FailedJob):
                raise RuntimeError(f"{outcome.algorithm} failed on {outcome.cell}: {outcome.reason}")
            processor += outcome.seconds * outcome.trials
            arrivals.append(time.perf_counter() - began)
    return {
        "seconds": [arrivals[-1]],
        "values": {"arrivals": np.array(arrivals)},
        "inputs": len(cells),
        "results": len(todo),
        "processor": processor,
        "peak_bytes": timing.peak_bytes(),
    }


ANSWERS = {"training": training}
