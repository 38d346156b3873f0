"""What a fit takes from its arguments: the label's name, arrays of categories; and what a search is warned of."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from jostle import mechanisms
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn import PrivateLogistic, PrivateMajority
from jostle.learn.estimator import SecondFitWarning
from jostle.schema import Category, Integer

COLUMNS = {"age": Integer(0, 99), "sick": Category(["no", "yes"])}
AGES = pd.DataFrame({"age": np.arange(100)})
SICK = pd.Series(np.where(np.arange(100) < 50, "no", "yes"), name="sick")


def test_the_label_is_called_as_y_is() -> None:
    model = PrivateMajority(epsilon=1, schema=COLUMNS, random_state=0).fit(AGES, SICK)
    assert model.task_.label == "sick"
    also = COLUMNS | {"class": Category(["a", "b"])}
    people = AGES.assign(**{"class": "a"})
    assert PrivateMajority(epsilon=1, schema=also, random_state=0).fit(people, SICK).task_.label == "sick"


def test_a_missing_label_is_named() -> None:
    with pytest.raises(BadInput, match="pass label='sick'"):
        PrivateMajority(epsilon=1, schema=COLUMNS, random_state=0).fit(AGES, SICK.to_numpy())


@pytest.mark.parametrize("make", [np.array, pd.array, pd.Series, pd.Categorical])
def test_categories_may_be_an_array(make) -> None:
    assert Category(make(["no", "yes"])) == Category(["no", "yes"])
    assert Category(pd.Series([3, 1, 3]).unique()).names == ["3", "1"]


def test_a_search_within_one_of_several_runs_is_told_the_same_and_spends_of_it(tmp_path: Path) -> None:
    def attempt(run: Any) -> tuple[float, Fraction]:
        model = PrivateLogistic("1/100", COLUMNS, account=run)
        with pytest.warns(SecondFitWarning, match="^One of several runs now pays for the second fit of a search"):
            GridSearchCV(model, {"bins": [4, 8]}, cv=2, error_score="raise", refit=False).fit(AGES, SICK)
        return 0.0, run.epsilon - run.remaining

    with Ledger(tmp_path / "budget.db") as ledger:
        token = ledger.account("people", cap=3).grant(2)
        assert mechanisms.best_of(attempt, budget=token, runs=1.01) == Fraction(4, 100)


def test_the_second_fit_of_a_search_says_what_a_search_spends(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        model = PrivateLogistic("1/4", COLUMNS, account=ledger.account("people", cap=3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(AGES, SICK).fit(AGES, SICK)  # whoever fits twice knows it
        with pytest.warns(
            SecondFitWarning, match=r"'people' now pays for the second fit of a search, and each one costs .*0\.25"
        ) as told:
            GridSearchCV(model, {"bins": [4, 8]}, cv=2, error_score="raise").fit(AGES, SICK)
        assert len(told) == 1
        assert float(ledger.account("people", cap=3).remaining) == pytest.approx(3 - 7 / 4)
