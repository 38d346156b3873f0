"""Junction trees and models against sums over the whole domain."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.synthetic.junction_tree import JunctionTree, adjacency, cells_of, model_cells
from jostle.synthetic.model import CliqueModel, independent, spread, summed

structures = st.integers(1, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.integers(1, 4), min_size=d, max_size=d),
        st.lists(st.sets(st.integers(0, d - 1), min_size=1, max_size=3).map(lambda one: tuple(sorted(one))), max_size=7),
        st.integers(0, 2**31),
    )
)


def whole(tree: JunctionTree, potentials: list[Any]) -> Any:
    """The product of all factors over the whole domain."""
    every = tuple(range(len(tree.sizes)))
    return np.exp(sum((spread(p, c, every) for p, c in zip(potentials, tree.cliques, strict=True)), np.zeros(tree.sizes)))


@given(structures)
def test_a_tree_holds_every_set_and_what_is_shared_is_connected(structure) -> None:
    sizes, sets, _ = structure
    tree = JunctionTree.over(sizes, sets)
    assert {axis for clique in tree.cliques for axis in clique} == set(range(len(sizes)))
    assert all(tree.home(axes) is not None for axes in sets)
    for place, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
        assert parent < place
        assert tree.separators[place] == (() if parent < 0 else tuple(a for a in clique if a in tree.cliques[parent]))
    for axis in range(len(sizes)):  # a tree has one clique more than links
        having = [place for place, clique in enumerate(tree.cliques) if axis in clique]
        links = [place for place in having if axis in tree.separators[place]]
        assert len(having) == len(links) + 1
    assert tree.cells == sum(cells_of(sizes, clique) for clique in tree.cliques)
    if sets:
        before = JunctionTree.over(sizes, sets[:-1])
        assert model_cells(before, adjacency(len(sizes), sets[:-1]), sets[-1]) == tree.cells
        assert not any(set(one) < set(other) for one in tree.cliques for other in tree.cliques)


@settings(max_examples=40)
@given(structures)
def test_probabilities_are_those_of_the_whole_domain(structure) -> None:
    sizes, sets, seed = structure
    rng = np.random.default_rng(seed)
    tree = JunctionTree.over(sizes, sets)
    potentials = [3 * rng.normal(size=[sizes[axis] for axis in clique]) for clique in tree.cliques]
    model, product = CliqueModel.of(tree, potentials), whole(tree, potentials)
    assert np.isclose(model.log_sum, np.log(product.sum()))
    every = tuple(range(len(sizes)))
    for number in range(1, len(sizes) + 1):
        for axes in itertools.combinations(every, number):
            wanted = summed(product, every, axes) / product.sum()
            assert np.allclose(model.marginal(axes), wanted, atol=1e-12)
            assert np.allclose(model.marginal(axes[::-1]), wanted.T, atol=1e-12)
    pairs = list(itertools.combinations(every, 2))
    assert all(np.allclose(found, model.marginal(pair), atol=1e-12) for pair, found in model.pairs(pairs).items())
    assert len(model.pairs(pairs)) == len(pairs)


def test_large_potentials_neither_overflow_nor_warn() -> None:
    tree = JunctionTree.over([2, 2, 2], [(0, 1), (1, 2)])
    model = CliqueModel.of(tree, [np.array([[0.0, 4000.0], [-4000.0, 0.0]])] * 2)
    assert model.marginal((0, 1, 2)).sum() == 1.0
    assert np.isfinite(model.log_sum)


def test_independent_attributes_stay_so() -> None:
    model = independent([np.array([0.25, 0.75]), np.array([0.5, 0.5]), np.array([1.0])])
    assert np.allclose(model.marginal((1, 0)), [[0.125, 0.375], [0.125, 0.375]])
