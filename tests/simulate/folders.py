"""A small made-up folder in the form of public shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def data_folder(folder: Path) -> Path:
    """Three shapes a task."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    np.savez(folder / "dpbench_1d.npz", **{name: rng.poisson(3.0, 256) for name in ("ONE", "TWO", "THREE")})
    np.savez(folder / "dpbench_2d.npz", **{name: rng.poisson(3.0, (16, 16)) for name in ("ONE", "TWO", "THREE")})
    return folder
