"""Many entries, on every core: what an audit consists of, in which order, and how much of it is left.

A full audit has two stages. A pilot tries all pairs of every entry at several ε. Then the pair that promises most at an ε is
run again, with a hundred times as many samples. The pair was picked with the pilot's samples only, and what is counted
afterwards is fresh, so both stages' bounds hold as if the pairs had been known from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any, Literal

from jostle.audit import catalogue
from jostle.audit.entries import Audited, Engine, Pair
from jostle.audit.examine import CONFIDENCE, Verdict, examine
from jostle.kernel.budget import PURE
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.simulate.parallel import in_parallel

Kind = Literal["batched", "single", "slow", "exact", "exact plan", "table"]
"""How an entry is run: many at once; one by one; one by one and slowly; with exact noise, as a primitive or as a plan; or as
a question to a table, whose noise is always exact."""


@dataclass(frozen=True)
class Sampling:
    """How an entry is sampled at one ε."""

    epsilon: str
    samples: int
    """Runs on each side of a pair."""

    first: int = 0
    """The first of the entry's pairs that is tried; the last one, if it has fewer."""

    pairs: int | None = None
    """How many pairs are tried; None for all the rest."""


Plan = dict[Kind, tuple[Sampling, ...]]

QUICK: Plan = {
    "batched": (Sampling("1/2", 40_000), Sampling("2", 40_000)),
    "single": (Sampling("3", 1_200), Sampling("1", 1_200, pairs=1)),
    "slow": (Sampling("1/2", 100, pairs=1), Sampling("1/4", 100, first=1, pairs=1)),
    "exact": (Sampling("1", 300, pairs=1), Sampling("1/4", 100, pairs=1)),
    "exact plan": (),
    "table": (Sampling("1", 300, pairs=1), Sampling("1/4", 100, pairs=1)),
}
"""Minutes in all. Where samples are very few, ε is small: at a larger ε, not even a mechanism that hides nothing would be
found. Where they are just few, most is seen at a larger ε."""

PILOT: Plan = {
    "batched": (Sampling("1/10", 40_000), Sampling("1", 40_000), Sampling("3", 40_000)),
    "single": (Sampling("1/2", 10_000), Sampling("1", 10_000), Sampling("4", 10_000)),
    "slow": (Sampling("1/2", 1_000), Sampling("1", 2_000)),
    "exact": (Sampling("1/2", 1_000), Sampling("1", 1_000)),
    "exact plan": (Sampling("1/2", 100), Sampling("1", 100)),
    "table": (Sampling("1/2", 1_000), Sampling("1", 1_000)),
}
"""All pairs, at several ε: which pair promises most, and how long a run takes."""

FULL: Plan = {
    "batched": (Sampling("1/10", 1_000_000), Sampling("1", 1_000_000), Sampling("3", 1_000_000)),
    "single": (Sampling("1", 1_000_000),),
    "slow": (Sampling("1", 100_000),),
    "exact": (Sampling("1", 20_000),),
    "exact plan": (Sampling("1", 1_000),),
    "table": (Sampling("1", 50_000),),
}
"""A night: fresh samples of the pair that promised most in the pilot at that ε. Each ε is one of the pilot's."""

AT_IN_RHO: dict[Kind, str] = {"batched": "2", "single": "3", "slow": "1/2"}
"""The one ε of a quick audit for what is paid for in ρ = ε²/2; else, and in a full audit, it is 1."""

RUNGS = (20_000, 100_000, 1_000_000)
"""Samples for a primitive whose worst case is known: more, until enough of ε is found."""

RUNGS_EPSILON = "2"
"""The ε for these. At a small ε, most of it is lost to the width of the bounds; at a large one, the worst event is rare."""

COMPOSED = ("algorithm", "choice", "classifier")
"""Families that are made of primitives."""

SHARES = 4096
"""A full audit shares its chance of failure among at least this many bounds. It has fewer; but this way each bound stays the
same when an audit is done in pieces, or an entry is added."""

ENOUGH = 0.7
"""Where the worst case is known, this part of ε must be found: an audit that finds little would notice little."""


@dataclass(frozen=True, kw_only=True)
class AuditJob:
    """One entry to be examined."""

    name: str
    neighbours: str
    epsilon: str
    engine: Engine
    samples: int

    confidence: float
    """The confidence of each bound by itself; those of all jobs hold together with CONFIDENCE."""

    seed: int
    first: int = 0
    pairs: int | None = None

    until: float = 0.0
    """If less of ε is found, the pair that promises most is run again with more samples (RUNGS)."""


