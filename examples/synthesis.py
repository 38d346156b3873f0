"""A metafeature that nobody wrote: which of three algorithms for prefix sums suits a line of 64 counts, at ε = 0.1."""

import os

import numpy as np
from rich import print

from jostle import workloads
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.compositions import atoms
from jostle.choice.public_databases import Public
from jostle.choice.synthesis import propose
from jostle.datasets.shapes import data_folder, public_shapes, rebin, scaled

CELLS = 64
SCALES = (30, 300, 3_000, 30_000)


def shapes():
    """Public shapes of the folder that JOSTLE_DATA names, if any, and nine drawn at random, from sparse to even."""
    found = dict(public_shapes("range-1d", data_folder())) if os.environ.get("JOSTLE_DATA") else {}
    rng = np.random.default_rng(5)
    for evenness in (0.05, 0.2, 1.0):
        for number in range(3):
            found[f"random {evenness} {number}"] = (rng.dirichlet([evenness] * CELLS) * 1e6).astype(np.int64)
    return found


def lines():
    """Every shape at every scale; those of one shape are held out together."""
    return [
        Public(data=scaled(rebin(shape, (CELLS,)), total, seed=1), name=f"{name} at {total}", group=name)
        for name, shape in shapes().items()
        for total in SCALES
    ]


def make(informed_by=()):
    """The choice maker, informed by these metafeatures."""
    return ChoiceMaker(
        options=["HB", "OPT-nonnegative", "Uniform"],
        informed_by=list(informed_by),
        trained_on=lines(),
        queries=workloads.prefix,
        epsilon=0.1,
        rho=0.03,
        trials=5,
        copies=3,
    )


def found(maker, most=None):
    """Proposals over the cells themselves, the best one first."""
    return propose(maker, candidates=[one for one in atoms(1) if "group by" not in one.text][:most])


if __name__ == "__main__":
    blind = make()
    proposals = found(blind)
    for proposal in proposals[:5]:
        print(str(proposal))
    print("blind:", str(blind.held_out()))
    seeing = make([proposals[0].question])
    print("with the best one:", str(seeing.held_out()))
    print(seeing.explain())
