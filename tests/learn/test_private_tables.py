"""Classifiers that are fitted on a private table: the same records as from a frame, charged to the table's account."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.records import ArrayColumns
from jostle.learn import PrivateGaussianBayes, PrivateMajority, PrivateMultinomialBayes
from jostle.learn.task import Task
from jostle.schema import Category, Integer, Real, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table

SCHEMA = Schema(
    {
        "age": Integer(0, 99, bins=10, outside="drop"),
        "city": Category(["a", "b"], outside="drop", null="drop"),
        "income": Real(0, 100, bins=5, null="own"),
        "class": Category(["no", "yes"]),
    }
)
RNG = np.random.default_rng(0)
N = 1000
FRAME = pd.DataFrame(
    {
        "age": pd.Series(np.where(RNG.uniform(size=N) < 0.1, None, RNG.integers(0, 120, N)), dtype=object),
        "city": RNG.choice(["a", "b", "x", None], N),
        "income": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.gamma(2, 20, N)),
    }
)
FRAME["class"] = np.where(RNG.uniform(size=N) < 0.1, "?", np.where(FRAME["income"] > 40, "yes", "no"))
TASK = Task(("age", "city", "income"), "class", SCHEMA)


@pytest.fixture
def table(tmp_path):
    return open_table(FRAME, schema=SCHEMA, ledger=tmp_path / "l.db", budget=10**5, name="people")


def test_the_records_are_those_of_the_frame(table):
    codes = {name: TASK.encode(name, FRAME[name].to_numpy()) for name in TASK.attributes}
    codes["class"] = TASK.encode_label(FRAME["class"].to_numpy())
    counted = codes["class"] >= 0
    memory = ArrayColumns({name: column[counted] for name, column in codes.items()}, TASK.sizes)
    engine = EngineColumns.labelled(table._views, TASK.sizes, "class").complete()
    names = (*TASK.attributes, "class")
    assert engine.counts(names).tolist() == memory.counts(names).tolist()
    assert engine.in_memory().counts(names).tolist() == memory.counts(names).tolist()


def test_a_fit_is_charged_to_the_table_and_predicts(table):
    model = PrivateMultinomialBayes(epsilon=10**4).fit(table)
    assert table.remaining == 10**5 - 10**4
    assert (model.spent_, model.simulated_, list(model.feature_names_in_)) == (10**4, False, list(TASK.attributes))
    labelled = FRAME[FRAME["class"] != "?"]
    assert (model.predict(labelled[list(TASK.attributes)]) == labelled["class"]).mean() > 0.8
    part = table.partition("city", epsilon=2)["a"]
    PrivateMajority(epsilon=1).fit(part)
    assert part.remaining == 1


@pytest.mark.parametrize(
    "model",
    [
        PrivateMajority(epsilon=1, schema=SCHEMA),
        PrivateMajority(epsilon=1, random_state=0),
        PrivateMajority(epsilon=1, label="age"),
        PrivateMajority(epsilon=10**6),
    ],
)
def test_what_is_refused_charges_nothing(table, model):
    with pytest.raises((BadInput, Overdraft)):
        model.fit(table)
    assert table.remaining == 10**5


@pytest.mark.parametrize("bayes", [PrivateGaussianBayes, PrivateMultinomialBayes])
@pytest.mark.parametrize("histograms", ["none", "informed"])
def test_what_is_for_simulations_alone_costs_a_part_nothing(table, bayes, histograms):
    part = table.partition("city", epsilon=2)["a"]
    with pytest.raises(BadInput, match="looks at the true counts"):
        bayes(epsilon=1, histograms=histograms).fit(part)
    assert part.remaining == 2
