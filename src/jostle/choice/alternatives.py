"""Alternatives to learned choices, from the literature, behind one interface, so that they can be compared.

A learned choice knows the options' losses from public data, and asks a few cheap questions. These alternatives look at the
private data instead: they try several options, and take one by its score there. The price is part of the same budget.

| alternative | what it needs | guarantee |
| --- | --- | --- |
| `LearnedChoice` | public databases | ε, on private data |
| `ByValidation` (Chaudhuri and Vinterbo 2013) | a score that counts records | ε, on private data |
| `accuracy_first` (Ligett and others 2017) | a target for the error | ex-post ε, on private data |
| `PrivateCandidates` (Liu and Talwar 2019) | a score that counts records, a threshold | 2ε₁; simulated on public data |
| `ByLargeMargin` (Chaudhuri, Hsu, Song 2014) | a score with a sensitivity | (ε, δ); simulated on public data |

The last two run only on public data: a ledger counts pure ε, and charges every run of a candidate, which is more than their
theorems ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from jostle.choice.choice_maker import ChoiceMaker, check_share
from jostle.choice.options import Option, answered, as_options
from jostle.choice.public_databases import Loss, PublicDatabase
from jostle.choice.spend_only import is_records, spend_only
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.scores import QueryScore
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import simulation
from jostle.kernel.strategies import matrix
from jostle.mechanisms.margin import large_margin

Weights = Callable[[Any, Any, Any], Any]
"""From an answer, the database's public facts and the query to a weight from 0 to 1 per cell: what a record there adds to
the answer's score. With the same weights for all data sets, one record moves a score by at most 1."""

LEAST_WEIGHT = 1e-6
"""Weights count as 0 if all are smaller: the kernel keeps no finer numbers."""


@dataclass(frozen=True)
class SimulatedChoice:
    """One choice on a public database, and the ε that it would have cost."""

    answer: Any
    choice: str
    epsilon: Fraction


class Alternative(Protocol):
    """Chooses an option and answers with it."""

    @property
    def name(self) -> str: ...

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        """Choose and answer on a public database, with its ε."""
        ...


@dataclass(frozen=True)
class LearnedChoice:
    """A choice maker, to be compared."""

    maker: ChoiceMaker
    name: str = "learned"

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        source = one.source(seed, neighbours)
        answer = self.maker(source, one.query, source.grant(one.epsilon))
        return SimulatedChoice(answer, self.maker.trace.choice, one.epsilon)


@dataclass(frozen=True)
class Single:
    """Always the same option, with the whole budget."""

    option: Option

    @property
    def name(self) -> str:
        return self.option.name

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        source = one.source(seed, neighbours)
        answer = answered(self.option, source, one.query, source.grant(one.epsilon))
        return SimulatedChoice(answer, self.name, one.epsilon)


class ByValidation:
    """Runs every option with a part of the budget, and takes the one whose answer fits the private data best.

    Chaudhuri, Vinterbo: A stability-based validation procedure for differentially private machine learning, NIPS 2013. The
    score of an answer is a count of weighted records, which one record moves by at most its weight; the choice is the
    kernel's noisy maximum.

    `on` are the attributes whose combinations are the cells, where the database holds records. Weights below 0 and above 1
    count as 0 and 1, and what is not a number as 0; an answer on which `weights` fails scores 0.

    Privacy: each option has its own part of the budget; the weights follow from released answers, so the scores are linear
    queries of known norm, and the kernel calibrates the choice among them to it. Sequential composition.
    """

    def __init__(
        self, options: Any, weights: Weights, *, share: Any = 0.2, on: Sequence[str] = (), name: str = "validation"
    ) -> None:
        self.options, self.weights, self.name = as_options(options), weights, name
        self.share, self.on = check_share(share), tuple(on)

    def __call__(self, db: Any, query: Any, budget: Budget) -> Any:
        return self._chosen(db, query, budget)[0]

    def _chosen(self, db: Any, query: Any, budget: Budget) -> tuple[Any, str]:
        if type(budget) is not Budget:
            raise BadInput("budget", "must be a token that was granted for the source", "pass for instance db.grant(0.5)")
        for option in self.options:
            option.check(spend_only(db), query)
        cells = _cells(spend_only(db), self.on)
        last, *parts = budget.split(self.share, *[(1 - self.share) / len(self.options)] * len(self.options))
        answers = [answered(one, db, query, part) for one, part in zip(self.options, parts, strict=True)]
        weighed = [self._weighed(answer, cells, query) for answer in answers]
        if all(row is None for row in weighed):
            raise BadInput("weights", f"must be {cells.size} numbers from 0 to 1", "give one for each cell")
        rows = np.array([np.zeros(cells.size) if row is None else row for row in weighed])
        if rows.max() < LEAST_WEIGHT:
            rows[:] = 0
        at = cells.choose(range(len(answers)), QueryScore(matrix(rows, cells.shape)), last)
        return answers[at], self.options[at].name

    def _weighed(self, answer: Any, cells: Any, query: Any) -> Vector | None:
        """The weights of an answer, clipped; None if it has none. It does not raise: every answer is paid for by now."""
        try:
            row = np.asarray(self.weights(answer, cells, query), dtype=np.float64).reshape(-1)
        except Exception:  # noqa: BLE001  # of a released answer, on which it may stumble in any way
            return None
        return np.clip(np.nan_to_num(row), 0, 1) if row.size == cells.size else None

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        source = one.source(seed, neighbours)
        answer, choice = self._chosen(source, one.query, source.grant(one.epsilon))
        return SimulatedChoice(answer, choice, one.epsilon)


