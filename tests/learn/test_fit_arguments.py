"""What a fit takes from its arguments: the label's name, arrays of categories; and what a search is warned of."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

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
