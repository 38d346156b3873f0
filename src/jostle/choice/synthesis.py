"""Synthesis: formulas for losses and metafeatures that nobody wrote, kept only where they lead to better choices.

What is kept is decided by the regret of the choice on groups of public databases that had no part in finding it, and the
price of private questions counts. Formulas come from symbolic regression, metafeatures from `compositions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from jostle.choice.choice_maker import ChoiceMaker, check_share
from jostle.choice.compositions import Composition, atoms, for_records, ratios
from jostle.choice.decision_rules import DecisionRule, LossModel, Predictions, learn_predictions, learn_tree
from jostle.choice.formulas import Formula, symbolic
from jostle.choice.held_out import priced_regrets, regrets_by_group
from jostle.choice.measurements import ChoiceQuestion
from jostle.choice.options import Option
from jostle.choice.public_databases import Outcomes, PublicDatabase, noisy_answers
from jostle.choice.questions import CELLS, MetafeatureQuestion, as_questions
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.records import ArrayColumns

if TYPE_CHECKING:
    from jostle.choice.delphi import ErrorTable

WORTH: Final = 0.02
"""The share by which something new has to be better to be kept."""

Learner = Callable[[Outcomes], DecisionRule]


def is_better(before: Vector, after: Vector) -> bool:
    """Whether regrets, one per held-out group, fell by more than `WORTH`, and by more than their differences vary.

    >>> is_better(np.array([1.2, 1.3, 1.4]), np.array([1.1, 1.2, 1.2]))
    True
    >>> is_better(np.array([1.2, 1.9]), np.array([1.3, 1.5]))  # one group gained, the other lost
    False
    """
    gain = before - after
    chance = float(gain.std(ddof=1)) / np.sqrt(gain.size) if gain.size > 1 else 0.0
    return bool(gain.mean() > max(WORTH * float(before.mean()), chance))


# -------------------------------------------------------------------------------------------------------- formulas


@dataclass(frozen=True)
class Improvement:
    """What synthesis found for an option."""

    option: str
    before: str
    """The present formula."""

    after: str
    """The formula that was found."""

    error_before: float
    """The root mean square error of log loss on held-out databases. It decides nothing."""

    error_after: float
    regret_before: float
    """The regret of the choice on held-out groups, as it was."""

    regret_after: float
    """The same with all formulas that are kept."""

    kept: bool

    def __str__(self) -> str:
        gain = f"regret {self.regret_before:.3g} → {self.regret_after:.3g}"
        verdict = f"{gain}, kept" if self.kept else "no better choice, so not kept"
        return (
            f"{self.option}: log loss ≈ {self.after} (off by {self.error_after:.3g} on held-out databases, "
            f"was {self.error_before:.3g} with {self.before}): {verdict}"
        )


def improve(maker: ChoiceMaker, *, population: int = 300, generations: int = 8, seed: int = 0) -> list[Improvement]:
    """Look for a better formula for every option's loss; the choice maker uses them only if its choices get better.

    Half of the groups of public databases make the formulas. The other half decide: the choice by the formulas must have
    less regret there than the choice as it was. If nothing is gained, the rule stays as it is. `held_out` afterwards repeats
    the whole search without each group.
    """
    found = maker.outcomes
    if found is None or len(set(found.groups)) < 4 or not found.questions:
        raise BadInput("maker", "has too little to learn from", "train it on four groups at least, and some metafeatures")
    as_now = maker.with_rule(maker.rule).learned  # of a twin, which goes on learning as now
    learner = FormulaLearner(as_now, maker.options, float(maker.rho), population, generations, seed)
    rule, story = learner.search(found)
    if any(one.kept for one in story):
        maker.learn_by(learner, rule)
    return story


@dataclass(frozen=True)
class FormulaLearner:
    """Learns as before, then looks for formulas that lead to better choices."""

    base: Learner
    options: Sequence[Option]
    rho: float
    population: int
    generations: int
    seed: int

    def __call__(self, found: Outcomes) -> DecisionRule:
        return self.search(found)[0]

    def search(self, found: Outcomes) -> tuple[DecisionRule, list[Improvement]]:
        """The rule to use, and what was tried for each option."""
        groups = np.unique(found.groups)
        if groups.size < 4:
            return self.base(found), []
        odd = np.isin(found.groups, np.random.default_rng(self.seed).permutation(groups)[1::2])
        made, judged = found.where(~odd), found.where(odd)
        now = self.base(made)
        start = now if isinstance(now, Predictions) else learn_predictions(made, self.options)
        formulas = {option: self._formula(made, at) for at, option in enumerate(found.options)}
        errors = {
            option: (_off(start.models[option], judged, at), _off(formulas[option], judged, at))
            for at, option in enumerate(found.options)
        }
        taken = self._taken(judged, start, formulas, sorted(errors, key=lambda name: errors[name][1] / errors[name][0]))
        before = self._by_group(judged, now)
        after = self._by_group(judged, Predictions(found.options, {**start.models, **taken}))
        kept = bool(taken) and is_better(before, after)
        story = [
            Improvement(
                option,
                start.models[option].text,
                formulas[option].text,
                *errors[option],
                float(before.mean()),
                float(after.mean()),
                kept and option in taken,
            )
            for option in found.options
        ]
        if not kept:
            return self.base(found), story
        models = dict(learn_predictions(found, self.options).models)
        for option, formula in taken.items():
            models[option] = formula.refitted(found.questions, *_rows(found, found.options.index(option)))
        return Predictions(found.options, models), story

    def _formula(self, made: Outcomes, at: int) -> Formula:
        rows = _rows(made, at)
        return symbolic(made.questions, *rows, population=self.population, generations=self.generations, seed=self.seed)

    def _taken(
        self, judged: Outcomes, start: Predictions, formulas: dict[str, Formula], order: list[str]
    ) -> dict[str, LossModel]:
        """The formulas that lower the regret, one after the other, those that fit best first."""
        taken, least = dict[str, LossModel](), self._by_group(judged, start)
        for option in order:
            trial: dict[str, LossModel] = {**taken, option: formulas[option]}
            regrets = self._by_group(judged, Predictions(start.options, {**start.models, **trial}))
            if is_better(least, regrets):
                taken, least = trial, regrets
        return taken

    def _by_group(self, judged: Outcomes, rule: DecisionRule) -> Vector:
        regrets, groups = priced_regrets(judged, rule, self.rho), np.array(judged.groups)
        return np.array([regrets[groups == group].mean() for group in dict.fromkeys(judged.groups)])


def _rows(found: Outcomes, option: int) -> tuple[Vector, Vector]:
    logs = np.tile(np.log(np.maximum(found.losses[:, option], 1e-12)), len(found.features))
    return found.features.reshape(-1, len(found.questions)), logs


def _off(model: LossModel, found: Outcomes, option: int) -> float:
    features, logs = _rows(found, option)
    return max(float(np.sqrt(np.mean((model.log_losses(found.questions, features) - logs) ** 2))), 1e-12)


# ---------------------------------------------------------------------------------------------------- metafeatures


@dataclass(frozen=True)
class Proposal:
    """A metafeature that nobody wrote."""

    question: MetafeatureQuestion
    """To be listed in `informed_by`."""

    text: str
    regret_before: float
    """On held-out groups, with the present metafeatures."""

    regret_after: float
    """With this one added, and paid for."""

    kept: bool

    @property
    def feature(self) -> object:
        return self.question.feature

    def __str__(self) -> str:
        verdict = "worth adding" if self.kept else "not worth its budget"
        return f"{self.text}: held-out regret {self.regret_before:.3g} → {self.regret_after:.3g}, {verdict}"


@dataclass(frozen=True)
class Search:
    """What metafeatures are judged by: outcomes on public databases, and how a rule is learned from them."""

    found: Outcomes
    questions: tuple[ChoiceQuestion, ...]
    learn: Learner
    rho: Fraction
    seed: int
    neighbours: Neighbours

    def regrets(self, *more: MetafeatureQuestion) -> Vector:
        """One per held-out group, with further metafeatures."""
        if not more:
            return regrets_by_group(self.found, self.learn, float(self.rho))
        questions = as_questions((*self.questions, *more))
        features, paid = noisy_answers(
            self.found.databases,
            questions,
            rho=self.rho,
            copies=len(self.found.features),
            seed=self.seed,
            neighbours=self.neighbours,
        )
        names = tuple(one.name for one in questions)
        return regrets_by_group(
            replace(self.found, features=features, paid=paid, questions=names), self.learn, float(self.rho)
        )

    def tried(self, candidates: Iterable[Composition]) -> list[Proposal]:
        """The proposals, best first; what cannot be derived for these databases, or fails on them, is left out."""
        before, proposals = self.regrets(), list[Proposal]()
        for one in candidates:
            if one.name in (question.name for question in self.questions):
                continue
            try:
                question = one.question()
                after = self.regrets(question)
            except BadInput:
                continue
            proposals.append(
                Proposal(question, one.name, float(before.mean()), float(after.mean()), is_better(before, after))
            )
        return sorted(proposals, key=lambda proposal: proposal.regret_after)


def propose(
    maker: ChoiceMaker | Search, *, candidates: Sequence[Composition] | None = None, beam: int = 4, label: str | None = None
) -> list[Proposal]:
    """Try to add composed metafeatures to those of a choice maker; returns the best one first.

    First all atoms are tried, then ratios of the `beam` best ones. Only the new questions are asked of the public databases:
    the losses are known. For records, the questions are about the attributes that all databases have, alone and with
    the attribute `label`.
    """
    search = maker if isinstance(maker, Search) else _search_of(maker)
    if len(set(search.found.groups)) < 3:
        raise BadInput("maker", "has too little to judge by", "train it on three groups at least")
    if candidates is not None:
        return search.tried(candidates)
    data = [one.data for one in search.found.databases]
    tables = [one for one in data if isinstance(one, ArrayColumns)]
    first = list(for_records(tables, label)) if tables else list(atoms(np.ndim(data[0])))
    tried = search.tried(first)
    by_name = {one.name: one for one in first}
    best = [by_name[proposal.text] for proposal in tried[:beam]]
    return sorted([*tried, *search.tried(ratios(best))], key=lambda proposal: proposal.regret_after)


def _search_of(maker: ChoiceMaker) -> Search:
    found = maker.outcomes
    if found is None:
        raise BadInput("maker", "was not trained here", "train it on three groups at least")
    questions = tuple(maker.question(name) for name in found.questions)
    return Search(found, questions, maker.learned, maker.rho, maker.seed, maker.neighbours)


def search_of_table(table: ErrorTable, *, informed_by: object = (CELLS,), rho: object = "0.05", copies: int = 4) -> Search:
    """The inputs of a table of Delphi as public databases, so that metafeatures can be found for Pythia's task.

    The table's options are not run again. Data sets are held out one by one, as for a selector.
    """
    whole, questions, share = table.complete(), as_questions(informed_by), check_share(rho)
    databases = [
        PublicDatabase(data=cell.vector(), query=cell.workload(), name=cell.key, group=cell.dataset) for cell in whole.inputs
    ]
    features, paid = noisy_answers(databases, questions, rho=share, copies=copies, seed=0, neighbours=Neighbours())
    names = tuple(question.name for question in questions)
    found = Outcomes(
        databases=databases, options=tuple(whole.options), questions=names, losses=whole.errors, features=features, paid=paid
    )
    return Search(
        found, questions, lambda part: learn_tree(part, rho=float(share), depth=4, least=2.0), share, 0, Neighbours()
    )
