"""A release: private counts in, noisy answers with error bars out, and the charge in the ledger before either."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import algorithms
from jostle.algorithms import Algorithm
from jostle.kernel.budget import round_down, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import ReleaseSource, counts
from jostle.linear import workloads
from jostle.linear.workloads import Workload
from jostle.simulate import estimates

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account

LONGEST_NOTE = 500
"""The ledger adds what was measured, within the space that it has for both."""

_TRIALS = 200


@dataclass(frozen=True, kw_only=True)
class Release:
    """What was released, and everything public about it."""

    answers: Vector
    """The workload's noisy answers."""

    margins: Vector
    """Half the width of a 95 % interval around each answer."""

    estimate: Vector
    """The noisy data vector that the answers come from, in the domain's shape. Not rounded, and possibly negative."""

    workload: Workload
    """What was asked."""

    algorithm: Algorithm
    """What answered."""

    neighbours: str
    """What one person may change without it being noticed."""

    spent: Fraction
    """The ε that this release was charged."""

    remaining: Fraction
    """The ε that the account has left after it."""

    tunables: dict[str, Any] = field(default_factory=dict)
    """The algorithm's own arguments, where they were not the default."""

    def explain(self) -> str:
        """The release in words."""
        queries, cells = self.workload.shape
        return (
            f"{queries} {self.workload.kind} queries over {cells} cells by {self.algorithm.name}, "
            f"at ε = {round_up(self.spent):g} ({self.neighbours} neighbours); "
            f"typically off by ±{np.median(self.margins):.3g} at 95 %; "
            f"ε = {round_down(self.remaining):g} is left."
        )

    def __repr__(self) -> str:
        return f"<Release: {self.explain()}>"


def release(
    x: Any,
    workload: Workload | None = None,
    *,
    epsilon: Any,
    account: Account,
    algorithm: str | Algorithm | None = None,
    note: str = "",
    **tunables: Any,
) -> Release:
    """Answer a workload on private counts, and charge ε to an account of a ledger.

    Everything is checked before anything is charged. The answers are ε-differentially private under the account's
    neighbours; the noise is exact and cannot be seeded. The margins come from simulating the same algorithm on the released
    estimate, which costs nothing: they are right where the error does not depend on the data, and near it elsewhere.

    >>> import jostle, tempfile
    >>> ledger = jostle.Ledger(tempfile.mkdtemp() + "/budget.db")
    >>> people = ledger.account("people", cap=1)
    >>> ages = release([12, 40, 31, 8], epsilon=0.5, account=people, algorithm="Laplace")
    >>> len(ages.answers), ages.spent, people.remaining
    (4, Fraction(1, 2), Fraction(1, 2))
    """
    vector, domain = counts(x)
    asked = workloads.identity(domain) if workload is None else workload
    asked.check(domain)
    plan = algorithms.get(algorithm or _usual(asked))
    plan.check(asked, tunables)
    if len(note) > LONGEST_NOTE:
        raise BadInput("note", f"is longer than {LONGEST_NOTE} characters", "say it in fewer words")
    source = ReleaseSource(vector, purse=account.purse(), shape=domain, note=f"{plan.name}: {note}" if note else plan.name)
    budget = source.grant(epsilon)
    estimate = plan.run(source, asked, budget, **tunables)
    return Release(
        answers=asked @ estimate,
        margins=_margins(plan, estimate, asked, budget.epsilon, account.neighbours, tunables),
        estimate=estimate.reshape(domain),
        workload=asked,
        algorithm=plan,
        neighbours=str(account.neighbours),
        spent=budget.epsilon - source.unspent,
        remaining=account.remaining,
        tunables=tunables,
    )


def _usual(asked: Workload) -> str:
    """Which algorithm answers if none is named: cells are shrunk, ranges get as fine a resolution as they can bear."""
    if asked.kind == "identity":
        return "Bayes"
    return "Adaptive" if len(asked.domain) == 1 else "AdaptiveGrid"


def _margins(
    plan: Algorithm, estimate: Vector, asked: Workload, epsilon: Fraction, neighbours: Neighbours, tunables: dict[str, Any]
) -> Vector:
    """How far answers are off in 95 of 100 simulated runs, query by query, if the estimate were the truth."""
    # Poisson: a smooth estimate would be easier to answer than the rough counts behind it, and the margins too narrow.
    stand_in = np.random.default_rng(0).poisson(np.maximum(estimate, 0)).reshape(asked.domain)
    runs = estimates(plan, stand_in, asked, epsilon, trials=_TRIALS, seed=0, neighbours=neighbours, **tunables)
    truth = asked @ stand_in
    off = np.concatenate([np.abs((asked @ batch) - truth) for batch in runs])
    return np.asarray(np.quantile(off, 0.95, axis=0))
