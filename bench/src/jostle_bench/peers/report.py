"""The report: its first page has every part, the machine, the versions and where we are behind; then come the parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from jostle_bench.peers.environments import OURSELVES, Environment, Unavailable, machine
from jostle_bench.peers.jobs import NOT_RUN, Job, Outcome, own_source
from jostle_bench.peers.parts import Comparison, Findings, Part, mean
from jostle_bench.reports.sections import Grid, Section

HOMES = {
    "accuracy": "accuracy",
    "classifiers": "classifiers",
    "delta": "delta",
    "synthetic": "synthesis",
    "speed": "speed",
    "scale": "scaling",
}
"""The parts of the report, and the modules that they are in."""

Ran = Sequence[tuple[Job, Outcome]]
Places = Mapping[str, Environment | Unavailable]


def parts(names: Sequence[str]) -> list[Part]:
    """Parts by their names; each lives in a module of its own."""
    from importlib import import_module

    return [import_module(f"jostle_bench.peers.{HOMES[name]}").PART for name in names]


def sections(ran: Mapping[str, Ran], places: Places, found: Mapping[str, Findings]) -> list[Section]:
    """The whole report, the first page first: `ran` and `found` have every part, whether or not it was run."""
    details = [section for name in found for section in (*found[name].sections, *_lost(name, found[name].comparisons))]
    cells = [one for findings in found.values() for one in findings.comparisons]
    return [_first(ran, found), _machine(places), _behind(cells), *details, _not_done(ran), _pins(places)]


# ------------------------------------------------------------------------------------------------------ the first page


def _first(ran: Mapping[str, Ran], found: Mapping[str, Findings]) -> Section:
    cells = [one for findings in found.values() for one in findings.comparisons]
    behind = [one for one in cells if one.behind]
    texts = [
        *([_story(found)] if cells else []),
        (
            f"{len(cells):,} cells: the same work by jostle and by a peer, on the same machine. A ratio is ours over "
            "theirs, of errors, seconds or bytes; below 1, ours is better."
        ),
        (
            f"**jostle is behind in {len(behind):,} of them**, for certain in {_certain(behind):,}: there, the ratio's 95 % "
            "interval is above 1 as a whole. In the others it contains 1. Where both are equally good, half of the cells "
            "are behind by chance, and one in forty seems to be so for certain."
        ),
    ]
    rows = [_part_row(name, ran.get(name, ()), found[name].comparisons) for name in found]
    headings = ["", "cells", "ratio (geometric mean)", "behind", "for certain", "load", "by"]
    figure = "overview" if cells else ""
    return Section(title="jostle beside its peers", texts=texts, grids=[Grid(headings=headings, rows=rows)], figure=figure)


def _story(found: Mapping[str, Findings]) -> str:
    """What was found, in a few sentences: errors first, then time, then where we are behind."""
    said = []
    named = {
        "accuracy": "numbers",
        "classifiers": "classifiers",
        "delta": "questions under (ε, δ)",
        "synthetic": "synthetic tables",
    }
    for name, words in named.items():
        cells = found[name].comparisons if name in found else ()
        if cells:
            said.append(f"{mean([one.ratio for one in cells]):.2f} times theirs for {words}")
    texts = [f"At the same ε, jostle's errors are {_listed(said)}, in the geometric mean."] if said else []
    timed = found["speed"].comparisons if "speed" in found else ()
    if timed:
        slower = [one for one in timed if one.behind]
        worst = max(timed, key=lambda one: one.ratio)
        texts.append(
            f"In {len(slower)} of {len(timed)} comparisons of time and memory, jostle needs more, for certain in "
            f"{_certain(slower)}. The worst is {worst.ratio:.1f} times what {worst.peer} needs "
            f"({worst.group}: {worst.cell})."
        )
    return " ".join(texts)


def _listed(said: Sequence[str]) -> str:
    """Several things in one sentence.

    >>> _listed(["a", "b", "c"]), _listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(part for part in (", ".join(said[:-1]), said[-1]) if part)


def _library(peer: str, peers: Iterable[str]) -> str:
    """The library behind what was used of it, for a picture with one line per library.

    >>> [_library(peer, ["interpret"]) for peer in ("interpret DP-EBM", "PrivaTree (ours) as published", "A, added up")]
    ['interpret', 'PrivaTree (ours)', 'A']
    """
    short = peer.partition(",")[0]
    short = f"{short.partition(')')[0]})" if ")" in short else short
    return min((one for one in peers if short.startswith(f"{one} ") and "(" not in short), key=len, default=short)


