"""Synthetic tables under the same (ε, δ): how far their histograms of two and three columns are from the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.schema import Category
from jostle_bench import synthetic
from jostle_bench.peers import questions
from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.jobs import Job, Outcome, adapter
from jostle_bench.peers.parts import Asked, Comparison, Findings, Part, of_means
from jostle_bench.reports.sections import Grid, Section

NAME: Final = "synthetic"
EPSILONS: Final = (1.0,)
TRIALS: Final = 2
COLUMNS: Final = 6
"""So many of the table's columns: the methods beside ours take minutes for more."""

MODELS: Final = {"dpmm": ("AIM", "MST")}
"""What each peer is asked for; another peer with an adapter is asked once, for whatever it has."""

LIMIT: Final = 1800.0


def plan(asked: Asked) -> list[Job]:
    """Every model of every peer on one table."""
    columns, sizes = _columns(asked)
    file = asked.folder / "data" / f"{NAME}{'-quick' if asked.quick else ''}.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, allow_pickle=False, train=np.column_stack(list(columns.values())))
    settings = {"sizes": sizes, "epsilons": EPSILONS, "delta": questions.DELTA, "trials": TRIALS, "seed": asked.seed}
    return [
        Job(peer=peer, part=NAME, kind="synthesize", settings=settings | {"model": model}, data=file, limit=LIMIT)
        for peer in asked.peers
        if adapter(peer, NAME).is_file() or peer.not_installable
        for model in MODELS.get(peer.name, (peer.title,))
    ]


def _columns(asked: Asked) -> tuple[questions.Arrays, dict[str, int]]:
    draw = np.random.default_rng([asked.seed, 25])
    codes, sizes = questions.table(asked.data, draw, quick=asked.quick)
    kept = list(sizes)[-COLUMNS:]
    return {name: codes[name] for name in kept}, {name: sizes[name] for name in kept}


@dataclass(frozen=True, kw_only=True)
class Distances:
    """How far one library's tables are from the right one."""

    peer: Peer
    """Whose they are."""

    model: str
    """Of which of its models."""

    epsilon: float
    """Of the budget."""

    degree: int
    """Histograms of how many columns."""

    distances: NDArray[np.float64]
    """The mean L1 distance of all such histograms, as shares, by run."""

    seconds: float
    """That the job took in all."""

    @property
    def who(self) -> str:
        """The library and the model, in words."""
        return self.peer.title if self.model == self.peer.title else f"{self.peer.title}, {self.model}"


def distances(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> list[Distances]:
    """What came of every job that came to something."""
    codes, sizes = _columns(asked)
    columns = {name: Category(list(range(size)), outside="drop", null="drop") for name, size in sizes.items()}
    table = synthetic.CodedTable("table", columns, codes, {})
    found = []
    for job, outcome in outcomes:
        if outcome.status != "ok":
            continue
        about: dict[str, Any] = {"peer": job.peer, "model": job.settings["model"], "seconds": outcome.wall}
        for epsilon in job.settings["epsilons"]:
            runs = [records for name, records in outcome.values.items() if name.startswith(f"{epsilon:g}/")]
            for degree in (2, 3):
                off = np.array(
                    [synthetic.distance(table, dict(zip(sizes, records.T, strict=True)), degree) for records in runs]
                )
                found.append(Distances(**about, epsilon=epsilon, degree=degree, distances=off))
    return found


def comparisons(found: Sequence[Distances]) -> list[Comparison]:
    """Ours beside each peer's models."""
    return [
        of_means(
            mine.distances,
            theirs.distances,
            part=NAME,
            peer=theirs.who,
            cell=f"histograms of {mine.degree} columns, ε = {mine.epsilon:g}",
            group="synthetic tables",
            unit="mean L1 distance of shares",
        )
        for mine in found
        for theirs in found
        if mine.peer.name == OURSELVES != theirs.peer.name and (mine.epsilon, mine.degree) == (theirs.epsilon, theirs.degree)
    ]


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The cells and one table."""
    found = distances(asked, outcomes)
    if not found:
        return Findings()
    rows = [
        [one.who, f"{one.epsilon:g}", str(one.degree), f"{one.distances.mean():.4f}", f"{one.seconds:.1f}"] for one in found
    ]
    text = (
        f"{COLUMNS} columns of {questions.ROWS:,} records of the census, or of made-up ones; δ = {questions.DELTA:g}, one "
        "record more or less. As many synthetic records are drawn. The distance is the mean L1 distance, from 0 to 2, "
        f"of histograms of two and of three columns, as shares; means of {TRIALS} runs. Seconds are of all runs. "
        "AIM's models are held to one megabyte: of its default of 80, its code says that it can take hours."
    )
    grid = Grid(headings=["", "ε", "columns", "distance", "seconds in all"], rows=rows)
    section = Section(title="Synthetic tables under the same (ε, δ)", texts=[text], grids=[grid])
    return Findings(comparisons=comparisons(found), sections=[section])


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
