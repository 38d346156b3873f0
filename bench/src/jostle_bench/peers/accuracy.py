"""Accuracy at equal ε: histograms, ranges and quantiles, by us and by each peer as its documentation has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle_bench.peers import inputs
from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.inputs import MADE_UP, Input
from jostle_bench.peers.jobs import Job, Outcome, adapter
from jostle_bench.peers.noise import KINDS, Checked, check
from jostle_bench.peers.parts import RELATIONS, Asked, Comparison, Findings, Part, of_means, with_delta

NAME: Final = "accuracy"
DOMAINS: Final = ((256,), (1024,), (4096,), (32, 32), (128, 128))
QUICK_DOMAINS: Final = ((64,), (8, 8))
SCALES: Final[Sequence[int]] = (10**3, 10**5, 10**7)
EPSILONS: Final[Sequence[float]] = (0.1, 1.0)
TRIALS: Final = 20
FEWER_TRIALS: Final = 10
"""For peers that read records one by one, and for quantiles."""

DRAWS: Final = 200
"""Of noise that is known: one lucky draw would tell on every data set of a domain."""

FOR_SLOW: Final = ((256,), (1024,), (32, 32))
"""The domains that a slow peer is given, with two data sets at the smallest scale, and one at the next."""

ENOUGH: Final = 90.0
"""Seconds after which a peer that reads records one by one begins no further input of a job."""

WORKLOADS: Final = {"histogram": "histogram", "prefix": "ranges", "ranges": "ranges", "rectangles": "ranges"}
"""Each workload with the kind of job that answers it."""

LIMIT: Final = 900.0


def plan(asked: Asked) -> list[Job]:
    """Every peer on every domain: its histogram, what it has for ranges, and its quantiles."""
    peers = [peer for peer in asked.peers if adapter(peer, NAME).is_file()]
    return [job for domain in _domains(asked) for peer in peers for job in _jobs(asked, peer, domain)]


def _domains(asked: Asked) -> tuple[tuple[int, ...], ...]:
    """All domains, or those that were asked for."""
    return tuple(asked.domains) or (QUICK_DOMAINS if asked.quick else DOMAINS)


def domains(text: str) -> list[tuple[int, ...]]:
    """Domains from their names.

    >>> domains("256,32x32")
    [(256,), (32, 32)]
    """
    names = {"x".join(map(str, domain)): domain for domain in (*DOMAINS, *QUICK_DOMAINS)}
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in names:
            raise BadInput(
                "domains", f"{name!r} is not a domain that accuracy is measured on", f"use some of {', '.join(names)}"
            )
    return [names[name] for name in wanted]


def data_sets(asked: Asked, dimensions: int) -> list[str]:
    """All public shapes of a line, every other one of a grid, and a made-up one."""
    if asked.data is None:
        return [MADE_UP] if asked.quick else [MADE_UP, f"{MADE_UP}-2", f"{MADE_UP}-3"]
    from jostle.datasets.shapes import public_shapes

    names = list(public_shapes(f"range-{dimensions}d", asked.data))
    public = names[:1] if asked.quick else names if dimensions == 1 else names[::2]
    return [*public, MADE_UP]


def inputs_for(asked: Asked, peer: Peer, domain: tuple[int, ...]) -> list[Input]:
    """What a peer is given over a domain."""
    names, scales, epsilons = data_sets(asked, len(domain)), SCALES, EPSILONS
    if asked.quick:
        scales, epsilons = (10**3,), (1.0,)
    if peer.slow and not asked.quick:
        return _few(names, domain) if domain in FOR_SLOW else []
    return [
        Input(dataset=name, domain=domain, scale=scale, epsilon=epsilon)
        for name in dict.fromkeys(names)
        for scale in scales
        for epsilon in epsilons
    ]


def _few(names: Sequence[str], domain: tuple[int, ...]) -> list[Input]:
    smallest, next_one = SCALES[:2]
    given = [(names[0], smallest), (names[-1], smallest), (names[0], next_one)]
    return [
        Input(dataset=name, domain=domain, scale=scale, epsilon=epsilon)
        for name, scale in dict.fromkeys(given)
        for epsilon in EPSILONS
    ]


def _jobs(asked: Asked, peer: Peer, domain: tuple[int, ...]) -> Iterator[Job]:
    given = inputs_for(asked, peer, domain)
    if not given:
        return
    file = _data(asked, domain)
    ours = peer.name == OURSELVES
    # Ours has the queries in mind; what a peer has for ranges, if anything, serves all of them.
    kinds = [("histogram", "histogram")]
    if len(domain) == 1:
        kinds += [("ranges", "prefix"), ("ranges", "ranges")] if ours else [("ranges", "any")]
        kinds += [("quantiles", "quantiles")]
    else:
        kinds += [("ranges", "rectangles" if ours else "any")]
    for kind, queries in kinds:
        fewer = not ours and (peer.slow or kind == "quantiles")
        for relation in RELATIONS if ours and kind == "quantiles" else RELATIONS[:1]:
            settings = {
                "inputs": [{"name": one.name, "array": one.array, "epsilon": one.epsilon} for one in given],
                "workload": queries,
                "levels": inputs.LEVELS,
                "trials": FEWER_TRIALS if fewer or asked.quick else TRIALS,
                "neighbours": relation,
                "seed": asked.seed,
            } | ({"enough": ENOUGH} if fewer else {})
            yield Job(peer=peer, part=NAME, kind=kind, settings=settings, data=file, limit=LIMIT)


def _data(asked: Asked, domain: tuple[int, ...]) -> Path:
    """The file of all data over a domain, which is the same in every run."""
    file = asked.folder / "data" / f"{NAME}-{'x'.join(map(str, domain))}{'-quick' if asked.quick else ''}.npz"
    ourselves = Peer(name=OURSELVES, title=OURSELVES)
    return _written(file, tuple(inputs_for(asked, ourselves, domain)), asked.data)


@lru_cache(maxsize=32)
def _written(file: Path, given: tuple[Input, ...], folder: Path | None) -> Path:
    return inputs.write(given, folder, file)


# ------------------------------------------------------------------------------------------------------ what was found


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The errors of one way to answer one workload on one input, one number per run."""

    peer: Peer
    """Whose."""

    way: str
    """Which of its ways: the method, if it has several for this workload."""

    workload: str
    """What was asked: histogram, prefix, ranges, rectangles or quantiles."""

    input: Input
    """Of which data, at which ε."""

    neighbours: str
    """What it protects."""

    delta: float
    """Its δ."""

    errors: Vector
    """L2 norms over the answers."""

    @property
    def who(self) -> str:
        """The peer and its way, in words."""
        return f"{self.peer.title}, {self.way}" if self.way else self.peer.title

    @property
    def where(self) -> str:
        """The cell, in words."""
        cells = "×".join(map(str, self.input.domain))
        return (
            f"{self.workload}, {cells} cells, {self.input.scale:,} records, ε = {self.input.epsilon:g}, {self.input.dataset}"
        )