def picture(found: Mapping[str, Findings]) -> Any:
    """Ours over theirs, one mark per peer and kind of work."""
    from jostle import plots

    cells = [one for findings in found.values() for one in findings.comparisons]
    groups = {
        "accuracy": "errors of numbers",
        "classifiers": "errors of classifiers",
        "speed": "time and memory",
        "delta": "errors under (ε, δ)",
        "synthetic": "errors of synthetic tables",
    }
    named = {one.peer: _library(one.peer, {other.peer for other in cells}) for one in cells if one.part in groups}
    peers = list(dict.fromkeys(named.values()))
    figure = plots.new("Where is jostle ahead?", x="ours over theirs (left of 1, jostle is ahead)", log_x=True)
    colours = plots.ACCENT, plots.CONTRAST, *plots.PALETTE[2:5]
    symbols = "circle", "diamond", "square", "cross", "star"
    for (part, title), colour, symbol in zip(groups.items(), colours, symbols, strict=True):
        here = {peer: [one.ratio for one in cells if one.part == part and named[one.peer] == peer] for peer in peers}
        known = {peer: mean(ratios) for peer, ratios in here.items() if ratios}
        marker = {"color": colour, "symbol": symbol, "size": 11}
        figure.add_scatter(x=list(known.values()), y=list(known), name=title, mode="markers", marker=marker)
    figure.add_vline(x=1, line={"dash": "dot", "color": plots.MUTED})
    figure.update_yaxes(autorange="reversed", type="category", title="")
    return figure.update_layout(height=180 + 28 * len(peers), legend={"y": -0.25, "yanchor": "top"})


def _certain(cells: Sequence[Comparison]) -> int:
    return sum(one.for_certain for one in cells)


def _part_row(name: str, ran: Ran, cells: Sequence[Comparison]) -> list[str]:
    command = f"`jostle bench peers --parts {name}`"
    loads = [outcome.load for _, outcome in ran if outcome.status in ("ok", "timeout")]
    if not loads:
        return [f"{name}: **not run**", "", "", "", "", "", command]
    load, lost = f"{median(loads):.1f}, {max(loads):.1f}", [one for one in cells if one.behind]
    ratio = f"{mean([one.ratio for one in cells]):.3f}" if cells else "–"
    return [name, f"{len(cells):,}", ratio, f"{len(lost):,}", f"{_certain(lost):,}", load, command]


def _machine(places: Places) -> Section:
    here = machine()
    line = (
        f"{here['processor']}, {here['cores']} cores, {here['memory_bytes'] / 2**30:.0f} GiB; {here['system']}; "
        f"Python {here['python']}; jostle {here['jostle']} (its source has the digest {own_source()})."
    )
    load = (
        "The load in the table above is how many processes ran or waited, on average over the minute before a job "
        "began (the median of all jobs, and the most). Above the number of cores, times are longer than they need be; "
        "errors do not change."
    )
    rows = [
        [place.peer.title, place.peer.version or "–", _state(place)] for name, place in places.items() if name != OURSELVES
    ]
    grid = Grid(headings=["peer", "version", ""], rows=rows)
    return Section(title="Machine and versions", texts=[line, load], grids=[grid] if rows else [])


def _state(place: Environment | Unavailable) -> str:
    return f"**not installed**: {_one_line(place.reason)}" if isinstance(place, Unavailable) else "installed"


def _behind(cells: Sequence[Comparison]) -> Section:
    """By part, kind of work and peer, those in which we are furthest behind for certain first."""
    rows = []
    for part, group in dict.fromkeys((one.part, one.group) for one in cells):
        here = [one for one in cells if (one.part, one.group) == (part, group)]
        for peer in dict.fromkeys(one.peer for one in here):
            mine = [one for one in here if one.peer == peer]
            lost = [one for one in mine if one.behind]
            worst = max(lost, key=lambda one: one.ratio, default=None)
            row = [f"{part}: {group}", peer, f"{len(mine):,}", f"{mean([one.ratio for one in mine]):.3f}"]
            row += [str(len(lost)), str(_certain(lost)), f"{worst.ratio:.2f}: {worst.cell}" if worst else ""]
            rows.append(row)
    text = "By kind of work and peer; every single cell is listed at the end of its part, with its interval."
    headings = ["", "peer", "cells", "ratio (geometric mean)", "behind", "for certain", "the worst of them"]
    grids = [Grid(headings=headings, rows=rows)] if rows else []
    return Section(title="Where jostle is behind", texts=[text if rows else "There is nothing to compare."], grids=grids)


