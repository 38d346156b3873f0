"""A private decision tree that decides at every node whether to go on, and by which score to split (the thesis' L1 and L2).

Children of a node hold disjoint records, so that all of them together spend what one does: the kernel gives each its token.
"""

from fractions import Fraction

import numpy as np
from rich import print

from jostle.choice.choice_point import ChoicePoint, fixed_runs, held_out_runs, learn
from jostle.choice.expressions import largest
from jostle.choice.metafeatures import metafeature
from jostle.choice.public_databases import Public
from jostle.choice.questions import of
from jostle.kernel.functions.criteria import Gini, Majority
from jostle.kernel.records import ArrayColumns, Split
from jostle.kernel.strategies import identity

DEEPEST = 3
EPSILON = Fraction(1, 2)
CRITERIA = {"by Gini": Gini(), "by majority": Majority()}

size = metafeature("select sum(values) from db", name="size")
common = metafeature(lambda db: largest(db.values), name="common")

L1 = ChoicePoint(
    "go on", ["stop", "split"], informed_by=[of(size, "class"), of(common, "class")], facts=["depth", "epsilon"]
)
L2 = ChoicePoint("score", ["by Gini", "by majority", "at random"], facts=["depth", "epsilon"])


def tree(db, query, budget, left=None, depth=0):
    """A class, or an attribute with a subtree for each of its values."""
    left = [name for name in db.sizes if name != "class"] if left is None else left
    facts = {"depth": depth, "epsilon": float(budget.epsilon)}
    go_on, budget = L1(db, budget, **facts) if depth < DEEPEST and left else ("stop", budget)
    if go_on == "stop":
        return int(db.vector("class").measure(identity(db.sizes["class"]), budget).argmax())
    how, budget = L2(db, budget, **facts)
    if how == "at random":
        best = left[depth % len(left)]
    else:
        choosing, budget = budget.split(1, DEEPEST - depth)
        splits = [Split(name, np.arange(db.sizes[name])) for name in left]
        best = left[db.choose_each(splits, CRITERIA[how], choosing, label="class")[0]]
    others = [name for name in left if name != best]
    return best, [tree(part, query, token, others, depth + 1) for part, token in db.split(best, budget)]


def mistakes(answer, test, query):
    """The share of test records whose class the tree gets wrong."""
    wrong = 0
    waiting = [(answer, np.arange(test.rows))]
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, int):
            wrong += int((test.codes("class")[rows] != node).sum())
        else:
            codes = test.codes(node[0])[rows]
            waiting += [(child, rows[codes == value]) for value, child in enumerate(node[1])]
    return wrong / test.rows


def tables():
    """Made-up tables of 200 to 5,000 records, whose class follows one attribute, two, three, or hardly any."""
    found = []
    for number in range(8):
        rng = np.random.default_rng([number, 3])
        sizes = {f"a{i}": int(rng.integers(2, 4)) for i in range(6)}
        useful, weight = number % 4, 1.5 + number % 3
        effects = [rng.normal(size=(sizes[f"a{i}"], 2)) * weight for i in rng.permutation(6)[:useful]]
        places = [f"a{i}" for i in rng.permutation(6)[:useful]]
        for records in (200, 1_000, 5_000):
            made = [_drawn(rng, sizes, places, effects, count) for count in (records, 1_000)]
            found.append(
                Public(data=made[0], truth=made[1], name=f"{number}, {records}", group=f"{number}", epsilon=EPSILON)
            )
    return found


def _drawn(rng, sizes, places, effects, records):
    codes = {name: rng.integers(0, size, records) for name, size in sizes.items()}
    scores = rng.gumbel([0.4, 0.0], size=(records, 2))
    for name, effect in zip(places, effects, strict=True):
        scores += effect[codes[name] % len(effect)]
    return ArrayColumns(codes | {"class": scores.argmax(axis=1)}, sizes | {"class": 2})


def train(**more):
    """Train on whole runs on all tables."""
    return learn(tree, [L1, L2], trained_on=tables(), loss=mistakes, epsilon=EPSILON, **more)


def compared(trained, runs=4):
    """Mean regrets on tables: mistakes over those of the best fixed rule. The chosen tree did not learn from them."""
    databases = tables()
    rules = {f"split {how}": {"go on": "split", "score": how} for how in L2.branches} | {"stop": {"go on": "stop"}}
    fixed = {name: np.array(fixed_runs(tree, rule, databases, mistakes, runs=runs)) for name, rule in rules.items()}
    chosen = np.array(held_out_runs(tree, trained, databases, mistakes, runs=runs))
    best = np.min(list(fixed.values()), axis=0)
    return {name: float((losses / best).mean()) for name, losses in ({"chosen": chosen} | fixed).items()}


if __name__ == "__main__":
    trained = train()
    print(L1.explain(), L2.explain(), sep="\n")
    print({name: round(regret, 3) for name, regret in compared(trained).items()})
