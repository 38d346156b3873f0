"""Batches: one price, one choice of noise, exact shares, and answers that are not lost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from jostle.answers.batches import BatchStopped
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput, LedgerError, Overdraft
from jostle.kernel.measures import Approximate, Concentrated, largest_rho
from jostle.schema import Category, Integer, Schema
from jostle.tables.opening import open as open_table

SCHEMA = Schema(age=Integer(0, 99), sex=Category(["F", "M"], null="drop", outside="drop"))
FRAME = pd.DataFrame({"age": np.arange(500) % 100, "sex": ["F", "M"] * 250})
BOTH = Approximate(1, 1e-6, for_keys=0)


def opened(tmp_path, budget=BOTH, **keywords):
    return open_table(FRAME, schema=SCHEMA, ledger=tmp_path / "ledger.db", budget=budget, name="people", **keywords)


def counts(people, number):
    """So many counts, each of which a person is in."""
    return [people.where(f"age >= {0 if k % 2 else 50}").ask_count() for k in range(number)]


def test_one_hundred_and_one_equal_queries_have_the_errors_of_the_closed_forms(tmp_path):
    """Pure ε: √2·101 = 142.8. Gaussian: √(101/2ρ) = 45.5 at ρ*(1, 10⁻⁶); σ√101 would be 42.5 for one Gaussian release."""
    people = opened(tmp_path)
    batch = people.ask_batch(*counts(people, 101))
    division = batch.division(1)
    assert division.measure == "concentrated"
    assert division.total.amount <= largest_rho(1, 1e-6)
    assert float(division.total.amount) == pytest.approx(float(largest_rho(1, 1e-6)), rel=1e-6)
    sigma = math.sqrt(1 / (2 * division.prices[0].amount))
    assert sigma == pytest.approx(45.53, abs=0.01)
    assert 1 / batch._in_epsilon(Fraction(1))[0].amount * Fraction(math.sqrt(2)) == pytest.approx(142.8, abs=0.05)
    assert batch.preview(epsilon=1).margin == pytest.approx(1.959964 * sigma, rel=0.01)
    assert "Gaussian noise: for 101 questions at ε = 1" in str(batch.preview(epsilon=1))
    assert "3.4 times smaller" in division.why


def test_one_histogram_has_laplace_noise_and_says_why(tmp_path):
    people = opened(tmp_path)
    batch = people.ask_batch(people.ask("age", algorithm="Laplace"))
    assert batch.division("1/2").measure == "pure"
    assert "Gaussian noise would have errors" in batch.division("1/2").why
    alone = people.histogram("age", epsilon="1/4", algorithm="Laplace")
    assert alone.measure == "pure"
    assert "Laplace noise, because a person is in few of its cells: errors of Gaussian noise would be" in alone.explain()
    assert "Gaussian" not in opened(tmp_path / "..", 1).ask("sex").preview(epsilon=1).algorithm


def test_a_batch_is_charged_answered_and_explained(tmp_path):
    people = opened(tmp_path)
    found = people.batch(*counts(people, 20), people.ask("sex", algorithm="Laplace"), epsilon="1/2")
    assert len(found) == len(found.charges) == 21
    assert {event.measure for event in found.charges} == {"concentrated"}
    assert sum((event.amount for event in found.charges), Fraction(0)) == found.spent <= largest_rho("1/2", 1e-6)
    assert "21 questions at ρ = " in found.explain()
    assert "Gaussian noise: for 21 questions at ε = 0.5" in found.explain()
    rows = found.to_pandas()
    assert rows["question"].value_counts()["histogram of sex"] == 2
    assert len(rows) == 22
    assert found[-1].answers.shape == (2,)


def test_shares_follow_weights_and_add_up(tmp_path):
    people = opened(tmp_path)
    questions = counts(people, 3)
    pure = people.ask_batch(*questions, weights=[1, 8, 27])._in_epsilon(Fraction(1))
    assert [float(price.amount) for price in pure] == pytest.approx([1 / 6, 2 / 6, 3 / 6], rel=1e-6)
    gaussian = people.ask_batch(*questions, weights=[1, 4, 9])._in_rho(Fraction(1))
    assert [float(price.amount) for price in gaussian] == pytest.approx([1 / 6, 2 / 6, 3 / 6], rel=1e-6)
    assert sum(price.amount for price in pure) == sum(price.amount for price in gaussian) == 1


def test_questions_that_have_no_gaussian_noise_are_paid_for_in_epsilon(tmp_path):
    people = opened(tmp_path)
    questions = [*counts(people, 30), people.ask_sql("SELECT AVG(age) FROM people")]
    questions[-1].in_rho = False  # as of a question of a kind that has no Gaussian noise
    division = people.ask_batch(*questions).division(1)
    assert [price.measure for price in division.prices] == ["concentrated"] * 30 + ["pure"]
    assert division.prices[-1].amount ** 2 / 2 <= division.prices[0].amount
    assert division.total.amount <= largest_rho(1, 1e-6)
    found = people.batch(*questions, epsilon=1)
    assert people.remaining < Fraction(1, 100)
    assert found.spent == sum((event.cost.rho for event in found.charges), Fraction(0))
    assert "Charged to account 'people': ρ =" in str(found)


CAPS = {100: "pure", Concentrated(100): "concentrated", Approximate(100, 1e-6): "concentrated"}


@pytest.mark.parametrize(("cap", "measure"), CAPS.items(), ids=str)
def test_within_is_for_every_measure(tmp_path, cap, measure):
    people = opened(tmp_path, cap)
    questions = counts(people, 40)
    found = people.batch(*questions, within=20)
    assert found.measure == measure
    assert (
        people.ask_batch(*questions).division_within(20).prices[0] == questions[0].price_within(20)
        or measure == "concentrated"
    )
    for answer, question in zip(found, questions, strict=True):
        price = Price(answer.spent, answer.measure)
        assert question.preview(epsilon=price).margin <= 20
        assert question.preview(epsilon=Price(answer.spent * Fraction(8, 10), answer.measure)).margin > 20


def test_within_in_an_account_of_rho_is_paid_for_in_rho(tmp_path):
    people = opened(tmp_path, Concentrated(10))
    found = people.histogram("sex", within=10, algorithm="Laplace")
    assert found.measure == "concentrated"
    assert found.margins.max() <= 10
    assert found.spent < Fraction(1, 40)


def test_what_cannot_be_paid_is_refused_before_the_first_charge(tmp_path):
    people = opened(tmp_path, "1/2")
    with pytest.raises(Overdraft, match=r"requested ε = 1, remaining 0\.5\."):
        people.batch(*counts(people, 3), epsilon=1)
    with pytest.raises(BadInput, match="pure ε"):
        people.batch(*counts(people, 3), rho="1/10")
    assert people.remaining == Fraction(1, 2)
    other = open_table(FRAME, schema=SCHEMA, ledger=tmp_path / "ledger.db", budget=1, name="others")
    for questions, problem in (
        ([], "one or more questions"),
        (["age"], "one or more questions"),
        ([other.ask_count()], "other accounts"),
        ([people.ask_batch(people.ask_count())], "one by one"),
    ):
        with pytest.raises(BadInput, match=problem):
            people.batch(*questions, epsilon="1/10")
    for weights in ([1], [1, 0], ["x", 1]):
        with pytest.raises(BadInput, match=r"^weights: .*pass 2 numbers"):
            people.batch(*counts(people, 2), epsilon="1/10", weights=weights)
    with pytest.raises(BadInput, match="one of the three"):
        people.batch(*counts(people, 2), epsilon="1/10", within=3)
    assert people.remaining == Fraction(1, 2)


def test_parts_have_batches_of_what_they_came_with(tmp_path):
    parts = opened(tmp_path, Approximate(2, 1e-6)).partition("sex", rho="1/100")
    part = parts["F"]
    found = part.batch(part.ask_count(), part.ask("age", algorithm="Laplace"), rho="1/100")
    assert (found.spent, part.remaining) == (Fraction(1, 100), 0)
    with pytest.raises(BadInput, match="has ρ to spend"):
        parts["M"].batch(*counts(parts["M"], 2), epsilon=1)


def test_answers_that_were_paid_for_are_not_lost_when_a_later_question_fails(tmp_path, monkeypatch):
    people = opened(tmp_path, 1)
    first, second = counts(people, 2)
    monkeypatch.setattr(second, "_release", lambda price: (_ for _ in ()).throw(LedgerError("gone")))
    with pytest.raises(BatchStopped, match="after 1 answers") as stopped:
        people.batch(first, second, epsilon="1/2")
    assert stopped.value.answered[0].spent == Fraction(1, 4)
    assert people.remaining == Fraction(3, 4)
    with pytest.raises(LedgerError):
        people.batch(second, first, epsilon="1/2")
