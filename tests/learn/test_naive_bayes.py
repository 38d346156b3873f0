"""Naive Bayes on private histograms: against the closed form, what it costs, and what a release refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from jostle import algorithms, learn
from jostle.algorithms import registry as algorithm_registry
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords
from jostle.learn.naive_bayes import PrivateGaussianBayes, PrivateMultinomialBayes, gaussian_bayes, multinomial_bayes
from jostle.learn.registry import Learner
from jostle.learn.task import Task
from jostle.schema import Category, Column, Integer

COLUMNS: dict[str, Column] = {"age": Integer(0, 49), "sex": Category(["F", "M"]), "class": Category([0, 1, 2])}
TASK = Task(("age", "sex"), "class", COLUMNS)
MODELS = [gaussian_bayes, multinomial_bayes]


def drawn(records: int = 6_000) -> dict[str, np.ndarray]:
    """Three classes of different sizes, told by age and a little by sex."""
    draw = np.random.default_rng(0)
    labels = draw.choice(3, p=[0.5, 0.3, 0.2], size=records)
    ages = np.clip(np.round(draw.normal(10 + 14 * labels, 5)), 0, 49).astype(np.int64)
    return {"age": ages, "sex": (draw.uniform(size=records) < 0.2 + 0.3 * labels).astype(np.int64), "class": labels}


def fitted(learner: Learner, codes: dict[str, np.ndarray], epsilon: Any = 1, **tunables: Any) -> Any:
    records = SimulatedRecords(ArrayColumns.having(TASK.label, codes, TASK.sizes), seed=1)
    model = learner.run(records, TASK, records.grant(epsilon), **tunables)
    assert records.unspent == 0
    return model


def test_without_noise_it_is_bayes_rule() -> None:
    codes = drawn()
    scores = fitted(gaussian_bayes, codes, histograms="none", smoothing=1e-9).scores(codes)
    by_hand = np.log(np.bincount(codes["class"]))[None, :].repeat(len(scores), axis=0)
    for c in range(3):
        ages, men = codes["age"][codes["class"] == c], codes["sex"][codes["class"] == c].mean()
        by_hand[:, c] += norm.logpdf(codes["age"], ages.mean(), np.sqrt(ages.var() + 1 / 12))
        by_hand[:, c] += np.log(np.where(codes["sex"] == 1, men, 1 - men))
    expected = np.exp(by_hand) / np.exp(by_hand).sum(axis=1, keepdims=True)
    assert scores == pytest.approx(expected, abs=1e-6)


def test_the_multinomial_is_a_product_of_shares() -> None:
    codes = drawn()
    scores = fitted(multinomial_bayes, codes, histograms="none", smoothing=1e-9).scores({"age": [12], "sex": [1]})
    here = [
        (codes["class"] == c).sum()
        * (codes["age"][codes["class"] == c] == 12).mean()
        * (codes["sex"][codes["class"] == c] == 1).mean()
        for c in range(3)
    ]
    assert scores[0] == pytest.approx(np.array(here) / sum(here), abs=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
@pytest.mark.parametrize("histograms", ["Laplace", "DAWA", "Pythia", "Bayes", "Adaptive", "none", "informed"])
def test_every_kind_of_histogram_serves(model: Learner, histograms: str) -> None:
    codes = drawn()
    made = fitted(model, codes, histograms=histograms)
    assert (made.scores(codes).argmax(axis=1) == codes["class"]).mean() > 0.8
    assert ("not private" in made.describe()) == (histograms in ("none", "informed"))


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
def test_smoothing_says_nothing_where_nothing_is_known(model: Learner) -> None:
    """So much that only the classes' sizes are left."""
    codes = drawn()
    scores = fitted(model, codes, histograms="none", smoothing=9e5).scores(codes)
    assert scores == pytest.approx(np.tile(np.bincount(codes["class"]) / 6_000, (6_000, 1)), abs=0.01)


def test_missing_numbers_leave_a_gaussian_undecided() -> None:
    codes = drawn()
    model = fitted(gaussian_bayes, codes, histograms="none", smoothing=1e-9)
    unknown = {"age": np.array([TASK.sizes["age"] - 1]), "sex": np.array([0])}
    women = np.array([((codes["class"] == c) & (codes["sex"] == 0)).sum() for c in range(3)])
    assert model.scores(unknown)[0] == pytest.approx(women / women.sum(), abs=1e-6)


def test_a_release_pays_for_one_histogram_an_attribute_and_one_of_the_classes(tmp_path: Path) -> None:
    """The classes share a budget: three of them cost no more than one."""
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        records = ReleaseRecords(ArrayColumns.having(TASK.label, drawn(), TASK.sizes), purse=account.purse())
        multinomial_bayes.run(records, TASK, records.grant("3/5"), histograms="Laplace")
        charges = [event.amount for event in ledger.events("people") if event.kind == "charge"]
        assert charges == [Fraction(1, 5)] * 3
        assert account.remaining == Fraction(2, 5)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
def test_what_looks_at_the_truth_is_refused_in_a_release_before_any_charge(model: Learner, tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        records = ReleaseRecords(ArrayColumns.having(TASK.label, drawn(50), TASK.sizes), purse=account.purse())
        for histograms in ("none", "informed"):
            with pytest.raises(BadInput, match="only for simulations on public data"):
                model.run(records, TASK, records.grant("1/4"), histograms=histograms)
        with pytest.raises(BadInput, match="use one of .*Laplace"):
            model.run(records, TASK, records.grant("1/4"), histograms="Lap")
        with pytest.raises(BadInput, match="smoothing: must be a positive number"):
            model.run(records, TASK, records.grant("1/4"), smoothing=0)
        assert account.spent == 0


def test_the_estimators_pass_their_tunables_on() -> None:
    frame = np.column_stack([np.arange(400) % 50, np.array(["F", "M"] * 200, dtype=object)])
    labels = np.arange(400) % 50 // 17
    for kind in (PrivateGaussianBayes, PrivateMultinomialBayes):
        model = kind(epsilon=2, schema=COLUMNS, random_state=0, histograms="DAWA").fit(frame, labels)
        assert "DAWA" in model.explain()
        assert learn.get(kind.learner).tunables["histograms"] == kind().histograms
        assert learn.get(kind.learner).tunables["smoothing"] == kind().smoothing


def test_results_follow_the_versions_of_the_algorithms_that_make_the_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ("none", "informed", "Laplace", "DAWA", "Pythia")
    before = {how: multinomial_bayes.stamp({"histograms": how}) for how in ways}
    dawa = algorithms.get("DAWA")
    monkeypatch.setitem(algorithm_registry._registry, "DAWA", replace(dawa, version=dawa.version + 1))
    changed = {how for how in ways if multinomial_bayes.stamp({"histograms": how}) != before[how]}
    assert changed == {"informed", "DAWA", "Pythia"}  # informed decision and Pythia may pick it
