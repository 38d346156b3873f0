"""Made-up shapes of data, in families: those that factors are fitted on, and others that no fit has seen.

Every draw from a family has parameters of its own, so that a family stands for many data sets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jostle.kernel.partition import Vector

Random = np.random.Generator
Draw = Callable[[tuple[int, ...], Random], Vector]


def _along(n: int) -> Vector:
    return (np.arange(n) + 0.5) / n


def _even(shape: tuple[int, ...], rng: Random) -> Vector:
    return np.ones(shape)


def _rough(shape: tuple[int, ...], rng: Random) -> Vector:
    """Cells that know nothing of each other, from nearly even to a few that hold most."""
    return rng.gamma(10 ** rng.uniform(-1, 1), size=shape)


def _sparse(shape: tuple[int, ...], rng: Random) -> Vector:
    return np.where(rng.random(shape) < 10 ** rng.uniform(-2, -0.3), rng.gamma(0.7, size=shape), 0.0)


def _bumps(shape: tuple[int, ...], rng: Random) -> Vector:
    """Hills of several widths on a plain, which may be empty."""
    found: Vector = np.full(shape, rng.choice([0.0, 0.05]))
    sides = np.meshgrid(*map(_along, shape), indexing="ij")
    for _ in range(rng.integers(1, 8)):
        hill = np.ones(shape)
        for side in sides:
            width = 10 ** rng.uniform(-2.1, -0.5)
            hill *= np.exp(-(((side - rng.random()) / width) ** 2) / 2) / width
        found += rng.random() * hill
    return found


def _cascade(shape: tuple[int, ...], rng: Random) -> Vector:
    """Halves of halves, each with a share of its own: rough at every scale."""
    found: Vector = np.ones((1,) * len(shape))
    spread = rng.uniform(0.2, 1.2)
    while found.shape[0] < max(shape):
        halves = np.kron(found, np.ones((2,) * len(shape)))
        found = np.asarray(halves * np.exp(rng.normal(0, spread, halves.shape)))
    return found[tuple(slice(n) for n in shape)]


def _zipf(shape: tuple[int, ...], rng: Random) -> Vector:
    return 1 / np.arange(1.0, shape[0] + 1) ** rng.uniform(0.6, 1.6)


def _shuffled(shape: tuple[int, ...], rng: Random) -> Vector:
    return rng.permutation(_zipf(shape, rng))


def _steps(shape: tuple[int, ...], rng: Random) -> Vector:
    ends = np.sort(rng.integers(0, shape[0], rng.integers(1, 13)))
    return np.asarray(np.exp(rng.normal(0, 1.5, ends.size + 1))[np.searchsorted(ends, np.arange(shape[0]), side="right")])


def _comb(shape: tuple[int, ...], rng: Random) -> Vector:
    """Numbers that people round: every so many cells, one that holds much more."""
    often = np.arange(shape[0]) % rng.integers(3, 11) == 0
    return np.exp(-rng.uniform(1, 5) * _along(shape[0])) * np.where(often, rng.uniform(2, 20), 1.0)


def _walk(shape: tuple[int, ...], rng: Random) -> Vector:
    found = np.cumsum(rng.normal(size=shape[0])) * rng.uniform(0.05, 0.5)
    return np.asarray(np.exp(found - found.max()))


def _falling(shape: tuple[int, ...], rng: Random) -> Vector:
    return np.exp(-rng.uniform(2, 12) * _along(shape[0]))


def _block(shape: tuple[int, ...], rng: Random) -> Vector:
    begin, end = np.sort(rng.choice(shape[0] + 1, 2, replace=False))
    found = np.zeros(shape)
    found[begin:end] = rng.gamma(rng.uniform(1, 10), size=end - begin)
    return found


def _roads(shape: tuple[int, ...], rng: Random) -> Vector:
    """Straight lines with something on them, and little elsewhere."""
    found, steps = np.full(shape, 1e-4), np.linspace(0, 1, 4 * max(shape))[:, np.newaxis]
    for _ in range(rng.integers(2, 7)):
        begin, end = rng.random((2, 2))
        points = begin + (end - begin) * steps + rng.normal(0, 0.01, (steps.size, 2))
        at = np.clip((points * shape).astype(np.int64), 0, np.array(shape) - 1)
        np.add.at(found, (at[:, 0], at[:, 1]), rng.gamma(1.0))
    return found


def _crossed(shape: tuple[int, ...], rng: Random) -> Vector:
    """Two lines that have nothing to do with each other."""
    one, other = (FITTED[1][rng.choice(sorted(FITTED[1]))]((n,), rng) for n in shape)
    return np.asarray(np.outer(one, other))


def _boxes(shape: tuple[int, ...], rng: Random) -> Vector:
    found = np.full(shape, 1e-3)
    for _ in range(rng.integers(1, 8)):
        sides = [np.sort(rng.choice(n + 1, 2, replace=False)) for n in shape]
        found[tuple(slice(*side) for side in sides)] += np.exp(rng.normal(0, 1.5))
    return found


def _waves(shape: tuple[int, ...], rng: Random) -> Vector:
    at = np.add.outer(_along(shape[0]), 0.7 * _along(shape[-1]) if len(shape) > 1 else np.zeros(1)).reshape(shape)
    return np.maximum(np.sin(2 * np.pi * (rng.uniform(1, 6) * at + rng.random())) + rng.uniform(-0.3, 1.2), 0.0)


def _triangles(shape: tuple[int, ...], rng: Random) -> Vector:
    sides = np.meshgrid(*map(_along, shape), indexing="ij")
    reach, centre = rng.uniform(0.1, 0.6), rng.random(len(shape))
    away = np.sum([np.abs(side - c) for side, c in zip(sides, centre, strict=True)], axis=0)
    return np.asarray(np.maximum(reach - away, 0) + 0.002)


def _halves(shape: tuple[int, ...], rng: Random) -> Vector:
    """One half smooth, the other rough."""
    smooth, rough = np.exp(-3 * np.broadcast_to(_along(shape[-1]), shape)), rng.gamma(0.4, size=shape)
    first = np.arange(shape[0]) < rng.integers(1, shape[0] + 1)
    return np.where(first.reshape(-1, *[1] * (len(shape) - 1)), smooth, rough)


def _heap(shape: tuple[int, ...], rng: Random) -> Vector:
    """A tail, and one cell (often that of zero) with a great part of everything."""
    tail = rng.lognormal(0, 0.3, size=shape) * np.exp(-rng.uniform(0, 6) * np.broadcast_to(_along(shape[-1]), shape))
    flat = tail.reshape(-1)
    flat[rng.integers(flat.size)] += rng.uniform(0.2, 2.0) * flat.sum()
    return flat.reshape(shape)


_ANYWHERE: dict[str, Draw] = {"even": _even, "rough": _rough, "sparse": _sparse, "bumps": _bumps, "cascade": _cascade}

FITTED: dict[int, dict[str, Draw]] = {
    1: _ANYWHERE
    | {"zipf": _zipf, "shuffled": _shuffled, "steps": _steps, "comb": _comb, "walk": _walk, "falling": _falling}
    | {"block": _block},
    2: _ANYWHERE | {"roads": _roads, "crossed": _crossed, "boxes": _boxes},
}
"""The families that factors are fitted on, beside public data, by dimension."""

UNSEEN: dict[str, Draw] = {"waves": _waves, "triangles": _triangles, "halves": _halves, "heap": _heap}
"""Families that no fit has seen, on lines and grids."""
