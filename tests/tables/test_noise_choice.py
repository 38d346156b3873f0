"""In an (ε, δ) account, marginals are paid for with the noise that has less error, and a batch decides for itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.measures import largest_rho
from jostle.tables.noise_choice import AS_PRICED, least_error

COLUMNS = "abcdefghij"
FRAME = pd.DataFrame(dict(zip(COLUMNS, np.random.default_rng(0).integers(0, 4, (10, 300)), strict=True)))
PAIRS = list(combinations(COLUMNS, 2))


@pytest.fixture
def table(tmp_path):
    schema = {name: jostle.Integer(0, 3) for name in COLUMNS}
    return jostle.open(FRAME, schema=schema, ledger=tmp_path / "b.db", budget=jostle.Approximate(2, 1e-6), name="people")


def test_many_marginals_have_gaussian_noise_and_few_have_laplace_noise(table):
    many, few = table.ask_marginals(*PAIRS), table.ask_marginals(("a",), ("b",))
    assert (many.preview(epsilon=1).measure, few.preview(epsilon=1).measure) == (CONCENTRATED, PURE)
    found = many.release(epsilon=1)
    assert found.measure == CONCENTRATED
    assert found.spent <= largest_rho(1, "1/2000000")
    assert many.preview(epsilon=1).margin == pytest.approx(np.median([found[pair].margins[0] for pair in PAIRS]))
    laplace = 1.96 * np.sqrt(2) * len(PAIRS)  # of a cell, apart from what agreement gains
    assert found["a", "b"].margins[0] < 0.5 * laplace
    assert found.refined().measure == CONCENTRATED
    assert few.release(epsilon="1/100").measure == PURE


def test_the_choice_is_the_least_error_of_those_that_can_be_paid(table):
    errors = {PURE: 2.0, CONCENTRATED: 1.0}

    def expected(price: Price) -> float:
        return errors[price.measure]

    assert least_error(table, Price.of(1), expected).measure == CONCENTRATED
    errors[CONCENTRATED] = 3.0
    assert least_error(table, Price.of(1), expected).measure == PURE
    errors[CONCENTRATED] = 1.0
    assert least_error(table, None, expected) is None
    assert least_error(table, Price.of(None, "1/100"), expected) == Price.of(None, "1/100")
    token = AS_PRICED.set(True)
    assert least_error(table, Price.of(1), expected).measure == PURE
    AS_PRICED.reset(token)
    table.count(epsilon=2)  # then nothing is left: what was asked for is what is refused
    assert least_error(table, Price.of("1/100"), expected) == Price.of("1/100")


def test_a_pure_account_pays_pure(tmp_path):
    schema = {name: jostle.Integer(0, 3) for name in COLUMNS}
    table = jostle.open(FRAME, schema=schema, ledger=tmp_path / "b.db", budget=2, name="people")
    assert table.ask_marginals(*PAIRS).preview(epsilon=1).measure == PURE
