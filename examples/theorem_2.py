"""Theorem 2 of the Pythia paper: choosing the best algorithm by its true error is not private, though each algorithm is.

Two algorithms ignore the data: one always answers what is true of x, the other what is true of its neighbour y. Both are
0-differentially private. "Informed decision" takes the one with the least error, and so tells x from y with certainty.
"""

import numpy as np
from rich import print

from jostle import workloads
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.options import option
from jostle.kernel.source import SimulatedSource

W = workloads.identity(3)
x, y = np.array([5, 2, 0]), np.array([5, 2, 1])  # one record more


@option(name="A_x")
def answers_x(db, query, budget):
    """Answers W x, whatever the data are: it spends nothing."""
    return W @ x


@option(name="A_y")
def answers_y(db, query, budget):
    """Answers W y, whatever the data are."""
    return W @ y


def informed_decision(data):
    """The answers of the algorithm with the least true error: what the paper calls informed decision."""
    candidates = (W @ x, W @ y)
    return min(candidates, key=lambda answers: np.abs(answers - W @ data).sum())


def chosen_privately(data, epsilon, runs):
    """How often a choice maker, which may not look at true errors, takes A_x."""
    public = {"like x": [5, 2, 0], "like y": [5, 2, 1], "other": [9, 0, 0]}
    maker = ChoiceMaker(options=[answers_x, answers_y], trained_on=public, queries=workloads.identity, epsilon=epsilon)
    taken = []
    for run in range(runs):
        source = SimulatedSource(data, seed=run)
        maker(source, W, source.grant(epsilon))
        taken.append(maker.trace.choice == "A_x")
    return float(np.mean(taken))


if __name__ == "__main__":
    print("Informed decision on x and on y:", informed_decision(x), informed_decision(y))
    print("So an answer of", informed_decision(x), "proves that the data are not y: the loss is infinite.")
    print("A choice maker takes A_x on x and on y equally often:", chosen_privately(x, 1, 20), chosen_privately(y, 1, 20))
