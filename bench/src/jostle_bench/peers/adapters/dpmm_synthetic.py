"""dpmm's AIM and MST: synthetic tables from codes, with the domain declared.

AIM's models are held to one megabyte: of its default of 80, its code says that it can take hours. It takes no seed here, so
runs differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

VERSION_OF = "dpmm"
LARGEST_MODEL = 1


def synthesize(job: dict[str, Any]) -> dict[str, Any]:
    """As many records as there are, a table for each run."""
    import pandas as pd
    from dpmm.models.aim import AIMGM  # type: ignore[import-not-found]
    from dpmm.models.mst import MSTGM  # type: ignore[import-not-found]

    make = {"AIM": AIMGM, "MST": MSTGM}[job["model"]]
    settings = {"max_model_size": LARGEST_MODEL} if job["model"] == "AIM" else {}
    values = {}
    with np.load(job["data"]) as data:
        frame = pd.DataFrame(data["train"], columns=list(job["sizes"]))
    for epsilon in job["epsilons"]:
        for run in range(job["trials"]):
            model = make(epsilon=epsilon, delta=job["delta"], domain=job["sizes"], n_jobs=1, **settings)
            model.fit(frame)
            values[f"{epsilon:g}/{run}"] = model.generate(n_records=len(frame))[frame.columns].to_numpy().astype(np.int64)
    said = f", max_model_size={LARGEST_MODEL}" if settings else ""
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": f"{make.__name__}(…{said})"}


ANSWERS = {"synthesize": synthesize}
