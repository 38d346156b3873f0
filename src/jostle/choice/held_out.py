"""How good choices are on public databases that were left out of training, one group after the other."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.choice.decision_rules import DecisionRule
from jostle.choice.public_databases import Outcomes, PublicDatabase
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector

if TYPE_CHECKING:
    from jostle.choice.choice_maker import ChoiceMaker


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutLosses:
    """What choosing cost on every held-out database, and what each single option would have."""

    databases: list[str]
    losses: Vector
    """Of the choice maker, run from end to end, so that the price of its questions counts."""

    singles: dict[str, Vector]
    """Of each option with the whole budget."""

    choices: list[dict[str, int]]
    """How often each option was taken."""

    def _regret(self, losses: Vector) -> Vector:
        best = np.min(list(self.singles.values()), axis=0)
        tiny = 1e-9 * max(float(best.max()), 1e-300)
        return np.asarray((losses + tiny) / (best + tiny))

    @property
    def regret(self) -> float:
        """The mean regret of the choice maker."""
        return float(self._regret(self.losses).mean())

    @property
    def regrets(self) -> dict[str, float]:
        """The mean regret of each option, had it been taken always."""
        return {name: float(self._regret(losses).mean()) for name, losses in self.singles.items()}

    @property
    def best_single(self) -> str:
        """The option with the least mean regret."""
        return min(self.regrets, key=self.regrets.__getitem__)

    def to_pandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame({"database": self.databases, "choice": self.losses} | dict(self.singles))

    def __str__(self) -> str:
        every = ", ".join(f"{name} {regret:.3g}" for name, regret in sorted(self.regrets.items(), key=lambda one: one[1]))
        return f"mean regret over {len(self.databases)} held-out databases: choice {self.regret:.3g}; {every}"


def held_out(maker: ChoiceMaker, *, trials: int, seed: int) -> HeldOutLosses:
    """Learn without each group in turn, and choose on its databases, `trials` times each, from end to end."""
    found = maker.outcomes
    if found is None or len(set(found.groups)) < 2:
        raise BadInput("trained_on", "has one group: none is left to learn from", "train on several groups of databases")
    groups, losses = np.array(found.groups), np.zeros(len(found.databases))
    choices = [dict[str, int]() for _ in found.databases]
    for group in dict.fromkeys(found.groups):
        learner = maker.with_rule(maker.learned(found.where(groups != group)))
        for row in np.flatnonzero(groups == group):
            one = found.databases[row]
            losses[row] = np.mean([_run(learner, one, [seed, int(row), trial], choices[row]) for trial in range(trials)])
    return HeldOutLosses(
        databases=[one.name for one in found.databases],
        losses=losses,
        singles={name: found.losses[:, at] for at, name in enumerate(found.options)},
        choices=choices,
    )


def expected_regret(found: Outcomes, learn: Callable[[Outcomes], DecisionRule]) -> float:
    """The mean regret of choices on held-out groups, from known outcomes: nothing is run again, and questions are free."""
    groups, regrets = np.array(found.groups), list[float]()
    for group in dict.fromkeys(found.groups):
        rule = learn(found.where(groups != group))
        held = np.flatnonzero(groups == group)
        regrets += [found.regret_of(rule, int(row), copy[row]) for row in held for copy in found.features]
    return float(np.mean(regrets))


def _run(maker: ChoiceMaker, one: PublicDatabase, seed: list[int], choices: dict[str, int]) -> float:
    entropy = np.random.SeedSequence([*seed, zlib.crc32(maker.name.encode())])
    source = one.source(entropy, maker.neighbours)
    answer = maker(source, one.query, source.grant(one.epsilon))
    choices[maker.trace.choice] = choices.get(maker.trace.choice, 0) + 1
    return one.cost(answer, maker.loss)