def errors(outcomes: Iterable[tuple[Job, Outcome]], asked: Asked) -> list[Errors]:
    """The errors of every way on every workload that it can answer."""
    found: list[Errors] = []
    for job, outcome in outcomes:
        if outcome.status != "ok" or job.data is None:
            continue
        counts = _counts(job.data)
        by_name = {one.name: one for one in _all_inputs(asked, next(iter(counts.values())).shape)}
        for name, values in outcome.values.items():
            one = by_name[name]
            for queries, way in _answered(job, len(one.domain)):
                found.append(
                    Errors(
                        peer=job.peer,
                        way=way,
                        workload=queries,
                        input=one,
                        neighbours=outcome.facts["neighbours"],
                        delta=outcome.facts["delta"],
                        errors=_off(queries, values, one, counts[one.array]),
                    )
                )
    return found


@lru_cache(maxsize=8)
def _counts(file: Path) -> dict[str, Counts]:
    with np.load(file) as data:
        return {name: data[name] for name in data.files}


def checked(outcomes: Iterable[tuple[Job, Outcome]]) -> dict[str, tuple[Peer, str, Checked]]:
    """For each peer that names the noise of its histograms: its kind, and what was really added to cells beside it."""
    added: dict[str, tuple[Peer, str, list[tuple[float, Vector]]]] = {}
    for job, outcome in outcomes:
        if outcome.status == "ok" and job.data is not None and outcome.facts.get("noise"):
            here = added.setdefault(job.peer.name, (job.peer, outcome.facts["noise"], []))[2]
            counts = _counts(job.data)
            for one in job.settings["inputs"]:
                if one["name"] in outcome.values:
                    here.append((one["epsilon"], outcome.values[one["name"]] - counts[one["array"]].reshape(-1)))
    return {name: (peer, kind, check(kind, here)) for name, (peer, kind, here) in added.items()}


