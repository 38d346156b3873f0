"""Leave-one-data-set-out: what choosing costs on data that were not seen."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle_bench.pythia.evaluation import leave_one_out
from tests.choice.tables import MadeUp, made_up


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    return made_up("range-1d", tmp_path_factory.mktemp("shapes"))


def test_a_free_choice_costs_what_its_option_costs(line):
    errors = np.tile([1.0, 2.0, 3.0], (len(line.inputs), 1))
    table = MadeUp(line.inputs, line.options, errors)
    found = leave_one_out(table, draws=2)
    assert found.rows.tolist() == list(range(len(line.inputs)))
    assert (found.errors == 1).all()
    assert (found.spent == 0).all()
    assert {name for draw in found.choices for name in draw} == {"Laplace"}
    assert found.regrets(table, ["HB", "Uniform"]) == pytest.approx(0.5)


def test_what_is_paid_for_features_makes_errors_larger(line):
    found = leave_one_out(line, draws=3, rho=0.1, least=4)
    assert set(np.round(found.spent.reshape(-1), 9)) == {0.1}
    for draw, choices in enumerate(found.choices):
        for at, name in enumerate(choices):
            plain = line.errors[found.rows[at], line.options.index(name)]
            assert found.errors[draw, at] == pytest.approx(plain / 0.9)


def test_the_data_set_that_is_judged_has_no_part_in_training(line):
    """HB is best on FLAT alone: nobody who has not seen FLAT chooses it there, and those who have choose it elsewhere."""
    errors = np.array([[2.0, 0.1 if cell.dataset == "FLAT" else 4.0, 9.0] for cell in line.inputs])
    found = leave_one_out(MadeUp(line.inputs, line.options, errors), draws=1, guard=0.0)
    chosen = {line.inputs[row].dataset: name for row, name in zip(found.rows, found.choices[0], strict=True)}
    assert chosen == {"FLAT": "Laplace", "STEPS": "HB", "SPIKES": "HB"}


def test_inputs_that_are_not_measured_are_not_judged(line):
    errors = line.errors.copy()
    errors[7, 2] = np.nan
    found = leave_one_out(MadeUp(line.inputs, line.options, errors), draws=1)
    assert 7 not in found.rows.tolist()
    assert len(found.rows) == len(line.inputs) - 1


def test_one_data_set_is_not_enough(line):
    flat = [cell.dataset == "FLAT" for cell in line.inputs]
    alone = MadeUp([cell for cell, there in zip(line.inputs, flat, strict=True) if there], line.options, line.errors[flat])
    with pytest.raises(BadInput, match="several data sets"):
        leave_one_out(alone)
