"""jostle's PrivateClassifier with its defaults, as a simulation on public data."""

from __future__ import annotations

from typing import Any

import classifying  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "jostle"


def classify(job: dict[str, Any]) -> dict[str, Any]:
    """Its errors on the same splits, read from the table itself: the schema is declared with it."""
    from jostle.learn import PrivateClassifier
    from jostle_bench.peers.classifiers import rows_of, whole

    def fit(split: Any, epsilon: float, seed: int) -> Any:
        train, test = split
        model = PrivateClassifier(
            epsilon=epsilon,
            delta=job.get("delta"),
            schema=train.schema,
            label=train.label,
            neighbours=job["neighbours"],
            random_state=seed,
        )
        shares = model.fit(train.X, train.y).predict_proba(test.X)
        return model.classes_[shares.argmax(axis=1)], shares.max(axis=1)

    records = whole(job["table"], job["folder"])
    rows = (rows_of(job["table"], number, len(records)) for number in range(job["splits"]))
    splits = ((records.take(train), records.take(test)) for train, test in rows)
    found = classifying.of_splits(job, ((split, split[1].y) for split in splits), fit)
    return {**found, "delta": job.get("delta") or 0.0, "neighbours": job["neighbours"]}


ANSWERS = {"classify": classify}
