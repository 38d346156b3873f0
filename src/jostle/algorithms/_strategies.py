"""Optimised strategies on disk: those that come with the package, and those of the user's own workloads.

What is read from disk decides how accurate answers are, never how private: a strategy's norm is computed from its entries
whenever it is measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.kernel.partition import Vector

SHIPPED: Final = Path(__file__).with_name("strategies.npz")
"""Made by `python tools/optimise_strategies.py`, from a checkout."""

_FORMAT = "1"


def shipped(kind: str, n: int) -> Vector | None:
    """The rows for "prefix" or "ranges" (all of them) over n cells, stretched from the nearest size that there is."""
    sizes = [int(name.split("-")[1]) for name in _tables() if name.startswith(f"{kind}-") and name.endswith("-values")]
    nearest = min(sizes, key=lambda size: abs(np.log(size / n)))
    if not 0.7 < n / nearest < 1.45:
        return None
    return stretch(_unpack({part: _tables()[f"{kind}-{nearest}-{part}"] for part in _PARTS}), n)


def stretch(theta: Vector, n: int) -> Vector:
    """The same rows over another number of cells.

    >>> stretch(np.array([[0.0, 1.0]]), 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    cells = theta.shape[1]
    place = ((np.arange(n) + 0.5) / n * cells - 0.5).clip(0, cells - 1)
    left = np.minimum(place.astype(np.int64), max(cells - 2, 0))
    share = place - left
    return np.asarray(theta[:, left] * (1 - share) + theta[:, np.minimum(left + 1, cells - 1)] * share)


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    with np.load(SHIPPED, allow_pickle=False) as file:
        return dict(file)


def cache_folder() -> Path:
    """Where optimised strategies are kept: $JOSTLE_CACHE, or the platform's folder for caches."""
    own = os.environ.get("JOSTLE_CACHE")
    if own:
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "jostle" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "jostle"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jostle"


def recall(name: str, cells: int) -> Vector | None:
    """What was kept under this name, if it can be read and fits."""
    try:
        with _file(name).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            theta = _unpack({part: file[part] for part in _PARTS})
    except (OSError, KeyError, ValueError, IndexError, EOFError, zipfile.BadZipFile):
        return None
    return theta if theta.shape[1] == cells and np.isfinite(theta).all() and (theta >= 0).all() else None


def keep(name: str, theta: Vector) -> None:
    """Keep it for the next time. A reader sees the whole file or none; where nothing can be written, nothing is kept."""
    target = _file(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, allow_pickle=False, **pack(theta))
            Path(scratch).replace(target)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError:
        return


def _file(name: str) -> Path:
    return cache_folder() / f"strategy-{_FORMAT}-{name}.npz"


_PARTS = ("values", "steps", "counts", "cells")


def pack(theta: Vector) -> dict[str, Any]:
    """Sparse rows, in little space: half-precision values, and columns as steps from one to the next."""
    kept = theta > 1e-3
    columns = np.nonzero(kept)[1]
    return {
        "values": np.minimum(theta[kept], np.finfo(np.float16).max).astype(np.float16),  # some grow without end
        "steps": np.diff(columns, prepend=0).astype(np.int32),
        "counts": kept.sum(axis=1).astype(np.int32),
        "cells": np.array(theta.shape[1], dtype=np.int64),
    }


def rounded(theta: Vector) -> Vector:
    """What comes back of it from disk."""
    return _unpack(pack(theta))


def _unpack(parts: dict[str, Any]) -> Vector:
    counts = parts["counts"].astype(np.int64)
    theta = np.zeros((len(counts), int(parts["cells"])))
    theta[np.repeat(np.arange(len(counts)), counts), np.cumsum(parts["steps"])] = parts["values"]
    return theta
