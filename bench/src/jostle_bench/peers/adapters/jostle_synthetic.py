"""jostle: `table.synthesize(epsilon=…, delta=…)` with its defaults, as a simulation on public data."""

from __future__ import annotations

from typing import Any

import numpy as np

VERSION_OF = "jostle"


def synthesize(job: dict[str, Any]) -> dict[str, Any]:
    """As many records as there are, a table for each run."""
    from jostle.answers.prices import price_of
    from jostle.kernel.budget import Price
    from jostle.kernel.records import ArrayColumns, SimulatedRecords
    from jostle.schema import Category
    from jostle.synthetic.synthesizer import synthesize as made_from

    with np.load(job["data"]) as data:
        train = dict(zip(job["sizes"], data["train"].T, strict=True))
    columns = {name: Category(list(range(size)), outside="drop", null="drop") for name, size in job["sizes"].items()}
    values, rows = {}, len(next(iter(train.values())))
    for epsilon in job["epsilons"]:
        price = Price.of(price_of(str(epsilon), str(job["delta"]), None))
        for run in range(job["trials"]):
            records = SimulatedRecords(ArrayColumns(train, job["sizes"]), seed=job["seed"] + run)
            drawn = made_from(records, columns, records.grant(price)).draw(rows, np.random.default_rng([job["seed"], run]))
            values[f"{epsilon:g}/{run}"] = np.column_stack([drawn[name] for name in job["sizes"]])
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": "synthesize(epsilon=…, delta=…)"}


ANSWERS = {"synthesize": synthesize}