# ----------------------------------------------------------------------------------------------------------- details


def _lost(name: str, cells: Sequence[Comparison]) -> list[Section]:
    """Every cell of a part in which we are behind."""
    lost = sorted((one for one in cells if one.behind), key=lambda one: -one.low)
    rows = [
        [
            one.cell,
            one.group,
            one.peer,
            f"{one.ours:,.4g}",
            f"{one.theirs:,.4g}",
            one.unit,
            f"{one.ratio:.3f}",
            f"{one.low:.3f}–{one.high:.3f}",
            "yes" if one.for_certain else "no",
            one.note,
        ]
        for one in lost
    ]
    if not rows:
        return []
    headings = ["", "", "peer", "ours", "theirs", "unit", "ratio", "95 %", "for certain", ""]
    text = "Every cell with a ratio above 1, those that are surest first."
    return [
        Section(title=f"Behind: {name}", texts=[text], grids=[Grid(headings=headings, rows=rows)], detail=len(rows) > LONG)
    ]


LONG = 40
"""A longer list is only for the pages."""


def _not_done(ran: Mapping[str, Ran]) -> Section:
    """Jobs without a result; those with one reason are one row."""
    grouped: dict[tuple[str, str, str, str], int] = {}
    for part, outcomes in ran.items():
        for job, outcome in outcomes:
            if outcome.status != "ok":
                missing = f"run `jostle bench peers --parts {part} --only {job.peer.name}`"
                reason = missing if outcome.status == NOT_RUN else _one_line(outcome.reason)
                key = (job.peer.title, f"{part}: {job.kind}", outcome.status, reason)
                grouped[key] = grouped.get(key, 0) + 1
    rows = [[peer, kind, str(number), status, reason] for (peer, kind, status, reason), number in grouped.items()]
    text = "Everything that has no result, with the reason." if rows else "Nothing."
    grids = [Grid(headings=["", "work", "jobs", "", "reason"], rows=rows)] if rows else []
    return Section(title="What was not measured", texts=[text], grids=grids)


def _one_line(text: str, longest: int = 300) -> str:
    r"""Fit for a cell of a table.

    >>> _one_line("no\nway | out")
    'no way / out'
    """
    line = " ".join(text.replace("|", "/").split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _pins(places: Places) -> Section:
    rows = [[place.peer.title, ", ".join(place.peer.requirements) or "–"] for place in places.values()]
    text = "Each peer has an environment of its own with exactly these versions; jostle is in the running one."
    grid = Grid(headings=["", "versions"], rows=rows)
    return Section(title="Versions in every environment", texts=[text], grids=[grid], detail=True)


def numbers(ran: Mapping[str, Ran], places: Places, found: Mapping[str, Findings]) -> dict[str, Any]:
    """The same for a script."""
    return {
        "machine": machine() | {"source": own_source()},
        "peers": {
            name: {
                "title": place.peer.title,
                "version": place.peer.version,
                "pins": place.peer.requirements,
                "unavailable": place.reason if isinstance(place, Unavailable) else None,
            }
            for name, place in places.items()
        },
        "not_run": [name for name in found if all(outcome.status == NOT_RUN for _, outcome in ran.get(name, ()))],
        "cells": [
            asdict(one) | {"behind": one.behind, "for_certain": one.for_certain}
            for findings in found.values()
            for one in findings.comparisons
        ],
        "jobs": [
            {
                "part": part,
                "peer": job.peer.name,
                "kind": job.kind,
                "key": job.key,
                "status": outcome.status,
                "reason": outcome.reason,
                "wall": outcome.wall,
                "peak_bytes": outcome.peak_bytes,
                "load": outcome.load,
                "facts": {name: value for name, value in outcome.facts.items() if name != "traceback"},
            }
            for part, outcomes in ran.items()
            for job, outcome in outcomes
        ],
    }
