"""One entry, one ε, one kind of neighbours: sample, search for an event, and give a verdict."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jostle import plots
from jostle.audit.entries import Audited, Engine, Pair
from jostle.audit.search import evidence, failure_chance
from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector

CONFIDENCE = 0.999
"""All verdicts of a run hold together with this confidence."""

SEEN = 0.15
"""Part of a claim that an attack must have seen before its silence says anything."""

_BEYOND = 1e100
"""Stands for infinity and for missing numbers; its square is still a number."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What an audit found about one entry."""

    name: str
    """The entry."""

    family: str
    """What it is."""

    neighbours: str
    """The neighbours under which it was examined."""

    engine: str
    """Which noise was drawn: simulated or exact."""

    claimed: float
    """The ε, or ρ, that is promised."""

    bound: float
    """The ε, or ρ, that the samples prove: the true one is at least this."""

    confidence: float
    """The confidence with which the bound holds, by itself."""

    samples: int
    """Runs on each side of a pair."""

    pair: str
    """The pair of inputs that proves most."""

    event: str
    """The event on which they differ most."""

    place: int = 0
    """The number of the pair that more samples may prove most about."""

    seconds: float = 0.0
    """The processor time it took."""

    measure: str = PURE
    """What is promised: a pure ε, or a ρ."""

    @property
    def finding(self) -> bool:
        """Whether the claim is refuted."""
        return self.bound > self.claimed

    @property
    def tightness(self) -> float:
        """The part of the claim that was found. If it is near 1, a mechanism that lost more would have been noticed.

        ρ grows with the square of what a record moves, so there it is the root of that part.
        """
        part = self.bound / self.claimed
        return part if self.measure == PURE else part**0.5

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.measure]

    @property
    def verdict(self) -> str:
        """In words. An attack that saw next to nothing of the claim would not have seen a loss of twice as much either."""
        if self.finding:
            return "FINDING"
        return "holds" if self.tightness >= SEEN else "too little seen to tell"

    def plot(self) -> Any:
        """A Plotly figure of the ε that was found and the ε that is claimed; `jostle.plots.audited` draws many."""
        return plots.audited([self])

    def _repr_html_(self) -> str:
        words = (
            f"{self.verdict}: {self.name} loses at least {self.symbol} = {self.bound:.3g}, and {self.claimed:g} is claimed"
        )
        return plots.in_words(f"{words} ({self.neighbours} neighbours, {self.samples:,} runs, {self.engine} noise).")

    def to_json(self) -> dict[str, Any]:
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
    """Try every pair of the entry, and return the strongest bound, on ε or on ρ.

    It holds with this confidence for all pairs together. The exact engine cannot be seeded. With it, events may also look at
    the last bits of what is released.

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

    found = [
        evidence(
            *_same_width(outputs(pair.one, 2 * place), outputs(pair.other, 2 * place + 1)),
            chance=chance,
            delta=entry.delta,
            in_rho=entry.measure == CONCENTRATED,
        )
        for place, pair in enumerate(tried)
    ]
    strongest, pair = max(zip(found, tried, strict=True), key=lambda one: one[0].bound)
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
        measure=entry.measure,
    )


def _same_width(*sides: Vector) -> list[Vector]:
    """Outputs of different widths differ by their shape: pad them, so that an event sees it."""
    width = max(outputs.shape[1] for outputs in sides)
    padded = [np.pad(outputs, ((0, 0), (0, width - outputs.shape[1])), constant_values=np.inf) for outputs in sides]
    return [np.nan_to_num(outputs, nan=-_BEYOND, posinf=_BEYOND, neginf=-_BEYOND) for outputs in padded]


def _shown(side: Any) -> str:
    return str(side.tolist() if isinstance(side, np.ndarray) else side)


def lowest_bits(values: Vector) -> Vector:
    """The exponent of the last bit that is set in each number; 0 gets 1,024, which is above all others.

    Textbook Laplace noise adds a float to a float. Which last bits the sum can have depends on what the noise was added to:
    1 + noise is a multiple of 2^−53 wherever it is near 0, and 0 + noise is not. So one look at the last bit may tell two
    inputs apart, whatever ε is (Mironov: On significance of the least significant bits for differential privacy, CCS 2012).

    >>> lowest_bits(np.array([1.0, 6.0, 0.75, 0.0])).tolist()
    [0.0, 1.0, -2.0, 1024.0]
    """
    fractions, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    digits = (np.abs(fractions) * 2.0**53).astype(np.int64)
    lowest = np.log2(np.where(digits > 0, digits & -digits, 1).astype(np.float64))
    return np.where(digits > 0, exponents - 53 + lowest, 1024.0)


def with_lowest_bits(outputs: Vector) -> Vector:
    """Outputs, followed by the position of each one's last bit.

    >>> with_lowest_bits(np.array([[0.5], [3.0]])).tolist()
    [[0.5, -1.0], [3.0, 0.0]]
    """
    return np.concatenate([outputs, lowest_bits(outputs)], axis=1)
