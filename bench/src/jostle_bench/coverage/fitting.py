"""Factors that make simulated intervals hold, fitted to data sets, and checked on each family with the others'."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from jostle import algorithms
from jostle.answers.previews import preview
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.simulate.calibration import KNOTS, LEAST, apply, key
from jostle.simulate.margins import BLIND
from jostle_bench.coverage.inputs import asked, family
from jostle_bench.coverage.measuring import Cell, Coverage

WANTED = 0.965
"""The share of intervals that should hold: a little more than they say, because data sets differ."""

LEAST_FAMILIES = 8
"""Factors need results on at least this many families of data."""

ANSWERS = 64
"""At most this many answers of a release have a part in a fit."""

ROUNDS = 60
"""How often the fit of a quantile is improved."""

STRAIGHT, LEVEL = 0.5, 0.2
"""How much it costs, in releases, that the logarithms of factors bend by 1 at a knot, or differ by 1 from the next."""

NEAR_NOUGHT = 1.0
"""The same for how much margins give way."""

BOUNDS = (-0.9, 0.5)
"""Between these is how much margins give way."""


@dataclass(frozen=True)
class Fitted:
    """The factors of an algorithm and a kind of workload."""

    numbers: tuple[float, ...]
    """As `calibration.apply` takes them."""

    typical: tuple[float, ...]
    """Per knot, the median over data sets of the released margins, in those that previews compare with."""

    releases: int

    held_out: tuple[Coverage, ...]
    """Every measurement, with margins by factors in which its family had no part."""


def fitted(found: Sequence[Coverage]) -> dict[str, Fitted]:
    """Per algorithm and kind of workload; every data set and price counts the same.

    What a choosing algorithm released is that of the one that it chose, so it has no part in any fit.
    """
    groups: dict[str, list[Coverage]] = {}
    for one in found:
        if set(one.by) == {one.cell.algorithm} and algorithms.get(one.by[0]).data_dependent and one.by[0] not in BLIND:
            groups.setdefault(key(one.by[0], one.kind), []).append(one)
    out = {}
    for name, of in groups.items():
        families = sorted({family(one.dataset) for one in of})
        if len(families) < LEAST_FAMILIES:
            continue
        parts = [_part(one) for one in of]
        held_out: list[Coverage] = []
        for left_out in families:
            rest = [part for one, part in zip(of, parts, strict=True) if family(one.dataset) != left_out]
            numbers = _numbers(rest)
            held_out += [replace(one, widened=_applied(one, numbers)) for one in of if family(one.dataset) == left_out]
        numbers = _numbers(parts)
        releases = sum(len(one.raw) for one in of)
        out[name] = Fitted(numbers, _typical(of, numbers), releases, tuple(held_out))
    return out


def checked(found: Iterable[Coverage], fits: dict[str, Fitted]) -> list[Coverage]:
    """The measurements with the margins of a fit without them, where there is one; the others as jostle makes them."""
    known = {(one.cell, one.dataset, one.records): one for fit in fits.values() for one in fit.held_out}
    return [known.get((one.cell, one.dataset, one.records), one) for one in found]


Part = tuple[Vector, Vector]
"""What the fit knows of some answers: one row per answer, and the logarithm of how far off it was in simulated margins."""


def _part(one: Coverage) -> Part:
    """Per answer: how much it is narrower and wider than the usual one, and the weight of each knot."""
    chosen = np.linspace(0, one.raw.shape[1] - 1, min(ANSWERS, one.raw.shape[1])).round().astype(np.int64)
    usual = np.maximum(np.sqrt(np.mean(one.raw**2, axis=1, keepdims=True)), 1e-9)
    relative = np.log(np.maximum(one.raw / usual, LEAST))
    strengths = np.clip(one.signals, KNOTS[0], KNOTS[-1])
    knots = np.array([np.interp(strengths, KNOTS, row) for row in np.eye(len(KNOTS))]).T
    off = np.log(np.maximum(one.off / usual, 1e-3)) - relative
    rows = [
        np.column_stack([np.minimum(r, 0), np.maximum(r, 0), np.broadcast_to(k, (r.size, k.size))])
        for r, k in zip(relative[:, chosen], knots, strict=True)
    ]
    return np.concatenate(rows), off[:, chosen].reshape(-1)


def _numbers(parts: Sequence[Part]) -> tuple[float, ...]:
    """The quantile of how far off answers are, by their simulated margins and the strength (Koenker and Bassett 1978).

    The loss has a corner, which is rounded less and less; each round is a least-squares problem (Hunter and Lange 2000).
    Factors are to be alike, their logarithms to lie along a straight line, and margins not to give way, unless data say so.
    """
    flat = (0.0, 0.0, *[1.0] * len(KNOTS))
    if not parts:
        return flat
    rows, off = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    weights = np.concatenate([np.full(part[1].size, 1 / part[1].size) for part in parts])
    bends = np.zeros((len(KNOTS) - 2, rows.shape[1]))
    for place in range(len(KNOTS) - 2):
        bends[place, 2 + place : 5 + place] = (1.0, -2.0, 1.0)
    steps = np.diff(np.eye(rows.shape[1])[2:], axis=0)
    penalty = STRAIGHT * bends.T @ bends + LEVEL * steps.T @ steps + np.diag([NEAR_NOUGHT] * 2 + [1e-3] * len(KNOTS))
    found = np.zeros(rows.shape[1])
    for turn in range(ROUNDS):
        sure = weights / (np.abs(off - rows @ found) + max(1e-3, 0.3 * 0.85**turn))
        pull = rows.T @ (sure * off + (2 * WANTED - 1) * weights)
        found = np.linalg.solve(rows.T @ (rows * sure[:, np.newaxis]) + penalty, pull)
        found[:2] = np.clip(found[:2], *BOUNDS)
    return tuple(np.round([*found[:2], *np.exp(found[2:])], 3).tolist())


def _typical(of: Sequence[Coverage], numbers: tuple[float, ...]) -> tuple[float, ...]:
    """The weighted median of what data sets say, near each knot."""
    found = []
    for one in of:
        each = np.median(_applied(one, numbers), axis=1) / _compared(one.cell)
        found += [(strength, ratio) for strength, ratio in zip(one.signals, each, strict=True)]
    strengths, ratios = np.array(found).T
    order = np.argsort(ratios)
    out = []
    for knot in KNOTS:
        near = np.maximum(1 - np.abs(np.clip(strengths, KNOTS[0], KNOTS[-1]) - knot), 0.0)[order] + 0.01
        reached = np.cumsum(near) / near.sum()
        out.append(round(float(max(ratios[order][np.searchsorted(reached, 0.5)], 1e-3)), 3))
    return tuple(np.maximum.accumulate(out).tolist())  # the more there is to see, the less is left to shrink


@cache
def _compared(cell: Cell) -> float:
    """The margin of a typical answer by the algorithm that previews compare with."""
    workload = asked("ranges" if cell.workload == "rectangles" else cell.workload, cell.shape)
    relation = Neighbours.of(cell.neighbours)
    return preview(algorithms.get(cell.algorithm), workload, cell.price, relation, {}).margin


def _applied(one: Coverage, numbers: tuple[float, ...]) -> Vector:
    return np.array([apply(raw, numbers, strength) for raw, strength in zip(one.raw, one.signals, strict=True)])


def write(fits: dict[str, Fitted], file: Path, command: str) -> None:
    """Put the factors into the file that jostle reads; those of other algorithms and workloads stay."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"factors": {}, "typical": {}}
    known["factors"] |= {name: list(one.numbers) for name, one in fits.items()}
    known["typical"] |= {name: list(one.typical) for name, one in fits.items()}
    parts = [f' "made by": {json.dumps(command, ensure_ascii=False)}']
    for part in ("factors", "typical"):
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(known[part][name])}" for name in sorted(known[part]))
        parts.append(f' "{part}": {{\n{lines}\n }}')
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
