"""The same questions under the same (ε, δ): groups, private keys, marginals and batches, as tables are asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle_bench.peers import questions
from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.jobs import Job, Outcome, adapter
from jostle_bench.peers.parts import Asked, Comparison, Findings, Part, of_means
from jostle_bench.peers.questions import DELTA, EPSILONS, Asking

NAME: Final = "delta"
KINDS: Final = ("counts", "three", "keys")
TRIALS: Final = 8
FOR_LARGE: Final = 2
"""Runs of marginals and of the batch by those who read single records, and would read thousands of times as many."""

LIMIT: Final = 1800.0
"""Seconds after which a job is stopped: many times what it needs of the processor, for machines that do other work."""


def plan(asked: Asked) -> list[Job]:
    """One job for each peer and kind of question."""
    inputs, file = _inputs(asked)
    peers = [peer for peer in asked.peers if adapter(peer, NAME).is_file() or peer.not_installable]
    return [
        Job(peer=peer, part=NAME, kind=kind, settings=_settings(asked, peer, kind, inputs), data=file, limit=LIMIT)
        for kind in KINDS
        for peer in peers
    ]


def _inputs(asked: Asked) -> tuple[list[Asking], Path]:
    return _written(
        asked.data, asked.folder / "data" / f"{NAME}{'-quick' if asked.quick else ''}.npz", asked.quick, asked.seed
    )


@lru_cache(maxsize=8)
def _written(folder: Path | None, file: Path, quick: bool, seed: int) -> tuple[list[Asking], Path]:
    made = questions.askings(folder, quick=quick, seed=seed)
    return made, questions.write(made, file)


def _settings(asked: Asked, peer: Peer, kind: str, inputs: Sequence[Asking]) -> dict[str, Any]:
    listed = [
        {
            "name": one.name,
            "form": one.form,
            "touched": one.touched,
            "cells": one.cells,
            "values": one.kind == "three",
            "epsilon": epsilon,
            "trials": _trials(asked, peer, one),
            **one.more,
        }
        for one in inputs
        if one.kind == kind
        for epsilon in (EPSILONS[-1:] if asked.quick else EPSILONS)
    ]
    return {"inputs": listed, "delta": DELTA, "seed": asked.seed}


def _trials(asked: Asked, peer: Peer, one: Asking) -> int:
    if asked.quick:
        return 2
    return FOR_LARGE if peer.slow and one.form in ("marginals", "batch") else TRIALS


# ------------------------------------------------------------------------------------------------------ what was found


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How far off one library's answers to one question are."""

    peer: Peer
    """Whose they are."""

    way: str
    """Which of its ways."""

    asking: Asking
    """What was asked."""

    epsilon: float
    """Of the budget."""

    what: str
    """Counts, sums or means; for private keys also the groups that were left out."""

    errors: NDArray[np.float64]
    """A figure for each run."""

    released: NDArray[np.float64] | None = None
    """For private keys, the share of the groups of each size that was released."""

    @property
    def who(self) -> str:
        """The library and the way, in words."""
        return f"{self.peer.title}, {self.way}" if self.way else self.peer.title


LEFT_OUT: Final = "groups left out"


def errors(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> list[Errors]:
    """What came of every job that came to something."""
    known = {one.name: one for one in _inputs(asked)[0]}
    return [
        found
        for job, outcome in outcomes
        if outcome.status == "ok"
        for name, values in outcome.values.items()
        for found in _errors(job.peer, known, name, values)
    ]


def _errors(peer: Peer, known: dict[str, Asking], name: str, values: NDArray[np.float64]) -> Iterator[Errors]:
    which, epsilon, what, way = name.split("/")
    one = known[which]
    about: dict[str, Any] = {"peer": peer, "way": way, "asking": one, "epsilon": float(epsilon)}
    off = np.nan_to_num(values) - questions.truth(one)[what]
    if what == "means":
        off = np.clip(values, 0, 100) - questions.truth(one)[what]
    released = None
    if one.kind == "keys":
        shown = ~np.isnan(values)
        released = shown.reshape(len(values), len(questions.SIZES), -1).mean(axis=(0, 2))
        yield Errors(**about, what=LEFT_OUT, errors=(~shown).sum(axis=1).astype(np.float64), released=released)
        within = [_rms(row[seen]) for row, seen in zip(off, shown, strict=True) if seen.any()]
        yield Errors(**about, what=SHOWN, errors=np.array(within))
    yield Errors(**about, what=what, errors=np.array([_rms(row) for row in off]))


SHOWN: Final = "counts of the groups shown"
"""An error of groups that each library chose itself: for the tables, and compared with nothing."""


def _rms(off: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(off**2)))


def comparisons(found: Sequence[Errors]) -> list[Comparison]:
    """Ours beside each peer's ways, on the same input at the same (ε, δ); each of our ways is a group of its own."""
    listed = []
    for mine in found:
        if mine.peer.name != OURSELVES or mine.what == SHOWN:
            continue
        for theirs in found:
            same = (theirs.asking.name, theirs.epsilon, theirs.what) == (mine.asking.name, mine.epsilon, mine.what)
            if theirs.peer.name == OURSELVES or not same:
                continue
            listed.append(
                of_means(
                    mine.errors,
                    theirs.errors,
                    part=NAME,
                    peer=theirs.who,
                    cell=f"{mine.what}: {mine.asking.words}, ε = {mine.epsilon:g}",
                    group=_group(mine),
                    unit="groups (mean of the runs)" if mine.what == LEFT_OUT else "root mean square error",
                    note="errors count a group that is left out as 0" if mine.asking.kind == "keys" else "",
                )
            )
    return listed


def _group(one: Errors) -> str:
    kinds = {"groups": "known groups", "keys": "unknown groups"}
    together = " (count, sum and mean at once)" if one.asking.kind == "three" else ""
    said = kinds.get(one.asking.form, one.asking.form) + together
    return f"{said}, {one.way}" if one.way else said


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The cells and the tables."""
    from jostle_bench.peers import delta_report

    found = errors(asked, outcomes)
    return Findings(comparisons=comparisons(found), sections=delta_report.sections(found, outcomes))


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
