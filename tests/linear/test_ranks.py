"""The workload behind quantiles: its matrix, what its squares stand for, and what a strategy made for it gains."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import workloads
from jostle.algorithms.opt import best_strategy
from jostle.kernel.errors import BadInput
from jostle.linear.design.gram import Gram

SIZES = [1, 2, 3, 8, 57]
DECILES = np.arange(1, 10) / 10


def rows(n):
    """Sums of the first cells, the total, and all but the first or the last cell."""
    ends = np.ones((2, n)) - np.eye(n)[[0, -1]]
    return np.tril(np.ones((n, n))), np.ones((1, n)), ends


@pytest.mark.parametrize("n", SIZES)
def test_products_and_norms_are_those_of_the_matrix(n):
    queries = workloads.ranks(n).queries
    sums, total, ends = rows(n)
    matrix = np.repeat(np.vstack([2 * sums - total, 2 * total, 2 * ends]), queries.copies, axis=0)
    assert (queries.dense() == matrix / 2).all()
    assert (queries.adjoint(np.eye(len(matrix), dtype=np.int64)) == matrix).all()
    assert (queries.column_norms == np.abs(matrix).sum(axis=0)).all()
    assert (queries.squares == (matrix**2).sum(axis=0)).all()
    assert queries.norm == np.abs(matrix).sum(axis=0).max()
    assert queries.bounds[0] <= matrix.min()
    assert matrix.max() <= queries.bounds[1]


@pytest.mark.parametrize("n", [6, 60, 300])
def test_squares_are_those_of_every_level_at_places_and_in_either_end(n):
    """The integral over levels is exact with two of Gauss's nodes, as squares are of degree 2. 6 divides n."""
    sums, total, ends = rows(n)
    levels = 0.5 + np.array([-1, 1]) / np.sqrt(12)
    places = workloads.ranks(n).queries.copies[:n]
    assert places.sum() == 2 * n
    at_places = sum((sums - level * total).T @ (places[:, None] * (sums - level * total)) for level in levels) / 2
    # In an end that holds nearly all, a level's rank is off by its share of what lies outside; both ends weigh 2n together.
    in_ends = 2 * n * sum(level**2 for level in levels) / 2 * (ends.T @ ends) / 2
    gram = Gram.of(workloads.ranks(n))
    assert gram.rows(np.eye(n)) == pytest.approx(at_places + in_ends)
    assert (gram.diagonal == np.diag(gram.rows(np.eye(n)))).all()


def test_places_are_anywhere_and_as_often_within_any_distance_of_an_end():
    """From 1/64 to 1/8 of the way there are 3 doublings, from there to the middle 2."""
    more = workloads.ranks(1024).queries.copies[:1024] - 1
    assert more.sum() == 1024
    assert more[16:128].sum() / more[128:512].sum() == pytest.approx(3 / 2, rel=0.05)
    assert more[:512].sum() == pytest.approx(512, abs=40)  # the last sum, the total, makes the halves uneven


def test_the_diagonal_is_known_on_large_domains_too():
    gram = Gram.of(workloads.ranks(1500))
    one = np.eye(1500)[[0, 700, 1499]]
    assert gram.diagonal[[0, 700, 1499]] == pytest.approx(np.diag(gram.rows(one)[:, [0, 700, 1499]]))


def variances(workload):
    """By dense least squares, at ε = 1: of P − αT over deciles and places, and of all but the first cell."""
    queries = best_strategy(workload).queries
    measured = queries.dense() / (queries.norm / queries.unit)
    covariance = 2 * np.linalg.inv(measured.T @ measured)
    sums, total, ends = rows(workload.shape[1])
    deciles = [np.einsum("ij,jk,ik->i", r, covariance, r).mean() for r in (sums - level * total for level in DECILES)]
    return float(np.mean(deciles)), float(ends[0] @ covariance @ ends[0])


@pytest.mark.parametrize(("n", "anywhere", "end"), [(64, 1.05, 0.6), (256, 1.0, 0.5)])
def test_ranks_are_as_near_as_with_a_strategy_for_prefixes_and_nearer_at_the_ends(n, anywhere, end):
    """No noise is drawn. With 256 cells a rank has 0.97 of the variance, and 0.42 where all is in the first cell."""
    ranks, prefixes = variances(workloads.ranks(n)), variances(workloads.prefix(n))
    assert ranks[0] < anywhere * prefixes[0]
    assert ranks[1] < end * prefixes[1]


def test_a_grid_has_no_ranks():
    with pytest.raises(BadInput, match="along a line"):
        workloads.ranks((4, 4))
