"""A source that writes down what a plan asks of it."""

from __future__ import annotations

from fractions import Fraction

from jostle import algorithms
from jostle.kernel.source import SimulatedSource


class Listener:
    """Hands everything on to a simulated source; `asked` has the operator, the number of rows or candidates, and ε."""

    def __init__(self, source, asked: list[tuple[str, int, Fraction]]) -> None:
        self._source, self.asked = source, asked

    def __getattr__(self, name):
        return getattr(self._source, name)

    def measure(self, strategy, budget):
        self.asked.append((type(strategy).__name__, strategy.rows, budget.epsilon))
        return self._source.measure(strategy, budget)

    def choose(self, candidates, score, budget):
        self.asked.append(("choose", len(candidates), budget.epsilon))
        return self._source.choose(candidates, score, budget)

    def partition(self, cost, budget):
        self.asked.append(("partition", self._source.size, budget.epsilon))
        return self._source.partition(cost, budget)

    def split(self, partition, budget):
        self.asked.append(("split", partition.groups, budget.epsilon))
        return self._source.split(partition, budget)

    def reduce(self, partition):
        return Listener(self._source.reduce(partition), self.asked)


def asked_of(name, x, workload, *, epsilon=1, neighbours="add_remove", seed=1, **tunables):
    """Run a plan, check that all was spent, and tell what it asked for."""
    source = SimulatedSource(x, seed=seed, neighbours=neighbours)
    listener = Listener(source, [])
    algorithms.get(name).run(listener, workload, source.grant(epsilon), **tunables)
    assert source.unspent == 0
    return listener.asked
