"""The baselines: perfect choice is for public data, and what is private pays."""

from __future__ import annotations

import numpy as np
import pytest

import jostle
from jostle import workloads
from jostle.choice.baselines import informed_decision, private_informed_decision
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.source import ReleaseSource, SimulatedSource

FLAT, ROUGH = np.full(128, 4), np.where(np.arange(128) % 8 == 0, 10_000, 0)


def test_an_informed_decision_takes_the_best_on_these_data():
    options = ["Laplace", "Uniform"]
    for x, best in ((FLAT, "Uniform"), (ROUGH, "Laplace")):
        assert informed_decision(SimulatedSource(x, seed=0), x, workloads.identity(128), 0.1, options) == best
    with pytest.raises(BadInput, match="options"):
        informed_decision(SimulatedSource(FLAT, seed=0), FLAT, workloads.identity(128), 0.1, [])


def test_an_informed_decision_is_refused_on_private_data(tmp_path):
    with jostle.Ledger(tmp_path / "ledger.db") as ledger:
        account = ledger.account("d", cap=1)
        source = ReleaseSource(FLAT, purse=account.purse())
        with pytest.raises(PlanError, match="only for simulations on public data"):
            informed_decision(source, FLAT, workloads.identity(128), 0.1, ["Laplace"])
        assert account.spent == 0


@pytest.mark.parametrize(("x", "even"), [(FLAT, True), (ROUGH, False)])
def test_a_private_decision_takes_what_fits_and_spends_all(x, even):
    source = SimulatedSource(x, seed=1)
    estimate = private_informed_decision(source, workloads.identity(128), source.grant(0.1))
    assert source.unspent == 0
    assert (np.ptp(estimate) == 0) == even


def test_a_private_decision_is_refused_where_no_bound_is_known():
    source = SimulatedSource(FLAT, seed=1)
    with pytest.raises(BadInput, match="workload"):
        private_informed_decision(source, workloads.prefix(128), source.grant(1))
    with pytest.raises(BadInput, match="share"):
        private_informed_decision(source, workloads.identity(128), source.grant(1), share=1)
