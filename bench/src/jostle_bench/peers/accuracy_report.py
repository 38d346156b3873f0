"""Tables and pictures of the accuracy part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jostle import plots
from jostle_bench.peers.accuracy import ENOUGH, FEWER_TRIALS, FOR_SLOW, TRIALS, Errors, by_cell, data_sets
from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.inputs import RANGES
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.peers.noise import BOUND, KINDS, Checked
from jostle_bench.peers.parts import Asked, Comparison, mean
from jostle_bench.reports.sections import Grid, Section

GROUPS = ("histogram", "ranges", "quantiles")
GOAL = 0.7
"""For the geometric mean over range workloads."""


def sections(
    asked: Asked,
    outcomes: Sequence[tuple[Job, Outcome]],
    found: Sequence[Errors],
    proven: Mapping[str, tuple[Peer, str, Checked]],
    listed: Sequence[Comparison],
) -> list[Section]:
    """All tables of this part."""
    known = [_known_noise(proven)] if proven else []
    return [_summary(asked, listed), _cells(listed), _used(outcomes), _closed_form(found), *known]


_HOW = (
    "The error is the L2 norm over a workload's answers: all cells of a histogram, all prefixes, {ranges:,} random ranges "
    "or rectangles. For nine deciles it is the number of records between each answer and the right one. Ratios are of mean "
    "errors, ours over theirs; below 1, ours is the smaller. Intervals are at 95 % (Welch, on logarithms). Ours runs "
    "{trials} times an input, peers {trials} times, or {fewer} where they read single records and for quantiles."
)
_OURS = (
    "Ours is what `jostle.release` takes if no algorithm is named, run as a simulation on this public data: the same plan "
    "as in a release, with seeded noise. Its selector was trained on public data that include {public}; it has not seen "
    "the made-up data."
)


def _summary(asked: Asked, listed: Sequence[Comparison]) -> Section:
    rows = []
    for peer in dict.fromkeys(one.peer for one in listed):
        for group in GROUPS:
            cells = [one for one in listed if (one.peer, one.group) == (peer, group)]
            if cells:
                rows.append([peer, group, *summed(cells)])
    for group in GROUPS:
        cells = [one for one in listed if one.group == group]
        if cells:
            rows.append(["**all peers**", group, *summed(cells)])
            rows.append(["**the best peer in each cell**", group, *summed(best_peers(cells))])
    public = [name for name in data_sets(asked, 1) if not name.startswith("made-up")]
    texts = [
        _HOW.format(ranges=RANGES, trials=FEWER_TRIALS if asked.quick else TRIALS, fewer=FEWER_TRIALS),
        _OURS.format(public=", ".join(public) or "none of these"),
        "Beside the best peer in each cell, chosen after the fact, ours has to hold its own against all of them at once.",
        f"Goals: a ratio of at most 1 in every cell, and of at most {GOAL:g} in the geometric mean over ranges.",
    ]
    slow = ", ".join(peer.title for peer in asked.peers if peer.slow)
    if slow:
        said = ", ".join("×".join(map(str, domain)) for domain in FOR_SLOW)
        texts.append(
            f"{slow} read single records at some expense: they get only domains of {said} cells and few records, "
            f"and begin nothing new after {ENOUGH:g} s of a job. Where their noise on a cell is known and was tested, other "
            "inputs follow from it (“closed form”); SmartNoise SQL drops rare cells, so that nothing follows."
        )
    headings = ["", "", "cells", "geometric mean", "least", "most", "behind", "behind for certain"]
    return Section(title="Accuracy at equal ε", texts=texts, grids=[Grid(headings=headings, rows=rows)], figure="accuracy")


def summed(cells: Sequence[Comparison]) -> list[str]:
    """How many cells, the geometric mean of their ratios, the least and the most, and how many we are behind in."""
    ratios = np.array([one.ratio for one in cells])
    behind = [one for one in cells if one.behind]
    numbers = [f"{number:.3f}" for number in (mean(ratios), ratios.min(), ratios.max())]
    return [f"{len(cells):,}", *numbers, str(len(behind)), str(sum(one.for_certain for one in behind))]


def best_peers(cells: Sequence[Comparison]) -> list[Comparison]:
    """Of each cell, the comparison with whichever peer has the least error there."""
    best: dict[str, Comparison] = {}
    for one in cells:
        if one.cell not in best or one.ratio > best[one.cell].ratio:
            best[one.cell] = one
    return list(best.values())


def _cells(listed: Sequence[Comparison]) -> Section:
    grouped = by_cell(listed)
    peers = list(dict.fromkeys(peer for peer, _ in grouped))
    rows = []
    for cell in dict.fromkeys(cell for _, cell in grouped):
        row = [cell]
        for peer in peers:
            here = grouped.get((peer, cell))
            row.append("" if here is None else f"{mean([one.ratio for one in here]):.2f}")
        rows.append(row)
    text = "Geometric means over data sets of ours over theirs."
    return Section(
        title="Accuracy by workload, domain, scale and ε",
        texts=[text],
        grids=[Grid(headings=["", *peers], rows=rows)],
        detail=True,
    )


def _used(outcomes: Iterable[tuple[Job, Outcome]]) -> Section:
    done: dict[tuple[str, ...], list[int]] = {}
    for job, outcome in outcomes:
        if outcome.status == "ok":
            facts = outcome.facts
            about = (f"{job.peer.title} {facts['version']}", job.kind, facts["method"], facts["neighbours"])
            number = done.setdefault((*about, f"{facts['delta']:.2g}"), [0, 0])
            number[0] += len(outcome.values)
            number[1] += len(job.settings["inputs"])
    text = (
        "What each was asked to do. Ours is run under the neighbours that the peer protects: add_remove is one record more "
        "or less, replace one record changed. The last column is on how many of the inputs there was time for it."
    )
    rows = [[*about, f"{number:,} of {given:,}"] for about, (number, given) in done.items()]
    headings = ["", "kind", "method", "neighbours", "δ", "inputs"]
    return Section(title="Methods, neighbours and δ", texts=[text], grids=[Grid(headings=headings, rows=rows)])


def closed_form(cells: int, epsilon: float) -> float:
    """The root mean square of the L2 error of discrete Laplace noise of scale 1/ε on that many cells.

    >>> round(closed_form(1, 0.01), 1)  # about √2/ε
    141.4
    """
    return math.sqrt(cells * KINDS["discrete Laplace"].variance(epsilon))


def _known_noise(proven: Mapping[str, tuple[Peer, str, Checked]]) -> Section:
    rows = []
    for peer, kind, seen in proven.values():
        off = [f"{one:+.2f}" for one in seen.statistics]
        verdict = "as named" if seen.passed else "**not as named**"
        rows.append([peer.title, kind, f"{seen.numbers:,}", f"{seen.variance:.4f}", *off, verdict, f"{seen.noticed:.1%}"])
    text = (
        "What these peers add to cells in real runs, beside noise of the kind that they name, of scale 1/ε. The mean, the "
        "mean square and the mean product of neighbouring cells are given in standard deviations of what chance would do. "
        f"All have to be within ±{BOUND:g}: outside of that, each lies with a probability of 1e-6. The last column is by "
        "how much the scale would have to be off to be noticed every other time. As no data change such noise, the errors "
        "of who has passed are computed for the inputs that it was not run on, and are called “closed form”."
    )
    headings = ["", "noise", "numbers", "variance, over the named", "mean", "mean square", "neighbours", "", "noticed"]
    return Section(title="Noise on cells, tested", texts=[text], grids=[Grid(headings=headings, rows=rows)])


def _closed_form(found: Sequence[Errors]) -> Section:
    rows = []
    of_cells = [one for one in found if one.workload == "histogram" and one.peer.name != OURSELVES]
    for title in dict.fromkeys(one.who for one in of_cells):
        ratios = [
            math.sqrt(float(np.mean(one.errors**2))) / closed_form(math.prod(one.input.domain), one.input.epsilon)
            for one in of_cells
            if one.who == title
        ]
        rows.append([title, str(len(ratios)), f"{mean(ratios):.3f}", f"{min(ratios):.3f}", f"{max(ratios):.3f}"])
    text = (
        "The root mean square of the L2 error on all cells, over that of discrete Laplace noise of scale 1/ε on each: "
        "√(2 n a)/(1 − a), with a = e^−ε. A peer that does nothing else has 1 on every input, whatever the data."
    )
    headings = ["", "inputs", "geometric mean", "least", "most"]
    return Section(title="Histograms beside the closed form", texts=[text], grids=[Grid(headings=headings, rows=rows)])


def pictures(listed: Sequence[Comparison]) -> dict[str, Any]:
    """Every ratio, by peer: one box per peer and group."""
    figure = plots.new("How large is our error, if theirs is 1?", y="our error over theirs", log_y=True)
    for number, group in enumerate(GROUPS):
        cells = [one for one in listed if one.group == group]
        figure.add_box(
            x=[one.peer for one in cells],
            y=[one.ratio for one in cells],
            name=group,
            text=[one.cell for one in cells],
            marker_color=plots.PALETTE[number],
            boxpoints="outliers",
        )
    figure.add_hline(y=1, line={"dash": "dot", "color": plots.MUTED})
    return {"accuracy": figure.update_layout(boxmode="group", height=520)}
