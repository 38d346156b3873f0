"""One entry, one ε, one kind of neighbours: sample, search, and give a verdict."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jostle import plots
from jostle.audit.bits import with_lowest_bits
from jostle.audit.entries import Audited, Engine, Pair
from jostle.audit.evidence import Evidence, evidence, failure_chance
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector

CONFIDENCE = 0.999
"""With which all verdicts of a run hold together, unless said."""


_BEYOND = 1e100
"""Stands for infinity, and for what is not there; its square is a number, too."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What an audit found about one entry."""

    name: str
    """The entry."""

    family: str
    """What it is."""

    neighbours: str
    """Under which neighbours."""

    engine: str
    """Which noise was drawn: simulated or exact."""

    claimed: float
    """The ε that is promised."""

    bound: float
    """The ε that the samples prove: the true one is at least this."""

    confidence: float
    """With which the bound holds, by itself."""

    samples: int
    """How many runs there were on each side of a pair."""

    pair: str
    """The pair of inputs that proves most."""

    event: str
    """The event on which they differ most."""

    place: int = 0
    """Which of the pairs that were tried promises most, if there were more samples."""

    seconds: float = 0.0
    """How much processor time it took."""

    @property
    def finding(self) -> bool:
        """Whether the claim is refuted."""
        return self.bound > self.claimed

    @property
    def tightness(self) -> float:
        """How much of the claim was found: near 1, a mechanism that lost more would have been noticed."""
        return self.bound / self.claimed

    @property
    def verdict(self) -> str:
        """In one word."""
        return "FINDING" if self.finding else "holds"

    def plot(self) -> Any:
        """What was found beside what is claimed, as a Plotly figure; `jostle.plots.audited` draws many."""
        return plots.audited([self])

    def _repr_html_(self) -> str:
        """For notebooks: in words."""
        said = f"{self.verdict}: {self.name} loses at least ε = {self.bound:.3g}, and {self.claimed:g} is claimed"
        return plots.in_words(f"{said} ({self.neighbours} neighbours, {self.samples:,} runs, {self.engine} noise).")

    def to_json(self) -> dict[str, Any]:
        """For a script."""
        return asdict(self) | {"finding": self.finding, "tightness": self.tightness}


def examine(
    entry: Audited,
    *,
    epsilon: Any,
    neighbours: Neighbours | str,
    samples: int,
    seed: int,
    engine: Engine = "simulated",
    confidence: float = CONFIDENCE,
    pairs: Sequence[Pair] | None = None,
) -> Verdict:
    """Try every pair of the entry, and give the strongest bound; it holds with this confidence for all pairs together.

    The exact engine cannot be seeded. There, events may also look at the last bits of what is released.

    >>> from jostle.audit import catalogue
    >>> found = examine(catalogue.get("discrete_laplace"), epsilon=1, neighbours="replace", samples=20_000, seed=0)
    >>> found.finding, found.tightness > 0.7
    (False, True)
    """
    amount, relation = exact(epsilon), Neighbours.of(neighbours)
    if samples < 100:
        raise BadInput("samples", f"must be at least 100, got {samples}", "pass for instance 10000")
    run = entry.run if engine == "simulated" else entry.exact
    if run is None:
        other = "exact" if engine == "simulated" else "simulated"
        raise BadInput("engine", f"{entry.name} has no {engine} engine", f"use {other!r}")
    tried = list(entry.pairs(relation) if pairs is None else pairs)
    chance = failure_chance(confidence, len(tried))
    started = time.process_time()
    known: dict[bytes, Vector] = {}

    def outputs(side: Any, place: int) -> Vector:
        key = repr(side).encode()  # public, and small: pairs that share an input share its samples
        if key not in known:
            entropy = zlib.crc32(f"{seed}|{entry.name}|{relation}|{amount}|{place}".encode())
            drawn = run(side, amount, relation, samples, entropy)
            known[key] = with_lowest_bits(drawn) if engine == "exact" else drawn
        return known[key]

    found: list[Evidence] = []
    for place, pair in enumerate(tried):
        sides = outputs(pair.one, 2 * place), outputs(pair.other, 2 * place + 1)
        found.append(evidence(*_same_width(*sides), chance=chance, delta=entry.delta))
    at = max(range(len(found)), key=lambda at: found[at].bound)
    strongest, pair = found[at], tried[at]
    return Verdict(
        name=entry.name,
        family=entry.family,
        neighbours=str(relation),
        engine=engine,
        claimed=entry.claimed(amount),
        bound=strongest.bound,
        confidence=confidence,
        samples=samples,
        pair=f"{pair.name}: {_shown(pair.one)} and {_shown(pair.other)}",
        event=strongest.event,
        place=max(range(len(found)), key=lambda at: found[at].promise),
        seconds=time.process_time() - started,
    )


def _same_width(one: Vector, other: Vector) -> tuple[Vector, Vector]:
    """Outputs of different widths would be told apart by their shape alone: pad, so that an event sees it."""
    width = max(one.shape[1], other.shape[1])
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.inf) for part in (one, other)]
    first, second = (np.nan_to_num(part, nan=-_BEYOND, posinf=_BEYOND, neginf=-_BEYOND) for part in padded)
    return first, second


def _shown(side: Any) -> str:
    return str(np.asarray(side).tolist() if isinstance(side, np.ndarray) else side)
