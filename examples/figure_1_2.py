"""The program of Figure 1.2 of the Jostle thesis: DAWA or MWEM, by how uniform and how sparse a grid of counts is."""

from math import sqrt

from rich import print

from examples.public_data import grids, rectangles
from jostle import algorithms
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.expressions import sql
from jostle.choice.metafeatures import metafeature
from jostle.choice.options import option


@metafeature
def uniformity(db):
    """How much the totals of blocks differ."""
    xgrp, ygrp = sqrt(db.x_range), sqrt(db.y_range)
    return sql("stddev(select sum(values) from db groupby x/xgrp, y/ygrp)", xgrp=xgrp, ygrp=ygrp)


@metafeature
def sparsity(db):
    """The share of cells that are not empty."""
    num_nonzero = sql("select count(values) from db where values > 0")
    return num_nonzero / (db.x_range * db.y_range)


@option
def DAWA(db, queries, budget):  # noqa: N802  # the paper's name
    """Cuts the grid where counts change, then measures the parts."""
    return queries @ algorithms.get("DAWA").run(db, queries, budget)


@option
def MWEM(db, queries, budget):  # noqa: N802  # the paper's name
    """Starts from uniform counts, and repairs the worst query again and again."""
    return queries @ algorithms.get("MWEM").run(db, queries, budget)


def make(**more):
    """The choice maker, trained on public grids."""
    return ChoiceMaker(
        options={DAWA, MWEM},
        informed_by={uniformity, sparsity},
        trained_on=grids(),
        queries=rectangles,
        epsilon=0.1,
        **more,
    )


if __name__ == "__main__":
    noisy_hist_choice = make()
    print(noisy_hist_choice.explain())
    print(str(noisy_hist_choice.held_out()))