def kind(entry: Audited, engine: Engine) -> Kind:
    """How an entry is run with that noise.

    >>> kind(catalogue.get("median"), "simulated"), kind(catalogue.get("HB"), "exact")
    ('single', 'exact plan')
    """
    if engine == "simulated":
        return entry.pace
    if entry.run is None:
        return "table"
    return "exact plan" if entry.family in COMPOSED else "exact"


def jobs(entries: Sequence[Audited], *, full: bool = False, seed: int = 0) -> list[AuditJob]:
    """The jobs of a quick audit of these entries, or of the pilot of a full one; the slowest first.

    Simulated noise shows how much noise there is under either kind of neighbours. Exact noise is drawn in the same way for
    both, so a quick audit looks at it under one, unless there is no other noise.

    >>> [job.engine for job in jobs([catalogue.get("laplace: identity")])]
    ['simulated', 'simulated', 'simulated', 'simulated', 'exact', 'exact']
    """
    plan = PILOT if full else QUICK
    settings = _settings(entries, full=full)
    planned = [(*one, how) for one in settings for how in _samplings(plan, one[0], one[2], full=full)]
    confidence = _confidence(max(SHARES, _bounds_of_all()) if full else len(planned))
    order = {"slow": 0, "single": 1, "batched": 2}
    planned.sort(key=lambda one: order[one[0].pace])
    return [
        AuditJob(name=entry.name, neighbours=relation, engine=engine, confidence=confidence, seed=seed, **asdict(how))
        for entry, relation, engine, how in planned
    ]


def _samplings(plan: Plan, entry: Audited, engine: Engine, *, full: bool) -> Iterator[Sampling]:
    """All of the plan's for such an entry; of what is paid for in ρ, those at one ε."""
    how = kind(entry, engine)
    at = "1" if full else AT_IN_RHO.get(how, "1")
    yield from (one for one in plan[how] if entry.measure == PURE or one.epsilon == at)


def _bounds_of_all() -> int:
    """How many bounds a full audit of everything has."""
    settings = list(_settings(list(catalogue.every().values()), full=True))
    return sum(len(list(_samplings(plan, one, engine, full=True))) for plan in (PILOT, FULL) for one, _, engine in settings)


def _settings(entries: Sequence[Audited], *, full: bool) -> Iterator[tuple[Audited, str, Engine]]:
    """Every entry, under which neighbours, and with which noise."""
    for entry in entries:
        if entry.run is not None:
            yield from ((entry, relation, "simulated") for relation in entry.relations)
        if entry.exact is not None:
            relations = entry.relations if full or entry.run is None else entry.relations[:1]
            yield from ((entry, relation, "exact") for relation in relations)


def _confidence(bounds: int) -> float:
    """The confidence of each bound, for all of them to hold together with CONFIDENCE."""
    return 1 - (1 - CONFIDENCE) / max(1, bounds)


def deeper(pilot: Sequence[AuditJob], seen: Mapping[AuditJob, Verdict]) -> dict[AuditJob, float]:
    """The jobs of a full audit after its pilot, and the seconds of processor time that each will take, as the pilot went.

    Each is the pair that promised most in the pilot, by itself and with fresh samples. The shortest come first, so that a
    night that is cut short has done most of them.
    """
    entries, found = catalogue.every(), dict[AuditJob, float]()
    for job in pilot:
        entry, verdict = entries[job.name], seen[job]
        for how in FULL[kind(entry, job.engine)]:
            if how.epsilon == job.epsilon:
                sides = {repr(side) for pair in _pairs(entry, job) for side in (pair.one, pair.other)}
                seconds = verdict.seconds / (verdict.samples * len(sides))
                found[_fresh(job, verdict, how.samples)] = seconds * 2 * how.samples
    return dict(sorted(found.items(), key=lambda one: one[1]))


def primitives(entries: Sequence[Audited], *, seed: int = 0) -> list[AuditJob]:
    """Mechanisms and operators, under the neighbours for which their worst pair is known: until most of ε is found.

    >>> [(job.neighbours, job.epsilon, job.until) for job in primitives(catalogue.select(["laplace: total"]))]
    [('add_remove', '2', 0.7)]
    """
    known = [
        (entry.name, relation)
        for entry in entries
        for relation in entry.tight
        if entry.run is not None and entry.family not in COMPOSED
    ]
    how: dict[str, Any] = {"epsilon": RUNGS_EPSILON, "engine": "simulated", "samples": RUNGS[0], "until": ENOUGH}
    confidence = _confidence(len(known) * len(RUNGS))
    return [AuditJob(name=name, neighbours=one, confidence=confidence, seed=seed, **how) for name, one in known]


