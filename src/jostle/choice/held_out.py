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
        """The mean regret of the choice maker. It can be below 1: the choice may take another option in every run."""
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
        text = f"mean regret over {len(self.databases)} held-out databases: choice {self.regret:.3g}; {every}"
        better = int((self._regret(self.losses) < 1).sum())
        if self.regret >= 1 or not better:
            return text
        return (
            f"{text}. Below 1: on {better} of them, the choice lost less than the option that did best in training's runs, "
            f"as it may take another option in each run, and by chance"
        )


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


def priced_regrets(found: Outcomes, rule: DecisionRule, rho: float) -> Vector:
    """The expected regret of a rule on each database, from known outcomes: nothing is run again.

    The private questions that are asked leave less for the option; its loss is taken to grow in proportion.
    """
    paid = {name for name, price in zip(found.questions, found.paid, strict=True) if price}
    share = rho / max(len(paid & set(rule.needs)), 1)
    regrets = np.empty(found.features.shape[:2])
    for copy, answers in enumerate(found.features):
        for row in range(len(found.databases)):
            asked = set[str]()
            seen = dict(zip(found.questions, map(float, answers[row]), strict=True))

            def ask(name: str, asked: set[str] = asked, seen: dict[str, float] = seen) -> float:
                asked.add(name)
                return seen[name]

            choice = rule.decide(ask).choice
            regrets[copy, row] = found.regrets[row, found.options.index(choice)] / (1 - share * len(asked & paid))
    return np.asarray(regrets.mean(axis=0))


def regrets_by_group(found: Outcomes, learn: Callable[[Outcomes], DecisionRule], rho: float) -> Vector:
    """The mean expected regret on each group, by a rule that learned from all other groups."""
    groups, means = np.array(found.groups), list[float]()
    for group in dict.fromkeys(found.groups):
        rule = learn(found.where(groups != group))
        means.append(float(priced_regrets(found.where(groups == group), rule, rho).mean()))
    return np.array(means)


def _run(maker: ChoiceMaker, one: PublicDatabase, seed: list[int], choices: dict[str, int]) -> float:
    entropy = np.random.SeedSequence([*seed, zlib.crc32(maker.name.encode())])
    source = one.source(entropy, maker.neighbours)
    answer = maker(source, one.query, source.grant(one.epsilon))
    choices[maker.trace.choice] = choices.get(maker.trace.choice, 0) + 1
    return one.cost(answer, maker.loss)
