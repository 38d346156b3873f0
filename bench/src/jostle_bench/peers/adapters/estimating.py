"""What the adapters for accuracy share; it stands beside them, and needs only the standard library and NumPy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np


def inputs(job: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The job's inputs with their counts, one after the other, as long as there is time for another."""
    began = time.perf_counter()
    with np.load(job["data"]) as data:
        for one in job["inputs"]:
            if time.perf_counter() - began > job.get("enough", float("inf")):
                return
            yield one, data[one["array"]]


def spread(counts: Any) -> Any:
    """Records as real numbers, evenly spread over their cells."""
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(np.arange(counts.size), counts) + (np.arange(counts.sum()) - first + 0.5) / np.repeat(counts, counts)


def seed(*parts: int) -> int:
    """One of its own for every combination of numbers."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
