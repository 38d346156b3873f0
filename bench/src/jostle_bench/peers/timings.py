"""Times and memory that were measured: by the work that was done, beside each other, and as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Any, Final

from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.peers.parts import Comparison, compare, of_means
from jostle_bench.speed import fitted
from jostle_bench.table_speed import CELLS

TINY: Final = 1_000
"""Rows of the file from which a first answer is timed: what it takes to start."""

MANY: Final = 10**6
"""Rows of the file on which domains grow."""

BUSY: Final = 1.5
"""Above this load, other work was going on, and times are marked."""


@dataclass(kw_only=True)
class Timed:
    """One piece of work by one of us: the same in several processes, and several times in each."""

    peer: Peer
    """Whose."""

    first: list[float] = field(default_factory=list)
    """Seconds of the first time in a process, imports included."""

    again: list[float] = field(default_factory=list)
    """Seconds of later times."""

    wall: list[float] = field(default_factory=list)
    """Seconds of whole processes."""

    peaks: list[float] = field(default_factory=list)
    """The most memory of each process, in megabytes."""

    load: float = 0.0
    """The greatest load of the machine before a process began."""

    over: float | None = None
    """It took longer than this limit, in seconds, and was stopped."""

    delta: float = 0.0
    """Its δ."""

    released: int = 0
    """How many cells it released."""

    @property
    def note(self) -> str:
        """What a reader should know."""
        said = [f"δ = {self.delta:g}"] if self.delta else []
        said += [f"under load ({self.load:.1f})"] if self.load > BUSY else []
        said += [f"stopped at {self.over:g} s"] if self.over else []
        return ", ".join(said)


Work = tuple[str, tuple[tuple[str, Any], ...]]
"""What is the same for all: the kind of job, and the settings that say how much of it."""


def work_of(job: Job) -> Work:
    """What a job is one instance of."""
    named = ("rows", "cells", "epsilon", "bounded")
    return job.kind, tuple((name, job.settings[name]) for name in named if name in job.settings)


def timed(outcomes: Sequence[tuple[Job, Outcome]]) -> dict[Work, list[Timed]]:
    """What was measured, by the work that was done."""
    found: dict[tuple[Work, str], Timed] = {}
    for job, outcome in outcomes:
        if outcome.status not in ("ok", "timeout") or job.kind == "algorithms":
            continue
        one = found.setdefault((work_of(job), job.peer.name), Timed(peer=job.peer))
        one.load = max(one.load, outcome.load)
        if outcome.status == "timeout":
            one.over = job.limit
            continue
        seconds = outcome.facts["seconds"]
        one.first += seconds if job.kind == "import" else seconds[:1]
        one.again += [] if job.kind == "import" else seconds[1:]
        one.wall += outcome.facts.get("processes", [outcome.wall])
        one.peaks.append(outcome.peak_bytes / 1e6)
        one.delta = outcome.facts.get("delta", 0.0)
        one.released = outcome.facts.get("released", 0)
    grouped: dict[Work, list[Timed]] = {}
    for (work, _), one in found.items():
        grouped.setdefault(work, []).append(one)
    return grouped


def said(work: Work) -> str:
    """A piece of work in words.

    >>> said(("table", (("rows", 1000000), ("cells", 4096), ("epsilon", 1), ("bounded", True))))
    'histogram of 4,096 cells from 1,000,000 rows, persons bounded'
    """
    kind, settings = work[0], dict(work[1])
    if kind == "table":
        whose = ", persons bounded" if settings["bounded"] else ""
        return f"histogram of {settings['cells']:,} cells from {settings['rows']:,} rows{whose}"
    if kind == "noise":
        return f"noise on {settings['cells']:,} integers, ε = {settings['epsilon']:g}"
    return "import"


MEASURES: Final = {
    "import": (("first", "import", "s"),),
    "noise": (("again", "noise", "s"),),
    "table": (
        ("first", "end to end, program just started", "s"),
        ("again", "end to end, again", "s"),
        ("peaks", "memory", "MB"),
    ),
}
"""For each kind of work what is compared: the samples, the group in the report, and the unit."""


def comparisons(found: dict[Work, list[Timed]], *, part: str, where: str = "") -> list[Comparison]:
    """Ours beside each peer's for the same work; `where` is added to its name."""
    listed: list[Comparison] = []
    for work, all_of_us in found.items():
        ours = next((one for one in all_of_us if one.peer.name == OURSELVES), None)
        tiny = dict(work[1]).get("rows") == TINY
        measures = (("wall", "start-up to a first answer", "s"),) if tiny else MEASURES[work[0]]
        for theirs in all_of_us:
            if ours is None or theirs is ours:
                continue
            for samples, group, unit in measures:
                named = Comparing(part=part, cell=said(work) + where, samples=samples, group=group, unit=unit)
                listed += _compared(ours, theirs, named)
    return listed


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What is compared, and what it is called in the report."""

    part: str
    """Of the report."""

    cell: str
    """The work, in words."""

    samples: str
    """The field of `Timed` that has the samples."""

    group: str
    """For the mean."""

    unit: str
    """Of the samples."""


def _compared(ours: Timed, theirs: Timed, named: Comparing) -> Iterator[Comparison]:
    mine, other = getattr(ours, named.samples), getattr(theirs, named.samples)
    stopped = not other and theirs.over is not None and named.unit == "s"
    if not mine or not (other or stopped):
        return
    typical = theirs.over if stopped and theirs.over else median(other)
    ratio = median(mine) / typical
    # Medians are compared; the means show how sure they are.
    mean, low, high = (ratio, 0.0, ratio) if stopped else compare(mine, other)
    notes = [theirs.note, f"ours {ours.note}" if ours.note else ""]
    yield Comparison(
        part=named.part,
        peer=theirs.peer.title,
        cell=named.cell,
        group=named.group,
        ours=median(mine),
        theirs=typical,
        unit=f"{named.unit} (median)",
        ratio=ratio,
        low=low * ratio / mean,
        high=high if high == inf else high * ratio / mean,
        note="; ".join(note for note in notes if note),
    )


def beside_reference(outcomes: Sequence[tuple[Job, Outcome]], *, part: str) -> list[Comparison]:
    """Our algorithms' seconds on the reference's inputs, and its own, which were taken on another machine."""
    return [
        of_means(
            [one["ours"]],
            [one["theirs"]],
            part=part,
            peer="published reference code",
            cell=f"{one['algorithm']} on {one['domain']} cells",
            group="algorithms",
            unit="s of the processor (median)",
            note="theirs was timed on another machine",
        )
        for job, outcome in outcomes
        if job.kind == "algorithms"
        for one in outcome.facts.get("beside", ())
    ]


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How one of us slows down as something grows."""

    who: str
    """The peer's title."""

    what: str
    """What grows: rows, cells or 1/ε; with the work."""

    points: list[tuple[int, float]]
    """Sizes and median seconds."""

    @property
    def exponent(self) -> float | None:
        """The power of the size by which the time grows, over the larger sizes."""
        return fitted(self.points)


def growths(found: dict[Work, list[Timed]]) -> list[Growth]:
    """Growth of later times with rows and cells of a histogram, and with cells and 1/ε of noise."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for (kind, pairs), all_of_us in found.items():
        settings = dict(pairs)
        for what, size in _axes(kind, settings):
            for one in all_of_us:
                if one.again:
                    points.setdefault((one.peer.title, what), []).append((size, median(one.again)))
    return [
        Growth(who=who, what=what, points=sorted(here)) for (who, what), here in sorted(points.items()) if len(here) >= 3
    ]


def _axes(kind: str, settings: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The series in which a piece of work is a point, and its place there."""
    if kind == "table" and settings["cells"] == CELLS:
        yield ("rows, persons bounded" if settings["bounded"] else "rows"), settings["rows"]
    if kind == "table" and settings["rows"] == MANY and not settings["bounded"]:
        yield "cells of a histogram", settings["cells"]
    if kind == "noise" and settings["epsilon"] == 1:
        yield "cells that get noise", settings["cells"]
    if kind == "noise" and settings["cells"] == CELLS:
        yield "1/ε of noise", round(100 / settings["epsilon"])
