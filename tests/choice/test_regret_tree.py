"""Regret trees against brute force on tiny tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.choice.regret_tree import CRITERIA, Growth, Leaf, best_split, features_of, grow, impurity
from jostle.kernel.errors import BadInput

REGRETS = st.integers(2, 5).flatmap(
    lambda options: st.lists(
        st.lists(st.floats(1.0, 9.0).map(lambda r: round(r, 2)), min_size=options, max_size=options), min_size=4, max_size=9
    )
)


def set_partitions(items):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in set_partitions(rest):
        yield [[first], *partition]
        for at in range(len(partition)):
            yield [*partition[:at], [first, *partition[at]], *partition[at + 1 :]]


def plain(criterion: str, regrets: np.ndarray, theta: float) -> float:
    """The paper's definitions, word by word."""
    mean = regrets.mean(axis=0)
    shares = np.bincount(regrets.argmin(axis=1), minlength=regrets.shape[1]) / len(regrets)
    if criterion == "best-algorithm":
        return 1 - float((shares**2).sum())
    if criterion == "group-regret":
        fit = [c for c in set_partitions(list(range(mean.size))) if all(np.ptp(mean[group]) <= theta for group in c)]
        return min(1 - sum(shares[group].sum() ** 2 for group in clusters) for clusters in fit)
    if criterion == "average-regret":
        return float(mean.mean())
    return float(mean.var()) if criterion == "regret-variance" else float(mean.min())


@pytest.mark.parametrize("criterion", list(CRITERIA))
@given(rows=REGRETS, theta=st.floats(0.0, 4.0))
def test_impurities_are_those_of_the_paper(criterion, rows, theta):
    regrets = np.array(rows)
    best = np.bincount(regrets.argmin(axis=1), minlength=regrets.shape[1]).astype(float)
    found = impurity(CRITERIA[criterion], float(len(rows)), best, regrets.sum(axis=0), theta)
    exact = plain(criterion, regrets, theta)
    slightly = plain(criterion, regrets, max(theta - 1e-9, 0)), plain(criterion, regrets, theta + 1e-9)  # rounding of means
    assert min(exact, *slightly) - 1e-9 <= found <= max(exact, *slightly) + 1e-9


@pytest.mark.parametrize("criterion", list(CRITERIA))
@given(rows=REGRETS, data=st.data(), least=st.integers(1, 3))
def test_the_best_split_is_found(criterion, rows, data, least):
    regrets = np.array(rows)
    values = np.sort(np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows))), dtype=float))
    theta = 1.23456789
    found, at = best_split(
        CRITERIA[criterion], values, np.ones(len(rows)), regrets.argmin(axis=1), regrets, float(least), theta
    )
    tried = {}
    for cut in sorted(set(values))[:-1]:
        sides = regrets[values <= cut], regrets[values > cut]
        if min(map(len, sides)) >= least:
            tried[cut] = sum(len(side) * plain(criterion, side, theta) for side in sides)
    assert found == pytest.approx(min(tried.values(), default=np.inf), rel=1e-6, abs=1e-6)
    if tried:
        below = max(value for value in values if value <= at)
        assert tried[below] == pytest.approx(found, rel=1e-6, abs=1e-6)


def ends(tree, number=0, depth=0):
    node = tree[number]
    if isinstance(node, Leaf):
        yield node, depth
    else:
        yield from ends(tree, node.low, depth + 1)
        yield from ends(tree, node.high, depth + 1)


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_growth_keeps_to_its_limits(criterion):
    rng = np.random.default_rng(3)
    features, regrets = rng.normal(size=(200, 3)), 1 + rng.pareto(1.5, size=(200, 4))
    tree = grow(["domain", "scale", "nonzeros"], features, regrets, growth=Growth(criterion=criterion, depth=3, least=15))
    leaves = list(ends(tree))
    assert sum(leaf.inputs for leaf, _ in leaves) == 200
    assert all(depth <= 3 and leaf.inputs >= 15 for leaf, depth in leaves)
    for number, node in enumerate(tree):
        assert isinstance(node, Leaf) or number < node.low < node.high < len(tree)


@pytest.mark.parametrize("criterion", ["average-regret", "regret-variance"])
@given(rows=REGRETS)
def test_two_of_the_paper_s_criteria_never_branch(criterion, rows):
    """The one is linear in the mean regrets, the other convex: the weighted impurity of two sides is never less."""
    x = np.arange(len(rows), dtype=float)[:, None]
    assert len(grow(["scale"], x, np.array(rows), growth=Growth(criterion=criterion, least=1))) == 1


def test_expected_regret_never_rises_with_a_split_and_beats_gini_where_labels_mislead():
    # Option 0 is best most of the time on either side, by a hair; where it is not, it is terrible.
    x = np.arange(40.0)[:, None]
    regrets = np.tile([1.0, 1.01], (40, 1))
    regrets[30:34] = [100.0, 1.0]
    gini, direct = (
        grow(["scale"], x, regrets, growth=Growth(criterion=criterion, depth=2, least=10))
        for criterion in ("best-algorithm", "expected-regret")
    )

    def cost(tree):
        return sum(leaf.inputs * leaf.regrets[leaf.choice] for leaf, _ in ends(tree))

    assert cost(direct) <= cost(gini)
    assert cost(direct) <= len(x) * regrets.mean(axis=0).min()


def test_a_guard_keeps_risk_away():
    regrets = np.array([[1.0, 1.5]] * 99 + [[40.0, 1.5]])
    x = np.ones((100, 1))
    careless, careful = (grow(["scale"], x, regrets, growth=Growth(guard=guard))[0] for guard in (0.0, 0.1))
    assert (careless.choice, careful.choice) == (0, 1)


def test_weights_count_inputs():
    x, regrets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 1.0]])
    leaf = grow(["scale"], x, regrets, np.array([10.0, 1.0, 1.0]), Growth(depth=0))[0]
    assert (leaf.choice, leaf.inputs) == (0, 12)
    assert leaf.optimal == pytest.approx(10 / 12)


def test_bad_settings_are_refused():
    with pytest.raises(BadInput, match="criterion"):
        Growth(criterion="luck")
    with pytest.raises(BadInput, match="depth"):
        Growth(depth=99)
    with pytest.raises(BadInput, match="theta"):
        Growth(theta=-1)


def test_a_branch_that_leads_to_one_choice_is_no_question():
    """One side is purer, but both take the first option."""
    features = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]])
    regrets = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    growth = Growth(criterion="best-algorithm", least=3, depth=3)
    apart, merged = (grow(["scale"], features, regrets, growth=growth, merge=merge) for merge in (False, True))
    assert features_of(apart) == ("scale",)
    (leaf,) = merged
    assert (leaf.choice, leaf.inputs) == (0, 6)
    assert (leaf.optimal, *leaf.regrets) == pytest.approx((5 / 6, 7 / 6, 11 / 6))
