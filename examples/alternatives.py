"""Four choices among three private classifiers: one learned on public tables, and three that look at the private records.

The score of a classifier is the number of records that it gets right, which one record moves by at most one.
"""

import numpy as np
from rich import print

from examples.tree_choice import EPSILON, mistakes, tables
from jostle.choice.alternatives import ByLargeMargin, ByValidation, LearnedChoice, PrivateCandidates, Single, compare
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.expressions import largest
from jostle.choice.metafeatures import metafeature
from jostle.choice.options import as_options, option
from jostle.choice.questions import of
from jostle.kernel.functions.criteria import Majority
from jostle.kernel.records import Split
from jostle.kernel.strategies import identity

COLUMNS = ("a0", "a1", "a2", "a3", "a4", "a5", "class")

size = metafeature("select sum(values) from db", name="size")
common = metafeature(lambda db: largest(db.values), name="common")


def grown(db, budget, left, depth):
    """A tree of that depth: half of what is left for each split, the rest for the leaves."""
    if depth == 0:
        return int(db.vector("class").measure(identity(db.sizes["class"]), budget).argmax())
    choosing, rest = budget.split(1, 1)
    splits = [Split(name, np.arange(db.sizes[name])) for name in left]
    best = left[db.choose_each(splits, Majority(), choosing, label="class")[0]]
    others = [name for name in left if name != best]
    return best, [grown(part, token, others, depth - 1) for part, token in db.split(best, rest)]


@option
def majority(db, query, budget):
    """The most frequent class, always."""
    return grown(db, budget, list(COLUMNS[:-1]), 0)


@option
def stump(db, query, budget):
    """One split."""
    return grown(db, budget, list(COLUMNS[:-1]), 1)


@option
def deep(db, query, budget):
    """Three splits on every path."""
    return grown(db, budget, list(COLUMNS[:-1]), 3)


OPTIONS = (majority, stump, deep)


def right(answer, cells, query):
    """1 for every combination of values whose class the tree predicts."""
    codes = dict(zip(COLUMNS, np.indices(cells.shape).reshape(len(COLUMNS), -1), strict=True))
    predicted = np.zeros(cells.size, dtype=int)
    waiting = [(answer, np.arange(cells.size))]
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, int):
            predicted[rows] = node
        else:
            waiting += [(child, rows[codes[node[0]][rows] == value]) for value, child in enumerate(node[1])]
    return predicted == codes["class"]


def best_tree(counts, depth):
    """How many records the best tree of that depth gets right: the largest of counts, which one record moves by 1."""
    if depth == 0:
        return int(counts.reshape(-1, counts.shape[-1]).sum(axis=0).max())
    axes = range(counts.ndim - 1)
    return max(sum(best_tree(part, depth - 1) for part in np.moveaxis(counts, axis, 0)) for axis in axes)


def worth(name, data, query):
    """What the best tree gets right, less what noise on its leaves is expected to spoil: a public number."""
    depth = {"majority": 0, "stump": 1, "deep": 3}[name]
    counts = data.counts(COLUMNS).reshape([data.sizes[column] for column in COLUMNS])
    leaves, share = 2.5**depth, float(EPSILON) / 2 / 2**depth
    return best_tree(counts, depth) - 2 * leaves / share


def rules(trained_on):
    """The alternatives to compare, and the options by themselves."""
    settings = {"trained_on": trained_on, "loss": mistakes, "epsilon": EPSILON, "trials": 4}
    maker = ChoiceMaker(options=OPTIONS, informed_by=[of(size, "class"), of(common, "class")], **settings)
    return [
        LearnedChoice(maker),
        ByValidation(OPTIONS, right, on=COLUMNS),
        PrivateCandidates(OPTIONS, right, threshold=600, otherwise=lambda db, query: 0, on=COLUMNS),
        ByLargeMargin(OPTIONS, worth, sensitivity=1),
        *(Single(one) for one in as_options(OPTIONS)),
    ]


def compared(trials=4):
    """Mean mistakes on the second half of the tables; what is learned is learned on the first."""
    every = tables()
    half = len(every) // 2
    return compare(rules(every[:half]), every[half:], mistakes, trials=trials)


if __name__ == "__main__":
    print(compared().iloc[:, 1:].mean().round(3).to_dict())
