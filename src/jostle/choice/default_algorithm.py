"""The public rule: which algorithm answers where no selector was trained, from the question alone."""

from __future__ import annotations

from jostle.workloads import Workload

FEW = 16
"""So many queries are few: a strategy made for them beats one that serves all."""

FOR_RANGES = ("Bayes", "Adaptive", "AdaptiveGrid")
"""What answers the questions that selectors are trained for: there Pythia can choose."""


def usual(asked: Workload) -> tuple[str, str]:
    """Which algorithm answers if none is named, and why. The data have no part in it.

    >>> from jostle import workloads
    >>> usual(workloads.prefix(100))[0], usual(workloads.identity(100))[0], usual(workloads.total(100))[0]
    ('Adaptive', 'Bayes', 'OPT')
    """
    if asked.kind == "identity":
        return "Bayes", "because single cells are asked for: each is shrunk to what cells like it seem to hold"
    if asked.kind not in ("prefix", "ranges", "rectangles", "all ranges") or asked.shape[0] <= FEW:
        return "OPT", "because these queries can be measured nearly as they are"
    better = "Adaptive" if len(asked.domain) == 1 else "AdaptiveGrid"
    return better, "because many ranges are asked for: their resolution follows the data"
