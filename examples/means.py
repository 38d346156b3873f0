"""Three ways to a private mean of a column of numbers from 0 to 1023, and a choice among them.

The noise of a mean grows with the range of the values. Cutting large values off makes the range smaller, and the mean wrong
where there are many of them. How many there are is a question that costs little.
"""

import numpy as np
from rich import print

from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.expressions import sql
from jostle.choice.metafeatures import metafeature
from jostle.choice.options import Option, option
from jostle.choice.public_databases import Public
from jostle.kernel.partition import Partition
from jostle.kernel.strategies import identity, matrix

RANGE = 1024
NARROW = 64


@option
def whole_range(db, query, budget):
    """All values count as they are: unbiased, and noise in proportion to the whole range."""
    return _clipped(db, RANGE - 1, budget)


@option
def narrow_range(db, query, budget):
    """Values above 63 count as 63: a sixteenth of the noise, and a mean that may be too small."""
    return _clipped(db, NARROW - 1, budget)


class TwoSteps(Option):
    """Half of the budget finds a range that holds nearly all values, the other half a mean within it."""

    def answer(self, db, query, budget):
        """Counts between powers of two tell where the values end."""
        first, second = budget.split(1, 1)
        starts = [0, *(2**k for k in range(11) if 2**k < db.size)]
        counts = db.reduce(Partition.intervals(starts, db.size)).measure(identity(len(starts)), first)
        upto = np.cumsum(counts)
        enough = np.flatnonzero(upto >= 0.98 * upto[-1])
        last = int(enough[0]) if enough.size else len(starts) - 1
        return _clipped(db, [*starts[1:], db.size][last] - 1, second)


def _clipped(db, most, budget):
    """The noisy sum of clipped values over the noisy number of records; both in one measurement of two parts."""
    first, second = budget.split(2, 1)
    values = np.minimum(np.arange(db.size), most)
    total = db.measure(matrix(values[None, :], db.shape), first)[0]
    number = db.measure(matrix(np.ones((1, db.size), dtype=int), db.shape), second)[0]
    return float(np.clip(total / max(number, 1.0), 0, most))


@metafeature
def records(db):
    """How many there are."""
    return db.values.sum()


@metafeature
def high(db):
    """How many records a narrow range would cut off."""
    return sql("select sum(values) from db where x >= narrow", narrow=NARROW)


def error(answer, data, query):
    """How far off the mean is; a hundredth of the true one is exact enough."""
    mean = data @ np.arange(data.size) / data.sum()
    return max(abs(answer - mean), 0.01 * mean)


def columns():
    """Public columns: ages, prices, waiting times and others, each with 100 to 100,000 records."""
    at = np.arange(RANGE)
    shapes = {f"ages around {m}": np.exp(-(((at - m) / (m / 4)) ** 2)) for m in (8, 20, 35)}
    shapes |= {f"waiting times, {m} on average": np.exp(-at / m) for m in (5, 15, 40, 150)}
    shapes |= {f"prices, exponent {k}": 1.0 / (1 + at) ** k for k in (1.0, 1.5, 2.5)}
    shapes |= {f"marks around {m}": np.exp(-(((at - m) / 90) ** 2)) for m in (300, 500, 800)}
    shapes |= {"even": np.ones(RANGE), "mostly 0": np.where(at == 0, 20.0, 1 / RANGE)}
    rng = np.random.default_rng(5)
    return [
        Public(data=rng.multinomial(total, shape / shape.sum()), name=f"{name}, {total}", group=name)
        for name, shape in shapes.items()
        for total in (100, 1_000, 10_000, 100_000)
    ]


def make(trials=16):
    """The choice maker."""
    return ChoiceMaker(
        name="mean",
        options=[whole_range, narrow_range, TwoSteps],
        informed_by=[records, high],
        trained_on=columns(),
        loss=error,
        epsilon=0.1,
        rho=0.1,
        trials=trials,
    )


if __name__ == "__main__":
    mean = make()
    print(mean.explain())
    print(str(mean.held_out()))
