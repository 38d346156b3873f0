"""The report: its first page says where we are behind; then come the parts, the peers and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jostle
from jostle.choice.experiment_report import Grid, Section
from jostle.peers.accuracy_report import mean
from jostle.peers.environments import OURSELVES, Environment, Unavailable
from jostle.peers.jobs import Job, Outcome
from jostle.peers.parts import Comparison, Findings, Part

Ran = Sequence[tuple[Job, Outcome]]


def sections(
    ran: Mapping[str, Ran], places: Mapping[str, Environment | Unavailable], found: Mapping[str, Findings]
) -> list[Section]:
    """The whole report, the first page first."""
    cells = [one for findings in found.values() for one in findings.comparisons]
    parts = [section for findings in found.values() for section in findings.sections]
    return [_first(cells), _behind(cells), *parts, _not_done(ran), _peers(places, ran), _machine()]


def _first(cells: Sequence[Comparison]) -> Section:
    behind = [one for one in cells if one.behind]
    certain = [one for one in behind if one.for_certain]
    texts = [
        (
            f"{len(cells):,} cells: the same work by jostle and by a peer, on the same machine, in the same run. A ratio is "
            "ours over theirs; below 1, ours is better."
        ),
        (
            f"**jostle is behind in {len(behind):,} of them**, for certain in {len(certain):,}: there, the ratio's 95 % "
            "interval is above 1 as a whole. In the others it contains 1."
        ),
    ]
    rows = []
    for part, group in dict.fromkeys((one.part, one.group) for one in cells):
        here = [one for one in cells if (one.part, one.group) == (part, group)]
        for peer in dict.fromkeys(one.peer for one in here):
            mine = [one for one in here if one.peer == peer]
            lost = [one for one in mine if one.behind]
            row = [f"{part}: {group}", peer, f"{len(mine):,}", f"{mean([one.ratio for one in mine]):.3f}"]
            rows.append([*row, str(len(lost)), str(sum(one.for_certain for one in lost))])
    headings = ["", "peer", "cells", "ratio (geometric mean)", "behind", "for certain"]
    return Section(title="jostle beside its peers", texts=texts, grids=[Grid(headings=headings, rows=rows)])


def _behind(cells: Sequence[Comparison]) -> Section:
    lost = sorted((one for one in cells if one.behind), key=lambda one: -one.low)
    rows = [
        [
            f"{one.part}: {one.cell}",
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
    texts = ["Every cell with a ratio above 1, those that are surest first."] if rows else ["Nowhere."]
    headings = ["", "peer", "ours", "theirs", "unit", "ratio", "95 %", "for certain", ""]
    return Section(title="Where jostle is behind", texts=texts, grids=[Grid(headings=headings, rows=rows)] if rows else [])


def _not_done(ran: Mapping[str, Ran]) -> Section:
    """Jobs without a result; those with one reason are one row."""
    grouped: dict[tuple[str, str, str, str], int] = {}
    for part, outcomes in ran.items():
        for job, outcome in outcomes:
            if outcome.status != "ok":
                key = (job.peer.title, f"{part}: {job.kind}", outcome.status, _one_line(outcome.reason))
                grouped[key] = grouped.get(key, 0) + 1
    rows = [[peer, kind, str(number), status, reason] for (peer, kind, status, reason), number in grouped.items()]
    text = "Everything that was asked for and has no result, with the reason." if rows else "Everything that was asked for."
    grids = [Grid(headings=["", "work", "jobs", "", "reason"], rows=rows)] if rows else []
    return Section(title="What was not measured", texts=[text], grids=grids)


def _one_line(text: str, longest: int = 300) -> str:
    r"""Fit for a cell of a table.

    >>> _one_line("no\nway | out")
    'no way / out'
    """
    line = " ".join(text.replace("|", "/").split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _peers(places: Mapping[str, Environment | Unavailable], ran: Mapping[str, Ran]) -> Section:
    seconds = dict.fromkeys(places, 0.0)
    for outcomes in ran.values():
        for job, outcome in outcomes:
            seconds[job.peer.name] += outcome.wall
    rows = []
    for name, place in places.items():
        peer = place.peer
        version = jostle.__version__ if name == OURSELVES else peer.version
        state = f"not installed: {_one_line(place.reason)}" if isinstance(place, Unavailable) else "installed"
        rows.append([peer.title, version or "–", ", ".join(peer.requirements[1:]) or "–", state, f"{seconds[name]:,.0f}"])
    headings = ["", "version", "beside it", "", "seconds at work"]
    text = "Each in an environment of its own, with exactly these versions; jostle in the running one."
    return Section(title="Peers", texts=[text], grids=[Grid(headings=headings, rows=rows)], detail=True)


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "jostle": jostle.__version__,
    }


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    if about.is_file():
        for line in about.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _machine() -> Section:
    found = machine()
    memory, versions = f"{found['memory_bytes'] / 2**30:.0f} GiB", f"Python {found['python']}; jostle {found['jostle']}"
    line = f"{found['processor']}, {found['cores']} cores, {memory}; {found['system']}; {versions}."
    return Section(title="Machine", texts=[line])


def numbers(
    ran: Mapping[str, Ran], places: Mapping[str, Environment | Unavailable], found: Mapping[str, Findings]
) -> dict[str, Any]:
    """The same for a script."""
    return {
        "machine": machine(),
        "peers": {
            name: {
                "title": place.peer.title,
                "version": place.peer.version,
                "pins": place.peer.requirements,
                "unavailable": place.reason if isinstance(place, Unavailable) else None,
            }
            for name, place in places.items()
        },
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


def parts(names: Sequence[str]) -> list[Part]:
    """Parts by their names; each lives in a module of its own."""
    from importlib import import_module

    return [import_module(f"jostle.peers.{HOMES[name]}").PART for name in names]


HOMES = {"accuracy": "accuracy", "classifiers": "classifiers", "speed": "speed", "scale": "scaling"}
"""The parts of the report, and the modules that they are in."""
