"""Exact privacy loss of a whole plan: what was released on some records is replayed on neighbouring ones.

A plan sees records through its noise alone. A writer draws the noise and writes down what each draw released. A reader hands
the same answers to the plan on other records, and adds up how much likelier or less likely they were there. If the plan does
anything before it is told (another scale, shape or order of questions), the reader notices.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.functions import objective as perturbed
from jostle.kernel.noise import SimulatedNoise

Line = tuple[str, Any, Any, Any]
"""What was drawn, how (scale or calibration), around what, and what was released."""


class Writer:
    """Draws noise, and writes down what is released."""

    trials = None

    def __init__(self, seed: int) -> None:
        self.noise, self.lines = SimulatedNoise(seed), list[Line]()

    def discrete_laplace(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        return self._kept("laplace", scale, values, self.noise.discrete_laplace(values, scale))

    def noisy_max(self, scores: np.ndarray, scale: Fraction) -> int:
        return int(self._kept("max", scale, scores, self.noise.noisy_max(scores, scale)))

    def minimised(self, search: Any, how: perturbed.Calibration, scores: int) -> np.ndarray:
        pulls = self.noise.discrete_laplace(np.zeros((search.width, scores), dtype=np.int64), how.pull) / perturbed.PULLS
        if scores > 1:
            pulls = pulls - pulls.mean(axis=1, keepdims=True)
        return self._kept("minimise", how, search, search.minimiser(pulls)).T

    def _kept(self, kind: str, how: Any, around: Any, out: Any) -> Any:
        self.lines.append((kind, how, around, np.array(out)))
        return out


class Reader:
    """Gives the answers that were written down, and adds up the log-ratio of their probabilities."""

    trials = None

    def __init__(self, lines: list[Line]) -> None:
        self.lines, self.lost = list(lines), 0.0

    def discrete_laplace(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        before, out = self._next("laplace", scale)
        assert before.shape == values.shape
        self.lost += float((np.abs(out - values) - np.abs(out - before)).sum() / scale)
        return np.array(out)

    def noisy_max(self, scores: np.ndarray, scale: Fraction) -> int:
        before, out = self._next("max", scale)
        assert before.shape == scores.shape
        self.lost += log_chance(before, scale, int(out)) - log_chance(scores, scale, int(out))
        return int(out)

    def minimised(self, search: Any, how: perturbed.Calibration, scores: int) -> np.ndarray:
        before, out = self._next("minimise", how)
        self.lost += log_density(before, how, out) - log_density(search, how, out)
        return np.array(out.T)

    def _next(self, kind: str, how: Any) -> tuple[Any, Any]:
        expected, same, around, out = self.lines.pop(0)
        assert (expected, same) == (kind, how), "the plan asked otherwise, before it was told anything else"
        return around, out


def minimised(objective: Any, rows: Any, weights: Any, classes: int, noise: Any, how: Any) -> np.ndarray:
    """In the place of the kernel's `release`: the exact minimiser, without what hides where the search ended."""
    scores = 1 if classes <= 2 else classes
    found: np.ndarray = noise.minimised(perturbed._Search(objective, rows, weights, scores, how.bend), how, scores)
    return found


def log_chance(scores: np.ndarray, scale: Fraction, winner: int) -> float:
    """That the winner has the largest score plus exponential noise: the integral of a polynomial, exact by Gauss."""
    others = np.delete(np.exp(np.clip((scores - float(scores[winner])) / float(scale), -700, 700)), winner)
    top = 1 / max(1.0, others.max(initial=0))
    nodes, weights = np.polynomial.legendre.leggauss(others.size // 2 + 1)
    inside = np.prod(1 - others[:, None] * (top * (nodes + 1) / 2), axis=0)
    return math.log(float((weights * inside).sum() * top / 2))


def log_density(search: Any, how: perturbed.Calibration, at: np.ndarray) -> float:
    """Of the exact minimiser (docs/proofs/objective.md, step 1), but for a constant."""
    gradient, hessian = search._derivatives(at, np.zeros_like(at))
    sigma = float(how.pull) / perturbed.PULLS
    classes = at.shape[1]
    if classes == 1:
        return float(-np.abs(gradient).sum() / sigma + np.linalg.slogdet(hessian)[1])
    plane = np.linalg.qr(np.column_stack([np.ones(classes), np.eye(classes)[:, 1:]]))[0][:, 1:]
    basis = np.kron(np.eye(at.shape[0]), plane)
    return sum(_log_line(row, sigma) for row in gradient) + float(np.linalg.slogdet(basis.T @ hessian @ basis)[1])


def _log_line(row: np.ndarray, sigma: float) -> float:
    """The logarithm of the integral over s of exp(−Σ|row + s|/σ): between its kinks it is an exponential function."""
    knots = np.sort(-row)
    heights = [float(-np.abs(row + knot).sum() / sigma) for knot in knots]
    parts = [heights[0] + math.log(sigma / row.size), heights[-1] + math.log(sigma / row.size)]
    for left, right, one, other in zip(knots, knots[1:], heights, heights[1:], strict=False):
        fall = abs(one - other)
        if right > left:
            mean = -math.expm1(-fall) / fall if fall > 1e-12 else 1.0
            parts.append(math.log(right - left) + max(one, other) + math.log(mean))
    return float(np.logaddexp.reduce(parts))
