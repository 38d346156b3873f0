"""Tables and the picture of the part on speed and memory."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from jostle import plots
from jostle_bench.peers.parts import Comparison
from jostle_bench.peers.speed import PROCESSES, REPEATS
from jostle_bench.peers.timings import BUSY, TINY, Growth, Timed, Work, said
from jostle_bench.reports.sections import Grid, Section

_HOW = (
    "From a Parquet file to noisy counts of all cells, at ε = 1. “Just started” counts from before the package is imported; "
    "“again” is a later time in the same program, which opens the file anew. Each is done in {processes} fresh processes "
    "(slow peers: in one), up to {repeats} times in each: “best / median”. Persons bounded: at most three rows of each "
    "count, drawn at random. Memory is the most that the process and those it started (Java, for one) had. Ours lets Pythia "
    "choose and writes the charge to a ledger on disk first; peers add noise to each cell and keep no record. Starting "
    "Spark counts."
)
_START = (
    "Import: `import …` in a fresh process. Start-up: a whole process from its start to its end, with one histogram of a "
    "file of {rows:,} rows in between."
)


def sections(found: dict[Work, list[Timed]], grown: Sequence[Growth], against: Sequence[Comparison]) -> list[Section]:
    """All tables of this part."""
    tables = {work: here for work, here in found.items() if work[0] == "table" and dict(work[1])["rows"] > TINY}
    noise = {work: here for work, here in found.items() if work[0] == "noise"}
    listed = [_end_to_end(tables), _starting(found)]
    listed += [_noise(noise)] if noise else []
    listed += [_growth(grown)] if grown else []
    return [*listed, *([_reference(against)] if against else [])]


def _end_to_end(tables: dict[Work, list[Timed]]) -> Section:
    texts = [_HOW.format(processes=PROCESSES, repeats=REPEATS)]
    loads = [one.load for here in tables.values() for one in here]
    if any(load > BUSY for load in loads):
        texts.append(f"**Some times were taken under load** (up to {max(loads):.1f} processes on average): they are marked.")
    grids = [Grid(title=said(work), headings=HEADINGS, rows=[row(one) for one in here]) for work, here in tables.items()]
    return Section(title="Speed and memory: end to end", texts=texts, grids=grids)


HEADINGS = ("", "just started, s", "again, s", "memory, MB", "cells released", "")


def row(one: Timed) -> list[str]:
    """A line of a table about the same work by all."""
    if one.over is not None and not one.first:
        return [one.peer.title, f"over {one.over:g}", "", "", "", one.note]
    memory = f"{max(one.peaks):,.0f}"
    return [one.peer.title, _best(one.first), _best(one.again), memory, f"{one.released:,}", one.note]


def _best(seconds: Sequence[float]) -> str:
    """The least and the median.

    >>> _best([0.5, 0.25, 1.0]), _best([])
    ('0.25 / 0.5', '')
    """
    return f"{min(seconds):.3g} / {median(seconds):.3g}" if seconds else ""


def _starting(found: dict[Work, list[Timed]]) -> Section:
    imports: dict[str, Timed] = {one.peer.title: one for work, here in found.items() if work[0] == "import" for one in here}
    answers = {
        one.peer.title: one
        for work, here in found.items()
        if dict(work[1]).get("rows") == TINY and not dict(work[1])["bounded"]
        for one in here
    }
    rows = []
    for title in dict.fromkeys([*imports, *answers]):
        imported, answered = imports.get(title), answers.get(title)
        notes = {one.note for one in (imported, answered) if one and one.note}
        line = [title, _best(imported.first) if imported else "", _best(answered.wall) if answered else ""]
        rows.append([*line, "; ".join(sorted(notes))])
    grid = Grid(headings=["", "import, s", "start-up to a first answer, s", ""], rows=rows)
    return Section(title="Start-up and import", texts=[_START.format(rows=TINY)], grids=[grid])


def _noise(noise: dict[Work, list[Timed]]) -> Section:
    names = list(dict.fromkeys(one.peer.title for here in noise.values() for one in here))
    rows = []
    for work, here in noise.items():
        times = {one.peer.title: _best([1000 * second for second in one.again]) for one in here}
        rows.append([said(work), *(times.get(name, "") for name in names)])
    text = "Milliseconds, best / median. Ours and OpenDP's noise is exact; diffprivlib's uses floating-point numbers."
    return Section(title="Noise", texts=[text], grids=[Grid(headings=["", *names], rows=rows)])


def _growth(grown: Sequence[Growth]) -> Section:
    rows = []
    for one in grown:
        times = "; ".join(f"{size:,}: {seconds:.2g} s" for size, seconds in one.points)
        rows.append([one.what, one.who, "" if one.exponent is None else f"{one.exponent:.2f}", times])
    rows.sort(key=lambda line: line[0])
    text = (
        "The power by which later times grow, fitted on logarithmic axes to the larger half of the sizes (three at least): "
        "0 is not at all, 1 in proportion. The sizes of 1/ε are in hundredths."
    )
    grid = Grid(headings=["grows", "", "power", "median times"], rows=rows)
    return Section(title="Growth with rows, cells and ε", texts=[text], grids=[grid], figure="growth")


def _reference(against: Sequence[Comparison]) -> Section:
    rows = [
        [one.cell, f"{1000 * one.ours:.3g}", f"{1000 * one.theirs:.3g}", f"{one.theirs / one.ours:.3g}"] for one in against
    ]
    text = (
        "Our algorithms on the inputs of a published implementation, and its times, in milliseconds per run. Its times were "
        "taken on another machine."
    )
    grid = Grid(headings=["", "ours, ms", "theirs, ms", "times faster"], rows=rows)
    return Section(title="Our algorithms beside the reference", texts=[text], grids=[grid], detail=True)


def pictures(grown: Sequence[Growth]) -> dict[str, Any]:
    """Seconds against rows, once the program runs."""
    series = [one for one in grown if one.what == "rows"]
    if not series:
        return {}
    figure = plots.new("How long does a histogram of 4,096 cells take?", x="rows", y="seconds", log_x=True, log_y=True)
    for one in series:
        sizes, seconds = zip(*one.points, strict=True)
        figure.add_scatter(
            x=sizes,
            y=seconds,
            name=one.who,
            mode="lines+markers",
        )
    return {"growth": plots.series_coloured(figure)}
