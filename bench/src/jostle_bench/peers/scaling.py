"""Scale: how fast training goes on one core, on two and on a Dask cluster of processes, and a release from Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from jostle_bench.peers import speed, timings
from jostle_bench.peers.environments import OURSELVES
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.peers.parts import Asked, Findings, Part
from jostle_bench.reports.sections import Grid, Section
from jostle_bench.table_speed import CELLS, ROWS_A_PERSON, make

NAME: Final = "scale"
WAYS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "one process": {"workers": 1, "cluster": None},
        "two processes": {"workers": 2, "cluster": None},
        "a Dask cluster of two processes": {"workers": 2, "cluster": "local:2"},
    }
)
"""How the training's work is handed out."""

GRID: Final = MappingProxyType({"shapes": (4096, 8192), "sides": (256, 512, 1024), "exponents": tuple(range(6, 24, 4))})
SMALL_GRID: Final = MappingProxyType({"shapes": (256,), "sides": (128,), "exponents": (8, 12)})
ROWS: Final = 10**6
SPARKS: Final = (OURSELVES, "tumult")
"""Those who release from Spark."""

LIMIT: Final = 600.0
"""Seconds after which a process is stopped."""


def plan(asked: Asked) -> list[Job]:
    """Training in each way; and, unless time is short, releases from Spark, by the adapters for speed."""
    ours = asked.peers[0]
    how = {**(SMALL_GRID if asked.quick else GRID), "trials": 20, "seed": asked.seed}
    ways = dict(list(WAYS.items())[:1]) if asked.quick else WAYS
    training = [
        Job(peer=ours, part=NAME, kind="training", settings={**how, **way, "way": name}, limit=LIMIT)
        for name, way in ways.items()
    ]
    return training if asked.quick else [*training, *_releases(asked)]


def _releases(asked: Asked) -> list[Job]:
    settings: dict[str, Any] = {"rows": ROWS, "cells": CELLS, "rows_a_person": ROWS_A_PERSON, "epsilon": 1}
    settings |= {"repeats": speed.REPEATS, "enough": 3 * speed.ENOUGH, "engine": "spark"}
    file = make(ROWS, asked.folder / "data")
    jobs = []
    for peer in (peer for peer in asked.peers if peer.name in SPARKS):
        for bounded in (False, True):
            how = settings | {"bounded": bounded}
            jobs.append(Job(peer=peer, part=speed.NAME, kind="table", settings=how, data=file, limit=LIMIT, threads=None))
    return jobs


# ------------------------------------------------------------------------------------------------------ what was found


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """How fast training went."""

    way: str
    """How the work was handed out."""

    inputs: int
    """How many inputs there were."""

    seconds: float
    """How long it took, from start to end."""

    start: float
    """How long until the first result came in."""

    steady: float
    """Inputs a second from then on."""

    processor: float
    """Seconds of the processor that the algorithms took: how busy the machine is hardly changes them."""

    load: float
    """Of the machine before it began."""


def throughput(way: str, inputs: int, arrivals: Any, *, processor: float = 0.0, load: float = 0.0) -> Throughput:
    """From the times at which results came in, in order.

    >>> throughput("one process", 3, [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]).steady
    1.0
    """
    later = len(arrivals) - 1
    steady = inputs * (later / len(arrivals)) / (arrivals[-1] - arrivals[0]) if later else 0.0
    return Throughput(
        way=way,
        inputs=inputs,
        seconds=float(arrivals[-1]),
        start=float(arrivals[0]),
        steady=float(steady),
        processor=processor,
        load=load,
    )


def trained(outcomes: Sequence[tuple[Job, Outcome]]) -> list[Throughput]:
    """What each way of training reached."""
    return [
        throughput(
            job.settings["way"],
            outcome.facts["inputs"],
            outcome.values["arrivals"],
            processor=outcome.facts["processor"],
            load=outcome.load,
        )
        for job, outcome in outcomes
        if job.kind == "training" and outcome.status == "ok"
    ]


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The tables, and ours beside Tumult on Spark."""
    runs = trained(outcomes)
    found = timings.timed([(job, outcome) for job, outcome in outcomes if job.kind == "table"])
    cells = timings.comparisons(found, part=NAME, where=" on Spark")
    sections = [_training(runs)] if runs else []
    return Findings(comparisons=cells, sections=[*sections, *([_spark(found)] if found else [])])


def _training(runs: Sequence[Throughput]) -> Section:
    alone = next((run.steady for run in runs if run.way == next(iter(WAYS))), None)
    rows = []
    for run in runs:
        gain = f"{run.steady / alone:.2f}" if alone else ""
        seconds = [f"{run.seconds:.1f}", f"{run.processor:.1f}", f"{run.processor / run.seconds:.2f}"]
        rows.append([run.way, f"{run.inputs:,}", f"{run.start:.2f}", f"{run.steady:.3g}", gain, *seconds, f"{run.load:.1f}"])
    texts = [
        (
            "`jostle train` on a small grid of made-up inputs, with the seven algorithms of the Pythia paper and 20 runs of "
            "each. The first result comes in when processes have been started; the rate counts from then on. Processors "
            "kept busy are the seconds of the processor that the algorithms took, over those that went by."
        ),
        *_under_load(run.load for run in runs),
    ]
    headings = ["", "inputs", "first result, s", "inputs a second", "times one process", "in all, s", "of the processor, s"]
    grid = Grid(headings=[*headings, "processors kept busy", "load before it"], rows=rows)
    return Section(title="Scale: training", texts=texts, grids=[grid])


def _under_load(loads: Iterable[float]) -> list[str]:
    """What to say if other work was going on."""
    most = max(loads)
    if most <= timings.BUSY:
        return []
    text = (
        f"**Measured under load**: up to {most:.1f} processes ran or waited before a run began, on {os.cpu_count()} cores. "
        "Rates are those of what was left over; on a quiet machine they are higher, and their ratios may differ."
    )
    return [text]


def _spark(found: Mapping[timings.Work, Sequence[timings.Timed]]) -> Section:
    from jostle_bench.peers.speed_report import HEADINGS, row

    grids = [
        Grid(title=timings.said(work), headings=HEADINGS, rows=[row(one) for one in here]) for work, here in found.items()
    ]
    texts = [
        (
            "The same file as above, but read, bounded and counted by Spark in local mode. “Just started” counts the start "
            "of Java and of Spark."
        ),
        *_under_load(one.load for here in found.values() for one in here),
    ]
    return Section(title="Scale: a release from Spark", texts=texts, grids=grids)


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
