"""What Pythia is compared with (Section 3.1 of its paper): informed decision, and its private form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle import algorithms, simulate
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.statistics import TotalVariation
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import SimulatedSource, Source
from jostle.workloads import Workload


def informed_decision(
    source: Source, x: Counts, workload: Workload, epsilon: float, options: Sequence[str], *, trials: int = 20, seed: int = 0
) -> str:
    """The option with the least mean error on these very data: what a perfect choice would be, and not private.

    Only for public data: it takes the simulation that the data are in, and refuses a release.

    >>> from jostle import workloads
    >>> x = np.full(64, 5)
    >>> informed_decision(SimulatedSource(x, seed=1), x, workloads.identity(64), 0.01, ["Laplace", "Uniform"])
    'Uniform'
    """
    if type(source) is not SimulatedSource:
        raise PlanError("informed decision looks at the true answers: it is only for simulations on public data")
    if not options:
        raise BadInput("options", "is empty", "pass the names of some algorithms")
    means = [simulate.errors(name, x, workload, epsilon, trials=trials, seed=seed).mean() for name in options]
    return options[int(np.argmin(means))]


def private_informed_decision(x: Source, workload: Workload, budget: Budget, *, share: float = 0.1) -> Vector:
    """Laplace or Uniform on single cells, whichever a private estimate of their errors says is better.

    For these two a bound on the sensitivity of the error is known, and for hardly any other: which is why this baseline
    cannot take a new algorithm (Section 3.1). Laplace errs by a public amount, √(2n)/ε in L2. Uniform errs by the distance
    of the counts from uniform, between 2t/√n and √2·t for a total variation of t; the geometric mean of both is taken.

    Privacy: one statistic of the kernel with a share of the budget; the choice follows from it; the chosen algorithm spends
    the rest.

    >>> from jostle import workloads
    >>> source = SimulatedSource(np.full(64, 5), seed=1)
    >>> private_informed_decision(source, workloads.identity(64), source.grant(1)).shape
    (64,)
    """
    if workload.kind != "identity":
        raise BadInput("workload", "must ask for single cells: for others no bound is known", "pass workloads.identity(…)")
    if not 0 < share < 1:
        raise BadInput("share", f"must lie between 0 and 1, got {share!r}", "pass for instance 0.1")
    first, rest = budget.split(share, 1 - share)
    variation = max(float(x.statistic(TotalVariation(), first)), 0.0)
    uniform = variation * (8 / x.size) ** 0.25
    laplace = float(np.sqrt(x.size * x.noise_variance(workload.queries, rest)))
    return algorithms.get("Uniform" if uniform < laplace else "Laplace").run(x, workload, rest)
