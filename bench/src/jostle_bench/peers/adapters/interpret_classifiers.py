"""interpret's boosting machine with differential privacy (DP-EBM). Its δ is not 0; bounds and types are declared."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import classifying  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "interpret-core"
DELTA = 1e-6


RATES = {"DP-EBM": 0.01, "DP-EBM, learning rate 0.1": 0.1}
"""The first is the default; after its 300 rounds, the other has often learned more."""


def boosting(task: Any, epsilon: float, seed: int, *, rate: float) -> Any:
    """Categories are nominal, numbers are in [0, 1]; what is not said here has its default."""
    from interpret.privacy import DPExplainableBoostingClassifier  # type: ignore[import-not-found]

    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["nominal" if size else "continuous" for size in task.categories],
        privacy_bounds={place: (0.0, 1.0) for place, size in enumerate(task.categories) if not size},
        learning_rate=rate,
        n_jobs=1,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*privacy violation.*")  # something is read from the data
        warnings.filterwarnings("ignore", message=".*random_state.*")  # noise is seeded: this is a simulation
        model.fit(task.train, task.y_train)
    return model.predict(task.test), model.predict_proba(task.test).max(axis=1)


def classify(job: dict[str, Any]) -> dict[str, Any]:
    """Its errors where there are two classes."""
    if job["classes"] != 2:
        raise NotImplementedError("DPExplainableBoostingClassifier tells two classes apart, no more")
    return {
        **classifying.errors(job, partial(boosting, rate=RATES[job["model"]])),
        "delta": DELTA,
        "neighbours": "add_remove",
    }


ANSWERS = {"classify": classify}