def from_closed_form(proven: Mapping[str, tuple[Peer, str, Checked]], found: Sequence[Errors], asked: Asked) -> list[Errors]:
    """What follows for inputs that a peer was not run on, from noise that was seen to be of the kind that it names."""
    done = {(one.peer.name, one.workload, one.input) for one in found}
    draw, listed = np.random.default_rng(asked.seed), list[Errors]()
    for peer, kind, seen in proven.values():
        if not seen.passed:
            continue
        for domain in _domains(asked):
            for epsilon in EPSILONS:
                noise = KINDS[kind].draw(draw, epsilon, (DRAWS, math.prod(domain)))
                for queries in _of_cells(len(domain)):
                    off = np.linalg.norm(inputs.workload(queries, domain) @ noise, axis=-1)
                    listed += [
                        Errors(
                            peer=peer,
                            way="closed form",
                            workload=queries,
                            input=one,
                            neighbours="add_remove",
                            delta=0.0,
                            errors=np.asarray(off),
                        )
                        for one in _all_inputs(asked, domain)
                        if one.epsilon == epsilon and (peer.name, queries, one) not in done
                    ]
    return listed


def _of_cells(dimensions: int) -> list[str]:
    """The workloads that noisy cells answer."""
    return ["histogram", "prefix", "ranges"] if dimensions == 1 else ["histogram", "rectangles"]


def _all_inputs(asked: Asked, domain: tuple[int, ...]) -> list[Input]:
    return inputs_for(asked, Peer(name=OURSELVES, title=OURSELVES), domain)


def _answered(job: Job, dimensions: int) -> list[tuple[str, str]]:
    """The workloads that a job answers, and the way's name for each."""
    if job.peer.name == OURSELVES or job.kind == "quantiles":
        return [(str(job.settings["workload"]), "")]
    histogram, *for_ranges = _of_cells(dimensions)
    if job.kind == "ranges":
        return [(queries, "tree") for queries in for_ranges]
    return [(histogram, ""), *((queries, "cells added up") for queries in for_ranges)]


def _off(queries: str, values: Vector, one: Input, counts: Counts) -> Vector:
    if queries == "quantiles":
        return inputs.rank_errors(values, counts)
    asked = inputs.workload(queries, one.domain)
    return np.asarray(np.linalg.norm((asked @ values) - (asked @ counts), axis=-1))


def comparisons(found: Sequence[Errors]) -> list[Comparison]:
    """Ours beside each peer's, on the same input, for the same workload, under the same neighbours."""
    ours = {(one.workload, one.input, one.neighbours): one for one in found if one.peer.name == OURSELVES}
    listed = []
    for theirs in found:
        mine = ours.get((theirs.workload, theirs.input, theirs.neighbours))
        if theirs.peer.name == OURSELVES or mine is None:
            continue
        listed.append(
            of_means(
                mine.errors,
                theirs.errors,
                part=NAME,
                peer=theirs.who,
                cell=theirs.where,
                group=WORKLOADS.get(theirs.workload, theirs.workload),
                unit="records (mean L2 error)",
                note=with_delta(theirs.delta),
            )
        )
    return listed


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The cells, the tables and the pictures."""
    from jostle_bench.peers import accuracy_report

    found, proven = errors(outcomes, asked), checked(outcomes)
    listed = comparisons([*found, *from_closed_form(proven, found, asked)])
    return Findings(
        comparisons=listed,
        sections=accuracy_report.sections(asked, outcomes, found, proven, listed),
        pictures=accuracy_report.pictures(listed),
    )


def by_cell(listed: Iterable[Comparison]) -> Mapping[tuple[str, str], list[Comparison]]:
    """Comparisons by peer and cell, the data sets together."""
    grouped: dict[tuple[str, str], list[Comparison]] = {}
    for one in listed:
        grouped.setdefault((one.peer, one.cell.rpartition(", ")[0]), []).append(one)
    return grouped


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
