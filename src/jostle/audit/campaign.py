"""Many entries, on every core: what quick and full audits consist of, kept in a file that a later run goes on with."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jostle.audit import catalogue
from jostle.audit.entries import Audited, Engine
from jostle.audit.examine import CONFIDENCE, Verdict, examine
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.simulate.parallel import in_parallel

QUICK = {"batched": 40_000, "single": 1_200, "slow": 100, "exact": 400, "table": 400}
"""Samples on each side of a pair, by how an entry is run: minutes in all."""

QUICK_PAIRS = 2
"""So many pairs of a slow entry are tried in a quick audit: the first ones."""

FULL = {"batched": 2_000_000, "single": 1_000_000, "slow": 100_000, "exact": 20_000, "table": 100_000}
"""The same for a night."""

QUICK_EPSILONS = {"batched": ("1/2", "2"), "single": ("3",), "slow": ("1/2",), "exact": ("1",)}
"""Where samples are very few, ε is small: not even a mechanism that hides nothing could be told from a larger one. Where
they are few, most is seen at a larger ε; what runs one by one is seen at a smaller one with exact noise."""

FULL_EPSILONS = {"batched": ("1/10", "1", "3"), "single": ("1", "4"), "slow": ("1",), "exact": ("1/2", "2")}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One entry to be examined."""

    name: str
    """The entry."""

    neighbours: str
    """Under which neighbours."""

    epsilon: str
    """At which ε, exactly."""

    engine: Engine
    """With which noise."""

    samples: int
    """How often, on each side of a pair."""

    confidence: float
    """With which the verdict holds by itself; all together hold with CONFIDENCE."""

    seed: int
    """Of simulated noise."""

    pairs: int | None = None
    """How many of the entry's pairs; all unless said."""


def jobs(entries: Sequence[Audited], *, full: bool = False, seed: int = 0) -> list[Job]:
    """What an audit of these entries consists of, the slowest first.

    How much noise there is under either neighbours is seen with simulated noise. Exact noise is drawn in the same way for
    both, so a quick audit looks at it under one, unless there is no other noise.

    >>> [job.engine for job in jobs([catalogue.get("laplace: identity")])]
    ['simulated', 'simulated', 'simulated', 'simulated', 'exact']
    """
    samples, epsilons = (FULL, FULL_EPSILONS) if full else (QUICK, QUICK_EPSILONS)
    planned: list[tuple[Audited, str, str, Engine, int]] = []
    for entry in entries:
        for relation in entry.relations if entry.run is not None else ():
            planned += [(entry, relation, epsilon, "simulated", samples[entry.pace]) for epsilon in epsilons[entry.pace]]
    for entry in entries:
        if entry.exact is not None and (full or (entry.pace != "slow" and entry.family != "algorithm")):
            number = samples["table" if entry.run is None else "exact"]
            number //= 10 if entry.family in ("algorithm", "choice", "classifier") else 1
            relations = entry.relations if full or entry.run is None else entry.relations[:1]
            planned += [(entry, relation, e, "exact", number) for relation in relations for e in epsilons["exact"]]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(planned))
    order = {"slow": 0, "single": 1, "batched": 2}
    planned.sort(key=lambda plan: order[plan[0].pace])
    return [
        Job(
            name=entry.name,
            neighbours=relation,
            epsilon=epsilon,
            engine=engine,
            samples=number,
            confidence=confidence,
            seed=seed,
            pairs=None if full else _quick_pairs(entry, engine),
        )
        for entry, relation, epsilon, engine, number in planned
    ]


def _quick_pairs(entry: Audited, engine: Engine) -> int | None:
    """Exact noise is the same for every pair; a slow entry has time for few."""
    if engine == "exact":
        return 1
    return QUICK_PAIRS if entry.pace == "slow" else None


def do(job: Job) -> Verdict:
    """One of them, here."""
    entry = catalogue.get(job.name)
    return examine(
        entry,
        epsilon=job.epsilon,
        neighbours=job.neighbours,
        samples=job.samples,
        seed=job.seed,
        engine=job.engine,
        confidence=job.confidence,
        pairs=entry.pairs(Neighbours.of(job.neighbours))[: job.pairs],
    )


def run(todo: Sequence[Job], *, workers: int, kept: Kept | None = None) -> Iterator[Verdict]:
    """Verdicts as they come in; those that were kept come first, and new ones are kept."""
    known = kept or Kept(None)
    yield from (known.verdicts[job] for job in todo if job in known.verdicts)
    for job, verdict in _outcomes([job for job in todo if job not in known.verdicts], workers):
        known.keep(job, verdict)
        yield verdict


def _outcomes(todo: Sequence[Job], workers: int) -> Iterator[tuple[Job, Verdict]]:
    here = [job for job in todo if catalogue.is_added(job.name)]  # other processes would not know it
    yield from in_parallel(_both, [job for job in todo if job not in set(here)], workers=workers)
    yield from map(_both, here)


def _both(job: Job) -> tuple[Job, Verdict]:
    return job, do(job)


_BEGIN = '{"job": {"name": "'
"""How a line of kept verdicts begins."""


class Kept:
    """Verdicts in a file, one a line. A line that a killed run left unfinished is not counted."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.verdicts: dict[Job, Verdict] = {}
        text = file.read_text("utf-8") if file is not None and file.exists() else ""
        self._unfinished = bool(text) and not text.endswith("\n")
        for line in text.split("\n"):
            self._read(line)

    def keep(self, job: Job, verdict: Verdict) -> None:
        """Add one."""
        self.verdicts[job] = verdict
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write("\n" if self._unfinished else "")
                self._unfinished = False
                lines.write(json.dumps({"job": asdict(job), "verdict": asdict(verdict)}, ensure_ascii=False) + "\n")

    def _read(self, line: str) -> None:
        try:
            found: dict[str, dict[str, Any]] = json.loads(line)
            self.verdicts[Job(**found["job"])] = Verdict(**found["verdict"])
        except (ValueError, TypeError, KeyError) as reason:
            begun = isinstance(reason, json.JSONDecodeError) and line[: len(_BEGIN)] == _BEGIN[: len(line)]
            if not begun:
                raise BadInput("out", f"{self.file} holds something else than verdicts", "name another file") from None


ENOUGH = 0.7
"""Where the worst case is known, so much of ε must be found: an audit that finds little would notice little."""


def loosest(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], float]:
    """For each entry and neighbours under which its worst case is known, the largest part of ε that was found."""
    known = catalogue.every()
    found: dict[tuple[str, str], float] = {}
    for verdict in verdicts:
        if verdict.neighbours in known[verdict.name].tight:
            key = (verdict.name, verdict.neighbours)
            found[key] = max(found.get(key, -math.inf), verdict.tightness)
    return found


def unknown(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], str]:
    """For the other mechanisms, operators and questions, why their worst case is not seen."""
    entries = {(verdict.name, verdict.neighbours): catalogue.get(verdict.name) for verdict in verdicts}
    return {key: entry.unknown for key, entry in entries.items() if entry.unknown and key[1] not in entry.tight}
