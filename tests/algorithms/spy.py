"""A source that writes down what a plan asks of it, and can be told what to answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import Strategy


class Spy:
    """A simulated source under observation."""

    def __init__(self, x: Any, *, neighbours: str = "add_remove", answers: dict[int, np.ndarray] | None = None) -> None:
        self._source = SimulatedSource(x, seed=0, neighbours=neighbours)
        self._answers = answers or {}
        self.asked: list[tuple[np.ndarray, Strategy, Fraction]] = []
        """Answers, queries and ε of every Laplace measurement."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def measure(self, strategy: Strategy, budget: Budget) -> np.ndarray:
        """The answers, or what was told for so many rows."""
        answers = self._source.measure(strategy, budget)
        answers = self._answers.get(strategy.rows, answers)
        self.asked.append((answers, strategy, budget.epsilon))
        return answers