def do(job: AuditJob) -> Verdict:
    """Run one job in this process."""
    started = process_time()
    verdict = pilot = _examined(job)
    for samples in RUNGS:
        if verdict.tightness < job.until and samples > verdict.samples:
            verdict = _examined(_fresh(job, pilot, samples))
    return replace(verdict, seconds=process_time() - started)


def _fresh(job: AuditJob, seen: Verdict, samples: int) -> AuditJob:
    """The pair that promises most, by itself, with samples that had no part in picking it."""
    return replace(job, samples=samples, first=job.first + seen.place, pairs=1, seed=job.seed + 1)


def _examined(job: AuditJob) -> Verdict:
    entry = catalogue.get(job.name)
    return examine(
        entry,
        epsilon=job.epsilon,
        neighbours=job.neighbours,
        samples=job.samples,
        seed=job.seed,
        engine=job.engine,
        confidence=job.confidence,
        pairs=_pairs(entry, job),
    )


def _pairs(entry: Audited, job: AuditJob) -> Sequence[Pair]:
    every = entry.pairs(Neighbours.of(job.neighbours))
    first = min(job.first, len(every) - 1)
    return every[first:] if job.pairs is None else every[first : first + job.pairs]


def run(todo: Sequence[AuditJob], *, workers: int, kept: Kept | None = None) -> Iterator[tuple[AuditJob, Verdict]]:
    """Jobs and verdicts as they come in. Verdicts that were kept come first; new ones are kept."""
    known = kept or Kept(None)
    left = [job for job in todo if job not in known.verdicts]
    yield from ((job, known.verdicts[job]) for job in todo if job in known.verdicts)
    here = [job for job in left if catalogue.is_added(job.name)]  # other processes would not know it
    elsewhere = [job for job in left if not catalogue.is_added(job.name)]
    for outcomes in (in_parallel(_with_verdict, elsewhere, workers=workers), map(_with_verdict, here)):
        for job, verdict in outcomes:
            known.keep(job, verdict)
            yield job, verdict


def _with_verdict(job: AuditJob) -> tuple[AuditJob, Verdict]:
    return job, do(job)


_BEGIN = '{"job": {"name": "'
"""How a line of kept verdicts begins."""


class Kept:
    """Verdicts in a file, one per line. A line that a killed run left unfinished is ignored."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.verdicts: dict[AuditJob, Verdict] = {}
        text = file.read_text("utf-8") if file is not None and file.exists() else ""
        self._unfinished = bool(text) and not text.endswith("\n")
        for line in text.split("\n"):
            self._read(line)

    def keep(self, job: AuditJob, verdict: Verdict) -> None:
        self.verdicts[job] = verdict
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write("\n" if self._unfinished else "")
                self._unfinished = False
                lines.write(json.dumps({"job": asdict(job), "verdict": asdict(verdict)}, ensure_ascii=False) + "\n")

    def _read(self, line: str) -> None:
        try:
            found: dict[str, dict[str, Any]] = json.loads(line)
            self.verdicts[AuditJob(**found["job"])] = Verdict(**found["verdict"])
        except (ValueError, TypeError, KeyError) as reason:
            begun = isinstance(reason, json.JSONDecodeError) and line[: len(_BEGIN)] == _BEGIN[: len(line)]
            if not begun:
                raise BadInput("out", f"{self.file} holds something else than verdicts", "name another file") from None


def loosest(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], float]:
    """For each entry and neighbours under which its worst case is known, the largest part of ε that was found."""
    known, found = catalogue.every(), dict[tuple[str, str], float]()
    for verdict in verdicts:
        if verdict.neighbours in known[verdict.name].tight:
            key = (verdict.name, verdict.neighbours)
            found[key] = max(found.get(key, verdict.tightness), verdict.tightness)
    return found


def unknown(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], str]:
    """For the other mechanisms, operators and questions, why their worst case is not seen."""
    known = catalogue.every()
    entries = {(verdict.name, verdict.neighbours): known[verdict.name] for verdict in verdicts}
    return {key: entry.unknown for key, entry in entries.items() if entry.unknown and key[1] not in entry.tight}
