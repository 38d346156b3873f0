"""A choice on a private table, from a frame to an answer and the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from examples import means
from jostle.kernel.ledger import Ledger
from jostle.schema import Integer
from jostle.tables import opening


def test_a_choice_among_means_on_a_table(tmp_path: Path) -> None:
    prices = np.random.default_rng(0).integers(400, 600, 20_000)
    ledger = tmp_path / "budget.db"
    shop = pd.DataFrame({"price": prices})
    table = opening.open(shop, schema={"price": Integer(0, 1023, null="drop")}, ledger=ledger, budget=1, name="shop")
    mean = means.make(trials=2)
    records, token = table.records("price", epsilon=Fraction(1, 2))
    answer = mean(records.vector("price"), None, token)
    # ε = 0.3 on a sum with a sensitivity of 1023, and the same share on the number: an error of 10 is 60 noise scales.
    assert answer == pytest.approx(prices.mean(), abs=10)
    assert mean.trace.choice == "whole_range"
    assert Ledger(ledger).account("shop").remaining == Fraction(1, 2)
