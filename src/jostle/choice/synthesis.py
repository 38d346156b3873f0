"""Synthesis: short formulas for an option's loss, and metafeatures that nobody wrote, kept only where they predict better.

Formulas come from symbolic regression (the package gplearn, in the extra `synthesis`). Metafeatures come from a small
grammar of private expressions, so that the sensitivity of each is derived. Both are judged on groups of public databases
that had no part in making them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.decision_rules import LossModel, Predictions, fitted_line, learn_predictions
from jostle.choice.expressions import Database, largest, norm, stddev, total_variation
from jostle.choice.held_out import expected_regret
from jostle.choice.metafeatures import Metafeature
from jostle.choice.public_databases import Outcomes, noisy_answers
from jostle.choice.questions import MetafeatureQuestion, as_questions
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector

LONGEST = 60
"""The most parts of a formula that a person can still read."""

WORTH = 0.02
"""The share by which something new has to be better to be kept."""


@dataclass(frozen=True)
class Formula:
    """A formula that was found, with the line from it to log loss."""

    needs: tuple[str, ...]
    formula: str
    slope: float
    constant: float
    of: Callable[[Vector], Vector]
    """From rows of features, in the order of `names`, to the formula's values."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.constant:.3g} {self.slope:+.3g}·{self.formula}"

    def log_losses(self, names: Sequence[str], features: Vector) -> Vector:
        columns = [features[:, list(names).index(name)] if name in names else np.zeros(len(features)) for name in self.names]
        return np.asarray(self.constant + self.slope * self.of(np.stack(columns, axis=1)))

    def refitted(self, names: Sequence[str], features: Vector, log_losses: Vector) -> Formula:
        plain = replace(self, slope=1.0, constant=0.0).log_losses(names, features)
        slope, constant = fitted_line(plain, log_losses)
        return replace(self, slope=slope, constant=constant)


@dataclass(frozen=True)
class Improvement:
    """What synthesis found for an option."""

    option: str
    before: str
    """The present formula."""

    after: str
    """The formula that was found."""

    error_before: float
    """The root mean square error of log loss on held-out databases."""

    error_after: float
    kept: bool

    def __str__(self) -> str:
        verdict = "kept" if self.kept else "not better, so not kept"
        return (
            f"{self.option}: log loss ≈ {self.after} (off by {self.error_after:.3g} on held-out databases, "
            f"was {self.error_before:.3g} with {self.before}): {verdict}"
        )


def improve(maker: ChoiceMaker, *, population: int = 300, generations: int = 8, seed: int = 0) -> list[Improvement]:
    """Look for a better formula for every option's loss, and let the choice maker predict with those that are kept.

    Half of the groups of public databases make the formula, the other half decide whether it is kept.
    """
    found = maker.outcomes
    if found is None or len(set(found.groups)) < 4 or not found.questions:
        raise BadInput("maker", "has too little to learn from", "train it on four groups at least, and some metafeatures")
    now = maker.rule if isinstance(maker.rule, Predictions) else learn_predictions(found, maker.options)
    groups = np.unique(found.groups)
    odd = np.isin(found.groups, np.random.default_rng(seed).permutation(groups)[1::2])
    models: dict[str, LossModel] = {}
    story = []
    for at, option in enumerate(found.options):
        model = now.models[option]
        made, tested = _rows(found.where(~odd), at), _rows(found.where(odd), at)
        before = _off(model.refitted(found.questions, *made), found.questions, *tested)  # both have seen the same
        formula = symbolic(found.questions, *made, population=population, generations=generations, seed=seed)
        after = _off(formula, found.questions, *tested)
        kept = after < before * (1 - WORTH)
        models[option] = formula.refitted(found.questions, *_rows(found, at)) if kept else model
        story.append(Improvement(option, model.text, formula.text, before, after, kept))
    maker.rule = Predictions(found.options, models)
    return story


def _rows(found: Outcomes, option: int) -> tuple[Vector, Vector]:
    logs = np.tile(np.log(np.maximum(found.losses[:, option], 1e-12)), len(found.features))
    return found.features.reshape(-1, len(found.questions)), logs


def _off(model: LossModel, names: Sequence[str], features: Vector, logs: Vector) -> float:
    return float(np.sqrt(np.mean((model.log_losses(names, features) - logs) ** 2)))


