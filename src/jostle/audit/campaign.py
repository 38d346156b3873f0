"""Many entries, on every core: what an audit consists of, in which order, and how much of it is left.

A full audit has two stages. A pilot tries all pairs of every entry at several ε. Then the pair that promises most at an ε is
run again, with a hundred times as many samples. The pair was picked with the pilot's samples alone, and what is counted
afterwards is fresh, so both stages' bounds hold as if the pairs had been known from the beginning.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from jostle.audit import catalogue
from jostle.audit.audit_plan import FULL, PILOT, PLANS, QUICK, RUNGS, RUNGS_EPSILON, Share, kind
from jostle.audit.entries import Audited, Engine, Pair
from jostle.audit.examine import CONFIDENCE, Verdict, examine
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.simulate.parallel import in_parallel

SHARES = 4096
"""Among so many bounds, at least, a full audit shares its chance of failure. It has fewer; but so each bound stays as it is
when an audit is taken in pieces, or an entry is added."""

ENOUGH = 0.7
"""Where the worst case is known, so much of ε must be found: an audit that finds little would notice little."""


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
    """With which each of its bounds holds by itself; those of all jobs hold together with CONFIDENCE."""

    seed: int
    """Of simulated noise."""

    first: int = 0
    """The first of the entry's pairs that is tried; the last one, if it has fewer."""

    pairs: int | None = None
    """How many of the entry's pairs; all the rest unless said."""

    until: float = 0.0
    """If less of ε is found, the pair that promises most is done again with more samples (RUNGS)."""


def jobs(entries: Sequence[Audited], *, full: bool = False, seed: int = 0) -> list[Job]:
    """What a quick audit of these entries consists of, or the pilot of a full one; the slowest first.

    How much noise there is under either neighbours is seen with simulated noise. Exact noise is drawn in the same way for
    both, so a quick audit looks at it under one, unless there is no other noise.

    >>> [job.engine for job in jobs([catalogue.get("laplace: identity")])]
    ['simulated', 'simulated', 'simulated', 'simulated', 'exact', 'exact']
    """
    depth = PILOT if full else QUICK
    planned = [(*one, share) for one in _asked(entries, full=full) for share in depth[kind(one[0], one[2])]]
    confidence = _each(max(SHARES, _bounds_of_all()) if full else len(planned))
    order = {"slow": 0, "single": 1, "batched": 2}
    planned.sort(key=lambda plan: order[plan[0].pace])
    return [_job(*plan, confidence=confidence, seed=seed) for plan in planned]


def _bounds_of_all() -> int:
    """How many bounds a full audit of everything has."""
    kinds = [kind(entry, engine) for entry, _, engine in _asked(list(catalogue.every().values()), full=True)]
    return sum(len(PILOT[one]) + len(FULL[one]) for one in kinds)


def _asked(entries: Sequence[Audited], *, full: bool) -> Iterator[tuple[Audited, str, Engine]]:
    """Every entry, under which neighbours, and with which noise."""
    for entry in entries:
        if entry.run is not None:
            yield from ((entry, relation, "simulated") for relation in entry.relations)
        if entry.exact is not None:
            relations = entry.relations if full or entry.run is None else entry.relations[:1]
            yield from ((entry, relation, "exact") for relation in relations)


def _each(number: int) -> float:
    """The confidence of each of so many bounds, for all of them to hold together with CONFIDENCE."""
    return 1 - (1 - CONFIDENCE) / max(1, number)


def _job(entry: Audited, relation: str, engine: Engine, share: Share, *, confidence: float, seed: int) -> Job:
    return Job(
        name=entry.name,
        neighbours=relation,
        epsilon=share.epsilon,
        engine=engine,
        samples=share.samples,
        confidence=confidence,
        seed=seed,
        first=share.first,
        pairs=share.pairs,
    )


def deeper(pilot: Sequence[Job], seen: Mapping[Job, Verdict]) -> dict[Job, float]:
    """What a full audit goes on with, and the processor time that each will take, in seconds, by what the pilot took.

    That is the pair that promised most in the pilot, by itself and with fresh samples. Those that take least come first, so
    that a night that is cut short has done most of them.
    """
    entries, found = catalogue.every(), dict[Job, float]()
    for job in pilot:
        entry, verdict = entries[job.name], seen[job]
        for share in FULL[kind(entry, job.engine)]:
            if share.epsilon == job.epsilon:
                sides = {repr(side) for pair in _pairs(entry, job) for side in (pair.one, pair.other)}
                seconds = verdict.seconds / (verdict.samples * len(sides))
                found[_fresh(job, verdict, share.samples)] = seconds * 2 * share.samples
    return dict(sorted(found.items(), key=lambda one: one[1]))


def primitives(entries: Sequence[Audited], *, seed: int = 0) -> list[Job]:
    """Mechanisms and operators, under the neighbours for which their worst pair is known: until most of ε is found.

    >>> [(job.neighbours, job.epsilon, job.until) for job in primitives(catalogue.select(["laplace: total"]))]
    [('add_remove', '2', 0.7)]
    """
    known = [
        (entry, relation)
        for entry in entries
        for relation in entry.tight
        if entry.run is not None and entry.family not in PLANS
    ]
    confidence = _each(len(known) * len(RUNGS))
    return [
        replace(
            _job(entry, relation, "simulated", Share(RUNGS_EPSILON, RUNGS[0]), confidence=confidence, seed=seed),
            until=ENOUGH,
        )
        for entry, relation in known
    ]


def do(job: Job) -> Verdict:
    """One of them, here."""
    started = time.process_time()
    verdict = pilot = _examined(job)
    for samples in RUNGS:
        if verdict.tightness < job.until and samples > verdict.samples:
            verdict = _examined(_fresh(job, pilot, samples))
    return replace(verdict, seconds=time.process_time() - started)


def _fresh(job: Job, seen: Verdict, samples: int) -> Job:
    """The pair that promises most, by itself, with samples that had no part in picking it."""
    return replace(job, samples=samples, first=job.first + seen.place, pairs=1, seed=job.seed + 1)


def _examined(job: Job) -> Verdict:
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


def _pairs(entry: Audited, job: Job) -> Sequence[Pair]:
    every = entry.pairs(Neighbours.of(job.neighbours))
    first = min(job.first, len(every) - 1)
    return every[first:] if job.pairs is None else every[first : first + job.pairs]


def run(todo: Sequence[Job], *, workers: int, kept: Kept | None = None) -> Iterator[tuple[Job, Verdict]]:
    """Jobs and verdicts as they come in; those that were kept come first, and new ones are kept."""
    known = kept or Kept(None)
    left = [job for job in todo if job not in known.verdicts]
    yield from ((job, known.verdicts[job]) for job in todo if job in known.verdicts)
    here = [job for job in left if catalogue.is_added(job.name)]  # other processes would not know it
    for outcomes in (in_parallel(_both, [job for job in left if job not in set(here)], workers=workers), map(_both, here)):
        for job, verdict in outcomes:
            known.keep(job, verdict)
            yield job, verdict


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
    known = catalogue.every()
    entries = {(verdict.name, verdict.neighbours): known[verdict.name] for verdict in verdicts}
    return {key: entry.unknown for key, entry in entries.items() if entry.unknown and key[1] not in entry.tight}
