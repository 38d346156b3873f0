"""Factors that make simulated intervals hold, fitted to public data, and checked on each data set with the others'."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from jostle import algorithms
from jostle.answers.previews import preview
from jostle.kernel.neighbours import Neighbours
from jostle.simulate.calibration import KNOTS, apply, key
from jostle.simulate.margins import BLIND
from jostle_bench.coverage.inputs import asked
from jostle_bench.coverage.measuring import NARROWEST, Cell, Coverage

WANTED = 0.96
"""The share of intervals that should hold: a little more than they say, because data sets differ."""

WANTED_NARROWEST = 0.945
"""The least share among the narrowest quarter, for which margins are evened out where it takes that."""

LEAST = 3
"""Factors need results on at least this many data sets."""

LIFTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much of the mean each margin may get."""

STEPS = np.round(0.9 * 1.05 ** np.arange(70), 3)
"""The factors that are tried: from a little narrower to 26 times as wide."""

ELSEWHERE = 0.1
"""What results at other strengths of the signal count, so that a knot without any has a factor nevertheless."""


@dataclass(frozen=True)
class Fitted:
    """The factors of an algorithm and a kind of workload."""

    numbers: tuple[float, ...]
    """As `calibration.apply` takes them."""

    typical: tuple[float, ...]
    """Per knot, the median over data sets of the released margins, in those that previews compare with."""

    left_out: float
    """The share of intervals that hold on data sets that had no part in the factors, in the mean."""

    narrowest: float
    """The same among the narrowest quarter."""

    width: float
    """Their mean width there, over the ideal one."""

    releases: int


def fitted(found: Sequence[Coverage]) -> dict[str, Fitted]:
    """Per algorithm and kind of workload; every data set and price counts the same."""
    groups: dict[str, list[Coverage]] = {}
    for one in found:
        for name in dict.fromkeys(one.by):
            if not algorithms.get(name).data_dependent or name in BLIND:
                continue
            groups.setdefault(key(name, one.kind), []).append(one)
    out = {}
    for name, of in groups.items():
        if len({one.dataset for one in of}) < LEAST:
            continue
        held, narrow, width = [], [], []
        for dataset in sorted({one.dataset for one in of}):
            numbers = _numbers([one for one in of if one.dataset != dataset])
            for one in of:
                if one.dataset == dataset:
                    made = _applied(one, numbers)
                    held.append(_held(one, made).mean())
                    narrow.append(_narrowest(one, made))
                    width.append(made.mean() / max(one.ideal.mean(), 1e-9))
        releases, numbers = sum(len(one.raw) for one in of), _numbers(of)
        means = [float(np.mean(values)) for values in (held, narrow, width)]
        out[name] = Fitted(numbers, _typical(of, numbers), means[0], means[1], means[2], releases)
    return out


def _numbers(of: Sequence[Coverage]) -> tuple[float, ...]:
    """The least evening out at which the narrowest quarter holds, and the factors with it."""
    numbers: tuple[float, ...] = (0.0, *[1.0] * len(KNOTS))
    for lift in LIFTS if of else ():
        numbers = (lift, *_factors(of, lift))
        if np.mean([_narrowest(one, _applied(one, numbers)) for one in of]) >= WANTED_NARROWEST:
            break
    return numbers


def _factors(of: Sequence[Coverage], lift: float) -> list[float]:
    """Per knot, the least factor at which the mean coverage is as wanted."""
    flat = (lift, *[1.0] * len(KNOTS))
    ratios = [np.sort((one.off / np.maximum(_applied(one, flat), 1e-9)).reshape(-1)) for one in of]
    shares = np.array([np.searchsorted(ratio, STEPS + 1e-9, side="right") / ratio.size for ratio in ratios])
    strengths = np.array([np.mean(one.signals) for one in of])
    found = []
    for knot in KNOTS:
        near = np.maximum(1 - np.abs(np.clip(strengths, KNOTS[0], KNOTS[-1]) - knot), 0.0) + ELSEWHERE
        enough = np.flatnonzero(near @ shares / near.sum() >= WANTED)
        found.append(float(STEPS[enough[0] if enough.size else -1]))
    return found


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
        near = np.maximum(1 - np.abs(np.clip(strengths, KNOTS[0], KNOTS[-1]) - knot), 0.0)[order] + ELSEWHERE / 10
        reached = np.cumsum(near) / near.sum()
        out.append(round(float(max(ratios[order][np.searchsorted(reached, 0.5)], 1e-3)), 3))
    return tuple(np.maximum.accumulate(out).tolist())  # the more there is to see, the less is left to shrink


@cache
def _compared(cell: Cell) -> float:
    """The margin of a typical answer by the algorithm that previews compare with."""
    workload = asked("ranges" if cell.workload == "rectangles" else cell.workload, cell.shape)
    relation = Neighbours.of(cell.neighbours)
    return preview(algorithms.get(cell.algorithm), workload, cell.price, relation, {}).margin


def _applied(one: Coverage, numbers: tuple[float, ...]) -> np.ndarray:
    return np.array([apply(raw, numbers, strength) for raw, strength in zip(one.raw, one.signals, strict=True)])


def _held(one: Coverage, margins: np.ndarray) -> np.ndarray:
    return one.off <= margins + 1e-9


def _narrowest(one: Coverage, margins: np.ndarray) -> float:
    limits = np.quantile(margins, NARROWEST, axis=1, keepdims=True)
    return float(_held(one, margins)[margins <= limits].mean())


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