def symbolic(
    names: Sequence[str], features: Vector, logs: Vector, *, population: int = 300, generations: int = 8, seed: int = 0
) -> Formula:
    """A short formula over features that goes along with log loss, by genetic programming.

    >>> x = np.linspace(1, 50, 40)[:, None]
    >>> found = symbolic(["size"], x, 3 - np.log(x[:, 0]), population=200, generations=5)
    >>> float(np.abs(found.log_losses(["size"], x) - 3 + np.log(x[:, 0])).max()) < 0.1
    True
    """
    try:
        functions, genetic = import_module("gplearn.functions"), import_module("gplearn.genetic")
    except ImportError:
        raise BadInput("synthesis", "needs the package gplearn", "install jostle[synthesis]") from None
    power = functions.make_function(function=_power, name="power", arity=1)
    search = genetic.SymbolicRegressor(
        population_size=population,
        generations=generations,
        function_set=("add", "sub", "mul", "div", "log", "sqrt", power),
        metric="pearson",  # the line to log loss is fitted afterwards
        parsimony_coefficient=0.003,
        init_depth=(1, 3),
        const_range=(-2.0, 2.0),
        feature_names=list(names),
        random_state=seed,
        n_jobs=1,
    )
    # Formulas that the search tries may overflow or be constant; they lose, and their warnings say nothing to a user.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        search.fit(features, logs)
    program = search._program
    if program.length_ > LONGEST:
        raise BadInput("synthesis", "found no short formula", "train on more databases, or let it run for fewer generations")

    def values(rows: Vector) -> Vector:
        with np.errstate(all="ignore"):
            return np.asarray(np.nan_to_num(program.execute(rows), nan=0.0, posinf=1e9, neginf=-1e9))

    text = str(program)
    used = tuple(name for at, name in enumerate(names) if at in _features_in(program.program))
    return Formula(used, text, 1.0, 0.0, values, tuple(names)).refitted(names, features, logs)


def _power(x: Vector) -> Vector:
    """|x| to the power of 1.5."""
    return np.asarray(np.abs(x) ** 1.5)


def _features_in(program: Sequence[Any]) -> set[int]:
    return {int(node) for node in program if isinstance(node, (int, np.integer)) and not isinstance(node, bool)}


# ---------------------------------------------------------------------------------------------------- metafeatures


@dataclass(frozen=True)
class Proposal:
    """A metafeature that nobody wrote."""

    feature: Metafeature
    text: str
    regret_before: float
    """On held-out groups, with the present metafeatures."""

    regret_after: float
    """With this one added."""

    kept: bool

    def __str__(self) -> str:
        verdict = "worth adding" if self.kept else "not worth its budget"
        return f"{self.text}: held-out regret {self.regret_before:.3g} → {self.regret_after:.3g}, {verdict}"


def grammar(*, thresholds: Sequence[int] = (0, 1, 3, 10, 30, 100)) -> Iterator[tuple[str, Metafeature]]:
    """Metafeatures of vectors by thresholds, caps and norms; the sensitivity of each is derived.

    >>> [text for text, _ in grammar(thresholds=[3])][:2]
    ['cells above 3', 'records in cells, at most 4 each']
    """
    for threshold in thresholds:
        yield _named(f"cells above {threshold}", lambda db, t=threshold: (db.values > t).count())
        yield _named(f"records in cells, at most {threshold + 1} each", lambda db, t=threshold: _capped(db, t + 1))
    yield _named("records", lambda db: db.values.sum())
    yield _named("largest cell", lambda db: largest(db.values))
    yield _named("standard deviation of cells", lambda db: stddev(db.values))
    yield _named("length of the vector", lambda db: norm(db.values))
    yield _named("total variation", lambda db: total_variation(db.values))


def _capped(db: Database, most: int) -> Any:
    return db.values.clip(0, most).sum()


def _named(text: str, define: Callable[..., Any]) -> tuple[str, Metafeature]:
    return text, Metafeature(text, define, None, text)


def propose(maker: ChoiceMaker, *, candidates: Sequence[tuple[str, Metafeature]] | None = None) -> list[Proposal]:
    """Try to add metafeatures from a grammar to those of a choice maker; returns the best one first.

    Nothing is run again: the losses are known, and only the new questions are asked of the public databases. What cannot be
    derived for them is left out.
    """
    found = maker.outcomes
    if found is None or len(set(found.groups)) < 3:
        raise BadInput("maker", "has too little to judge by", "train it on three groups at least")
    before = expected_regret(found, maker.learned)
    tried = []
    for text, feature in candidates or list(grammar()):
        question = MetafeatureQuestion(feature)
        if question.name in found.questions:
            continue
        questions = (*(maker.question(name) for name in found.questions), question)
        try:
            features, paid = noisy_answers(
                found.databases,
                as_questions(questions),
                rho=maker.rho,
                copies=len(found.features),
                seed=maker.seed,
                neighbours=maker.neighbours,
            )
        except BadInput:
            continue
        more = replace(found, features=features, paid=paid, questions=tuple(one.name for one in questions))
        after = expected_regret(more, maker.learned)
        tried.append(Proposal(feature, text, before, after, after < before * (1 - WORTH)))
    return sorted(tried, key=lambda one: one.regret_after)
