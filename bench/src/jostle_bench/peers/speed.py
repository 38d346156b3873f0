"""Speed and memory: from a file to a release, noise, imports, growth, and our algorithms beside the reference's times."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from jostle_bench.peers.environments import Peer
from jostle_bench.peers.jobs import Job, Outcome, adapter
from jostle_bench.peers.parts import Asked, Findings, Part
from jostle_bench.peers.timings import MANY, TINY, beside_reference, comparisons, growths, timed
from jostle_bench.reference import reference_folder
from jostle_bench.table_speed import CELLS, ROWS_A_PERSON, make

NAME: Final = "speed"
GROWING: Final = (10**4, 10**5)
"""Further files for the growth with rows; slow peers are spared them."""

ROWS: Final = (MANY, 10**7)
MOST_ROWS: Final = 10**8
WIDER: Final = (4 * CELLS, 16 * CELLS, 64 * CELLS)
"""Further domains for the growth with cells."""

NOISE_CELLS: Final = (1024, CELLS, 16_384, 65_536)
NOISE_EPSILONS: Final = (0.01, 0.1, 1.0, 10.0)
PROCESSES: Final = 3
"""So many fresh processes do the same work; a slow peer gets one."""

REPEATS: Final = 3
"""So often a process does it, unless that takes too long."""

ENOUGH: Final = 15.0
"""Seconds after which a process does not begin again."""

LIMIT: Final = 90.0
"""Seconds after which a process is stopped; twenty times as many for 10⁸ rows."""


def plan(asked: Asked) -> list[Job]:
    """Imports, first answers, files of growing size, growing domains, noise, and our algorithms."""
    peers = [peer for peer in asked.peers if adapter(peer, NAME).is_file()]
    wider = () if asked.quick else WIDER
    return [
        *(job for peer in peers for job in _imports(asked, peer)),
        *(job for peer in peers for job in _noise(asked, peer)),
        *(job for rows in _rows(asked) for peer in peers for job in _tables(asked, peer, rows)),
        *(_table(asked, peer, MANY, cells) for cells in wider for peer in peers if not peer.slow),
        *_algorithms(asked),
    ]


def _rows(asked: Asked) -> tuple[int, ...]:
    if asked.quick:
        return (TINY, *GROWING)
    return (TINY, *GROWING, *ROWS, *([MOST_ROWS] if asked.full else []))


def _imports(asked: Asked, peer: Peer) -> Iterator[Job]:
    yield Job(peer=peer, part=NAME, kind="import", settings={"repeats": 2 if asked.quick else 5}, limit=LIMIT)


def _noise(asked: Asked, peer: Peer) -> Iterator[Job]:
    sizes = ((CELLS, 1.0),) if asked.quick else noise_sizes()
    for cells, epsilon in sizes:
        settings = {"cells": cells, "epsilon": epsilon, "repeats": 3 * REPEATS, "enough": ENOUGH}
        yield Job(peer=peer, part=NAME, kind="noise", settings=settings, limit=LIMIT)


def noise_sizes() -> list[tuple[int, float]]:
    """Growing numbers of cells at ε = 1, and growing ε on as many cells as the histogram has.

    >>> len(noise_sizes())
    7
    """
    sizes = [(cells, 1.0) for cells in NOISE_CELLS] + [(CELLS, epsilon) for epsilon in NOISE_EPSILONS]
    return list(dict.fromkeys(sizes))


def _tables(asked: Asked, peer: Peer, rows: int) -> Iterator[Job]:
    if peer.slow and rows in GROWING:
        return
    processes = 1 if asked.quick or (peer.slow and rows > TINY) else PROCESSES
    for bounded in (False, True) if rows >= MANY or asked.quick else (False,):
        for process in range(processes):
            yield _table(asked, peer, rows, CELLS, bounded=bounded, process=process)


def _table(asked: Asked, peer: Peer, rows: int, cells: int, *, bounded: bool = False, process: int = 0) -> Job:
    settings = {
        "rows": rows,
        "cells": cells,
        "bounded": bounded,
        "rows_a_person": ROWS_A_PERSON,
        "epsilon": 1,
        "process": process,
        "repeats": 1 if rows == TINY else REPEATS,
        "enough": ENOUGH,
    }
    file = make(rows, asked.folder / "data")
    limit = LIMIT * (20 if rows == MOST_ROWS else 1)
    return Job(peer=peer, part=NAME, kind="table", settings=settings, data=file, limit=limit, threads=None)


def _algorithms(asked: Asked) -> Iterator[Job]:
    if os.environ.get("JOSTLE_REFERENCE") and not asked.quick:
        settings = {"folder": str(reference_folder())}
        yield Job(peer=asked.peers[0], part=NAME, kind="algorithms", settings=settings, limit=10 * LIMIT)


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The cells, the tables and the pictures."""
    from jostle_bench.peers import speed_report

    found = timed(outcomes)
    grown = growths(found)
    against = beside_reference(outcomes, part=NAME)
    return Findings(
        comparisons=[*comparisons(found, part=NAME), *against],
        sections=speed_report.sections(found, grown, against),
        pictures=speed_report.pictures(grown),
    )


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
