"""What a part of the comparison is: jobs for peers, and what their outcomes say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle_bench.peers.environments import Peer
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.reports.sections import Section


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The command's options."""

    peers: Sequence[Peer]
    """Who takes part; jostle is the first."""

    folder: Path
    """Where data and results are kept."""

    quick: bool = False
    """Whether a few tiny cells are enough."""

    full: bool = False
    """Whether what takes hours is wanted, too."""

    domains: Sequence[tuple[int, ...]] = ()
    """The domains that accuracy is measured on; empty for all."""

    tables: Sequence[str] = ()
    """The tables that classifiers are measured on; empty for all."""

    seed: int = 0
    """Of data, and of whatever takes a seed."""

    data: Path | None = None
    """The folder of public data, if there is one."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One cell: the same work by us and by a peer. Less is better."""

    part: str
    """Of the report."""

    peer: str
    """The peer's title, with what of it was used."""

    cell: str
    """What was done, in words."""

    group: str
    """Cells of a group go into one mean, for instance "ranges"."""

    ours: float
    """Our median, or mean where `unit` says so."""

    theirs: float
    """Theirs."""

    unit: str
    """Of both."""

    ratio: float
    """Ours over theirs."""

    low: float
    """The lower end of the ratio's 95 % interval."""

    high: float
    """The upper end."""

    note: str = ""
    """What a reader should know, for instance that δ is not 0."""

    @property
    def behind(self) -> bool:
        """Whether ours is the larger one."""
        return self.ratio > 1

    @property
    def for_certain(self) -> bool:
        """Whether the interval leaves no doubt which one is larger."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a part found."""

    comparisons: Sequence[Comparison] = ()
    """Every cell that we and a peer have both done."""

    sections: Sequence[Section] = ()
    """Of the report, with texts and tables."""

    pictures: Mapping[str, Any] = field(default_factory=dict)
    """Plotly figures by the names that the sections have for them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the comparison."""

    name: str
    """As in `--parts`."""

    jobs: Callable[[Asked], Sequence[Job]]
    """What to run; data are made on the way."""

    findings: Callable[[Asked, Sequence[tuple[Job, Outcome]]], Findings]
    """What the outcomes say."""


RELATIONS: Final = ("add_remove", "replace")
"""What a peer may protect; ours is measured under each that one does."""


def of_means(
    ours: Any, theirs: Any, *, part: str, peer: str, cell: str, group: str, unit: str, note: str = ""
) -> Comparison:
    """A cell from samples on both sides: their means, and the ratio's interval."""
    ratio, low, high = compare(ours, theirs)
    return Comparison(
        part=part,
        peer=peer,
        cell=cell,
        group=group,
        ours=float(np.mean(ours)),
        theirs=float(np.mean(theirs)),
        unit=unit,
        ratio=ratio,
        low=low,
        high=high,
        note=note,
    )


def with_delta(delta: float) -> str:
    """What to note of a peer's δ.

    >>> with_delta(1e-6), with_delta(0.0)
    ('theirs has δ = 1e-06, ours 0', '')
    """
    return f"theirs has δ = {delta:g}, ours 0" if delta else ""


def mean(ratios: Any) -> float:
    """The geometric mean.

    >>> mean([0.5, 2.0])
    1.0
    """
    return float(np.exp(np.mean(np.log(np.asarray(ratios)))))


def compare(ours: Any, theirs: Any) -> tuple[float, float, float]:
    """The ratio of two means of positive numbers, and its 95 % interval (Welch's, on the logarithms of the means).

    >>> ratio, low, high = compare([2.0, 2.2, 1.8, 2.0], [4.0, 4.4, 3.6, 4.0])
    >>> ratio, round(low, 2), round(high, 2)
    (0.5, 0.43, 0.58)
    """
    from scipy.stats import t

    a, b = (np.asarray(one, dtype=np.float64) for one in (ours, theirs))
    ratio = float(a.mean() / b.mean())
    if min(a.size, b.size) < 2:
        return ratio, 0.0, math.inf
    parts = [float((one.std(ddof=1) / one.mean()) ** 2 / one.size) for one in (a, b)]
    if not sum(parts):
        return ratio, ratio, ratio
    freedom = sum(parts) ** 2 / sum(part**2 / (one.size - 1) for part, one in zip(parts, (a, b), strict=True))
    reach = math.exp(float(t.ppf(0.975, freedom)) * math.sqrt(sum(parts)))
    return ratio, ratio / reach, ratio * reach
