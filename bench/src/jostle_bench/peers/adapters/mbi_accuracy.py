"""mbi (Private-PGM): every cell is measured with Laplace noise, and a model is fitted by its recommended estimator.

mbi estimates and draws no noise of its own; noise of scale 1/ε protects one record more or less.
"""

from __future__ import annotations

from typing import Any

import estimating  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "mbi"


def histogram(job: dict[str, Any]) -> dict[str, Any]:
    """The model's counts: not negative, with a total that was estimated as well."""
    import warnings

    import jax  # type: ignore[import-not-found]

    jax.config.update("jax_enable_x64", True)  # as it asks for where there are many records
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        from mbi import Domain, LinearMeasurement, estimation  # type: ignore[import-not-found]
    values = {}
    for number, (one, counts) in enumerate(estimating.inputs(job)):
        names = [f"axis{axis}" for axis in range(counts.ndim)]
        domain, scale = Domain(names, list(counts.shape)), 1 / one["epsilon"]
        draw, runs = np.random.default_rng([job["seed"], number]), []
        for _ in range(job["trials"]):
            noisy = counts.reshape(-1) + draw.laplace(scale=scale, size=counts.size)
            measured = LinearMeasurement(noisy, tuple(names), stddev=np.sqrt(2) * scale)
            model = estimation.MirrorDescent().estimate(domain, [measured])
            runs.append(np.asarray(model.project(tuple(names)).datavector()))
        values[one["name"]] = np.array(runs)
    method = "Laplace noise on the cells, estimation.MirrorDescent"
    return {"values": values, "delta": 0.0, "neighbours": "add_remove", "method": method}


ANSWERS = {"histogram": histogram}
