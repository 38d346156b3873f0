"""jostle: a histogram from a Parquet file, by rows or with persons bounded, with a durable ledger; and exact noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "jostle"


def histogram(job: dict[str, Any]) -> Callable[[], Any]:
    """What `jostle release` does: open the file, on DuckDB by default, let Pythia choose, charge the ledger, draw noise."""
    import tempfile
    from itertools import count

    import jostle

    unit = jostle.Unit("person", max_rows=job["rows_a_person"]) if job["bounded"] else None
    folder, numbers = tempfile.TemporaryDirectory(), count()

    def once() -> Any:
        table = jostle.open(
            job["data"],
            engine=job.get("engine", "duckdb"),
            schema={"x": jostle.Integer(0, job["cells"] - 1, bins=job["cells"])},
            ledger=str(Path(folder.name) / f"{next(numbers)}.db"),
            budget=job["epsilon"],
            unit=unit,
            name="people",
        )
        return table.histogram("x", epsilon=job["epsilon"]).answers.tolist()

    return once


def noise(job: dict[str, Any]) -> Callable[[], Any]:
    """Discrete Laplace noise on integers, by the kernel's exact engine."""
    from fractions import Fraction

    import numpy as np

    from jostle.kernel.noise import ExactNoise

    zeros, engine = np.zeros(job["cells"], dtype=np.int64), ExactNoise()
    return lambda: engine.discrete_laplace(zeros, 1 / Fraction(job["epsilon"]))


def algorithms(job: dict[str, Any]) -> dict[str, Any]:
    """Our algorithms on the inputs of a reference, beside the times that come with it."""
    from jostle import algorithms as known
    from jostle_bench.speed import clock

    beside = []
    for task in known.TASKS:
        for name in known.names(task):
            for kind, told in clock(name, task, limit=0.1, largest=256, folder=job["folder"]):
                if kind == "beside":
                    domain = "×".join(map(str, told["domain"]))
                    beside.append({"algorithm": name, "domain": domain, "ours": told["ours"], "theirs": told["theirs"]})
    return {"beside": beside, "delta": 0.0, "neighbours": "add_remove"}


ANSWERS = {
    "algorithms": algorithms,
    "table": lambda job: timing.repeated(job, histogram) | {"neighbours": "add_remove", "delta": 0.0},
    "noise": lambda job: timing.repeated(job, noise) | {"neighbours": "add_remove", "delta": 0.0},
    "import": lambda job: timing.imports("jostle", job),
}
