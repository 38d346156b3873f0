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
    knots = _by_knot(one.signals)
    off = np.log(np.maximum(one.off / usual, 1e-3)) - relative
    rows = [
        np.column_stack([np.minimum(r, 0), np.maximum(r, 0), np.broadcast_to(k, (r.size, k.size))])
        for r, k in zip(relative[:, chosen], knots, strict=True)
    ]
    return np.concatenate(rows), off[:, chosen].reshape(-1)


def _numbers(parts: Sequence[Part]) -> tuple[float, ...]:
    """The quantile of how far off answers are, by their simulated margins and the strength.

    Factors are to be alike, their logarithms to lie along a straight line, and margins not to give way, unless data say so.
    """
    if not parts:
        return (0.0, 0.0, *[1.0] * len(KNOTS))
    rows, off = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    weights = np.concatenate([np.full(part[1].size, 1 / part[1].size) for part in parts])
    found = _quantile(rows, off, weights, WANTED, (STRAIGHT, LEVEL))
    return tuple(np.round([*found[:2], *np.exp(found[2:])], 3).tolist())


def _quantile(rows: Vector, off: Vector, weights: Vector, share: float, costs: tuple[float, float]) -> Vector:
    """A regression of a quantile (Koenker and Bassett 1978); the last columns are the knots.

    The loss has a corner, which is rounded less and less; each round is a least-squares problem (Hunter and Lange 2000).
    """
    others = rows.shape[1] - len(KNOTS)
    knots = np.eye(rows.shape[1])[others:]
    bends, steps = np.diff(knots, 2, axis=0), np.diff(knots, axis=0)
    penalty = costs[0] * bends.T @ bends + costs[1] * steps.T @ steps
    penalty += np.diag([NEAR_NOUGHT] * others + [1e-3] * len(KNOTS))
    found: Vector = np.zeros(rows.shape[1])
    for turn in range(ROUNDS):
        sure = weights / (np.abs(off - rows @ found) + max(1e-3, 0.3 * 0.85**turn))
        pull = rows.T @ (sure * off + (2 * share - 1) * weights)
        found = np.asarray(np.linalg.solve(rows.T @ (rows * sure[:, np.newaxis]) + penalty, pull))
        found[:others] = np.clip(found[:others], *BOUNDS)
    return found


def _typical(of: Sequence[Coverage], numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Per knot, the median over data sets, by the records that there are."""
    each = [float(np.log(max(np.median(_applied(one, numbers)) / _compared(one.cell), 1e-6))) for one in of]
    strengths = [np.log10(max(one.cell.price.rate * one.records / np.prod(one.cell.shape), 1e-6)) for one in of]
    found = _quantile(_by_knot(strengths), np.array(each), np.ones(len(of)), 0.5, (0.05, 0.0))
    return tuple(np.round(np.exp(found), 4).tolist())


def _by_knot(strengths: Sequence[float]) -> Vector:
    """The weight of each knot at each strength."""
    return np.array([np.interp(strengths, KNOTS, row) for row in np.eye(len(KNOTS))]).T


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