def _cells(db: Any, on: Sequence[str]) -> Any:
    """The counts on which scores are taken; of records, those of the combinations of attributes."""
    if is_records(db) != bool(on):
        raise BadInput("on", "must name attributes of records, and nothing of counts", "pass on=('a', 'class')")
    return db.vector(*on) if on else db


class PrivateCandidates:
    """Tries options at random until one scores above a threshold, at twice the price of one try. Simulated only.

    Liu, Talwar: Private selection from private candidates, STOC 2019, Algorithm 1 without a limit of rounds. In each round
    it gives up with the probability `stop`; else it draws an option, runs it and measures its answer's score. It takes the
    first that reaches the threshold. With p the chance of a round's success on an answer and P on any, an answer comes out
    with probability (1 − γ)p/(γ + (1 − γ)P): a neighbour moves the numerator by a factor of e^ε₁ and the denominator by
    as much, so all rounds together lose 2ε₁, however many there are. If it gives up, it
    uses the answer of `otherwise`, which knows no data.
    """

    def __init__(
        self,
        options: Any,
        weights: Weights,
        *,
        threshold: float,
        otherwise: Callable[[Any, Any], Any],
        stop: float = 0.05,
        on: Sequence[str] = (),
    ) -> None:
        self.options, self.weights, self.name = as_options(options), weights, "candidates"
        self.threshold, self.otherwise, self.stop, self.on = float(threshold), otherwise, stop, tuple(on)
        if not 0 < stop < 1:
            raise BadInput("stop", f"must lie between 0 and 1, got {stop!r}", "pass for instance 0.05")

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        """On a public database: each round costs ε₁ = ε/2, and all together ε."""
        rng = np.random.default_rng(seed)
        while rng.random() >= self.stop:
            option = self.options[rng.integers(len(self.options))]
            source = one.source(np.random.SeedSequence(int(rng.integers(2**62))), neighbours)
            first, second = source.grant(one.epsilon / 2).split(4, 1)
            answer = answered(option, source, one.query, first)
            cells = _cells(source, self.on)
            row = np.asarray(self.weights(answer, cells, one.query), dtype=np.float64).reshape(1, -1)
            if cells.measure(matrix(row, cells.shape), second)[0] >= self.threshold:
                return SimulatedChoice(answer, option.name, one.epsilon)
        return SimulatedChoice(self.otherwise(one.source(0, neighbours), one.query), "otherwise", one.epsilon)


Candidates, Learned = PrivateCandidates, LearnedChoice
"""Their short names, for programs."""


class ByLargeMargin:
    """Half of ε finds an option by its true score, half runs it: (ε, δ)-private. Simulated only.

    `score(option, data, query)` is public here; on private data somebody would have to prove its sensitivity.
    """

    def __init__(
        self, options: Any, score: Callable[[str, Any, Any], float], *, sensitivity: Any, delta: float = 1e-6
    ) -> None:
        self.options, self.score, self.name = as_options(options), score, "large margin"
        self.sensitivity, self.delta = sensitivity, delta

    def run(self, one: PublicDatabase, seed: Any, neighbours: Neighbours) -> SimulatedChoice:
        scores = [self.score(option.name, one.data, one.query) for option in self.options]
        half = one.epsilon / 2
        token = simulation(seed=seed, neighbours=neighbours).grant(half, delta=self.delta)
        chosen = large_margin(self.options, scores, sensitivity=self.sensitivity, budget=token)
        source = one.source(np.random.SeedSequence(int(np.random.default_rng(seed).integers(2**62))), neighbours)
        return SimulatedChoice(answered(chosen, source, one.query, source.grant(half)), chosen.name, one.epsilon)


def compare(
    rules: Sequence[Alternative],
    databases: Sequence[PublicDatabase],
    loss: Loss,
    *,
    trials: int = 4,
    seed: int = 0,
    neighbours: Neighbours | str = "add_remove",
) -> Any:
    """The mean loss of every alternative on every public database, as a pandas frame: databases × alternatives."""
    import pandas as pd

    relation, table = Neighbours.of(neighbours), dict[str, list[float]]()
    for number, rule in enumerate(rules):
        costs = []
        for row, one in enumerate(databases):
            runs = [rule.run(one, np.random.SeedSequence([seed, number, row, t]), relation) for t in range(trials)]
            costs.append(float(np.mean([one.cost(run.answer, loss) for run in runs])))
        table[rule.name] = costs
    return pd.DataFrame({"database": [one.name for one in databases]} | table)
