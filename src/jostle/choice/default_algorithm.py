"""The public rule: which algorithm answers a workload where no selector was trained.

Nor is one on few cells: there Bayes and OPT-Bayes average over many priors, and no option that a noisy number of records
could point to is better in the mean over shapes (`jostle bench small`).
"""

from __future__ import annotations

from jostle.linear.shrinkage.few_cells import MOST
from jostle.workloads import Workload

FEW = 16
"""Up to this number of queries, a strategy made for them beats one that serves all."""

RANGES = ("prefix", "ranges", "rectangles", "all ranges")

FOR_RANGES = ("Bayes", "Adaptive", "AdaptiveGrid", "OPT-Bayes")
"""The defaults for workloads that selectors are trained for: there Pythia can choose."""


def for_workload(workload: Workload) -> tuple[str, str]:
    """The algorithm that answers if you name none, and the reason. It does not depend on the data.

    >>> from jostle import workloads
    >>> [for_workload(ask(100))[0] for ask in (workloads.prefix, workloads.identity, workloads.total)]
    ['Adaptive', 'Bayes', 'OPT']
    """
    if workload.kind == "identity":
        return "Bayes", "because single cells are asked for: each is shrunk to what cells like it seem to hold"
    queries, cells = workload.shape
    if workload.kind in RANGES and few_cells(workload) and queries >= min(cells, FEW + 1):
        return "OPT-Bayes", "because cells are few: they are shrunk under many priors, and fused with sums"
    if workload.kind not in RANGES or queries <= FEW:
        return "OPT", "because these queries can be measured nearly as they are"
    better = "Adaptive" if len(workload.domain) == 1 else "AdaptiveGrid"
    return better, "because many ranges are asked for: their resolution follows the data"


def few_cells(workload: Workload) -> bool:
    """Whether the domain is so small that this rule decides, and no shipped selector."""
    return workload.shape[1] <= MOST
