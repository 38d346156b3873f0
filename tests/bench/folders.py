"""A small made-up folder in the form of a reference."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

HEADER = ["dataset", "domain", "scale", "epsilon", "workload", "algorithm", "trials", "mean_l2", "stderr_l2"]


def reference_folder(folder: Path, *, cells: int = 16, scales: tuple[int, ...] = (100, 1000)) -> Path:
    """Two data sets a task. Laplace has its true error; HB is given a tenth of that, so that ours cannot keep up."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    lines: dict[int, list[list[object]]] = {1: [], 2: []}
    arrays: dict[int, dict[str, np.ndarray]] = {1: {}, 2: {"WORKLOAD|boxes|n4x4": np.array([[0, 0, 3, 3], [1, 2, 1, 2]])}}
    for dataset in ("A", "B"):
        for scale in scales:
            arrays[1][f"{dataset}|n{cells}|s{scale}"] = rng.multinomial(scale, np.full(cells, 1 / cells))
            arrays[2][f"{dataset}|n4x4|s{scale}"] = rng.multinomial(scale, np.full(16, 1 / 16)).reshape(4, 4)
            for epsilon in (0.1, 1):
                noise = np.sqrt(2) / epsilon
                for workload, terms in (("identity", cells), ("prefix", cells * (cells + 1) / 2)):
                    laplace = ("Laplace", noise * np.sqrt(terms))
                    for name, mean in (laplace, ("HB", noise / 10), ("MWEM*", 5.0), ("Unheard", 1.0)):
                        lines[1].append([dataset, cells, scale, epsilon, workload, name, 20, mean, mean / 50])
                for name, mean in (("Laplace", noise * np.sqrt(17)), ("DAWA", 9.0), ("DAWA_notrunc", 3.0)):
                    lines[2].append([dataset, "4x4", scale, epsilon, "boxes", name, 20, mean, mean / 5])
    for dimensions in (1, 2):
        with (folder / f"errors_{dimensions}d.csv").open("w", newline="") as file:
            csv.writer(file).writerows([HEADER, *lines[dimensions]])
        np.savez(folder / f"inputs_{dimensions}d.npz", **arrays[dimensions])
    with (folder / "seconds.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["domain", "algorithm", "median"], [cells, "Laplace", 1000.0], ["4x4", "DAWA", 1.0]])
    return folder
