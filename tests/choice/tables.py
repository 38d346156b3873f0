"""Small tables of errors on made-up public data, for tests of selectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jostle.simulate import grid


@dataclass
class MadeUp:
    """What training wants to see of a table."""

    inputs: list[grid.GridCell]
    options: list[str]
    errors: np.ndarray


def folder_of_shapes(folder: Path) -> Path:
    """Three shapes on a line and three on a grid."""
    rng = np.random.default_rng(0)
    line = {
        "FLAT": np.full(256, 9),
        "STEPS": np.repeat([1, 40, 3, 90], 64),
        "SPIKES": rng.pareto(1.0, 256).astype(int) * 5 + 1,
    }
    square = {name: np.outer(values[:32], values[:32][::-1] + 1) for name, values in line.items()}
    np.savez(folder / "dpbench_1d.npz", **line)
    np.savez(folder / "dpbench_2d.npz", **square)
    return folder


def made_up(task: str, folder: Path) -> MadeUp:
    """Laplace wins on small scales, HB on large ones, and Uniform where there is nearly nothing; HB suffers on cells."""
    sides = (32, 128) if task == "range-1d" else (4, 16)
    cells = grid.cells(task, folder_of_shapes(folder), sides=sides, exponents=(5, 8, 12, 16, 20))
    rows = []
    for cell in cells:
        long = cell.queries in ("prefix", "long", "mixed")
        rows.append([10.0, 6.0 if cell.exponent > 10 and long else 14.0, 2.0 ** (cell.exponent - 4)])
    return MadeUp(cells, ["Laplace", "HB", "Uniform"], np.array(rows))
