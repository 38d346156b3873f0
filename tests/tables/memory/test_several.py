"""Histograms over several sets of columns, and batches, are paid for once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import Category, Concentrated, Unit
from jostle.tables.memory import overview, several
from jostle.tables.memory.store import MemoryFault
from tests.tables.memory.test_counts import SCHEMA, opened, spent

SETS = (("age", "sex"), ("sex", "ward"))


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}])
def test_the_same_histograms_cost_nothing_and_are_the_same(price, tmp_path):
    table = opened(tmp_path, budget=Concentrated(10) if "rho" in price else 10**6)
    first, again = (table.ask_marginals(*SETS).release(**price) for _ in range(2))
    assert (first.spent, again.spent) == (1, 0)
    for axes in SETS:
        np.testing.assert_array_equal(first[axes].answers, again[axes].answers)
        np.testing.assert_array_equal(first[axes].margins, again[axes].margins)
    assert "It costs nothing again" in again.explain()
    assert table.ask_marginals(*SETS).release(**price, fresh=True).spent == 1
    assert table.ask_marginals(*SETS, least="largest").release(**price).spent == 1, "other shares are another question"
    assert table.ask_marginals(*reversed(SETS)).release(**price).spent == 1


def test_a_histogram_follows_from_what_was_measured_for_several(tmp_path):
    table = opened(tmp_path)
    table.marginals(*SETS, epsilon=2)
    shares = table.ask_marginals(*SETS)._shares
    share = Fraction(2 * shares[1], sum(shares))
    wards = table.histogram("sex", "ward", epsilon=share)
    assert wards.spent == 0
    measured = [one for one in overview.remembered(table._budget.account.ledger, "people") if one["kind"] == "measurement"]
    assert [one["numbers"] for one in measured] == [11 * 4, 4 * 7]


def test_rows_without_a_cell_in_one_of_the_columns_are_not_in_any_of_them(tmp_path):
    """Those without a sex are not among the wards, either."""
    table = opened(tmp_path, schema=SCHEMA | {"sex": Category(["F", "M"], null="drop")})
    table.marginals("sex", "ward", epsilon=2)
    assert table.ask("ward").preview(epsilon=0.1).paid_for is None, "rows without a sex are not there"
    assert table.ask("sex").preview(epsilon=0.1).paid_for is not None
    assert (
        table.where("sex = 'F' OR sex = 'M' OR sex NOT IN ('F', 'M')").ask("ward").preview(epsilon=0.1).paid_for is not None
    )


def test_of_persons_all_are_of_one_draw(tmp_path):
    table = opened(tmp_path, unit=Unit("person", 2))
    table.marginals(*SETS, epsilon=2)
    memory = table._budget.memory
    frames = several.places_of(table.ask_marginals(*SETS))
    draws = {one.draw for frame in frames.frames.values() for one in memory.measurements(frames.rows, frame)}
    assert len(draws) == 1
    assert draws != {""}


def test_what_cannot_be_kept_is_answered_and_charged_once(tmp_path, monkeypatch):
    table = opened(tmp_path)
    monkeypatch.setattr(several, "places_of", lambda question: 1 / 0)
    with pytest.warns(MemoryFault):
        assert table.marginals(*SETS, epsilon=1).spent == 1
    assert spent(table) == 1


def test_questions_of_a_batch_are_paid_for_once(tmp_path):
    table = opened(tmp_path)
    table.histogram("ward", epsilon=1, algorithm="Laplace")
    asked = [table.ask("ward", algorithm="Laplace"), table.ask("sex", algorithm="Laplace"), table.ask_marginals(*SETS)]
    first = table.batch(*asked, epsilon=1.5)
    assert 0 < first.spent < Fraction(3, 2)
    assert table.batch(*asked, epsilon=1.5).spent == 0
    assert spent(table) == 1 + first.spent
