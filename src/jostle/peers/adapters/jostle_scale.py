"""jostle beyond one core: training on processes and on a Dask cluster, and a release from Spark."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "jostle"


def training(job: dict[str, Any]) -> dict[str, Any]:
    """Measure the paper's options on a small grid of made-up inputs, as `jostle train` does, and time what comes in."""
    from jostle.simulate import grid, measure
    from jostle.simulate.results import Results
    from jostle.simulate.speed import lumpy

    shapes = {f"made-up-{number}": lumpy((side,)) for number, side in enumerate(job["shapes"])}
    cells = grid.cells("range-1d", shapes, sides=job["sides"], exponents=job["exponents"])
    todo = measure.jobs(cells, grid.SUITE["range-1d"], trials=job["trials"], seed=job["seed"])
    arrivals: list[float] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Results(Path(folder)) as results:
        for outcome in measure.run(todo, results, workers=job["workers"], cluster=job["cluster"]):
            if isinstance(outcome, measure.Failed):
                raise RuntimeError(f"{outcome.algorithm} failed on {outcome.cell}: {outcome.reason}")
            arrivals.append(time.perf_counter() - began)
    return {
        "seconds": [arrivals[-1]],
        "values": {"arrivals": np.array(arrivals)},
        "inputs": len(cells),
        "results": len(todo),
        "peak_bytes": timing.peak_bytes(),
    }


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """The same as from a file on DuckDB, but read, bounded and counted by Spark in local mode."""
    import jostle

    unit = jostle.Unit("person", max_rows=job["rows_a_person"]) if job["bounded"] else None
    folder, numbers = tempfile.TemporaryDirectory(), count()

    def once() -> Any:
        table = jostle.open(
            job["data"],
            engine="spark",
            schema={"x": jostle.Integer(0, job["cells"] - 1)},
            ledger=str(Path(folder.name) / f"{next(numbers)}.db"),
            budget=job["epsilon"],
            unit=unit,
            name="people",
        )
        return table.histogram("x", epsilon=job["epsilon"]).answers.tolist()

    return once


ANSWERS = {
    "training": training,
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
}
