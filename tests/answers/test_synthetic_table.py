"""What a synthetic table tells about itself: histograms with intervals, groups, a report and a picture."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle.answers.synthetic_table import SyntheticTable
from jostle.kernel.budget import CONCENTRATED, PURE
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.schema.rows import Rows
from jostle.synthetic.domain import plain_values
from jostle.synthetic.synthesizer import synthesize
from tests.synthetic.test_synthesizer import SCHEMA, made_up, records


def made(seed: int, rows: int = 4000, **price: object) -> SyntheticTable:
    source, rng = records(rows, seed=seed), np.random.default_rng(seed)
    found = synthesize(source, SCHEMA, source.grant(**price))
    cells = found.draw(50, rng)
    return SyntheticTable(
        synthesis=found,
        records=Rows({name: plain_values(SCHEMA[name], codes, rng).tolist() for name, codes in cells.items()}),
        spent=Fraction(1),
        remaining=Fraction(1),
        neighbours=Neighbours(),
        measure=CONCENTRATED if "rho" in price else PURE,
    )


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/50"}], ids=str)
def test_intervals_of_measured_histograms_hold_the_true_counts(price) -> None:
    """240 and more counts at 95 %, seeded: fewer than 88 % would happen by chance with a probability below 1e-6."""
    truth, inside = made_up(4000), []
    for seed in range(12):
        table = made(seed, **price)
        for names in (("age",), ("rich", "age"), ("town", "rich")):
            found = table.marginal(*names)
            if found.basis != "measured":
                continue
            coarse = [table.synthesis.coarse[name] for name in names]
            counts = np.zeros([one.size for one in coarse])
            np.add.at(counts, tuple(one.groups[truth[name]] for one, name in zip(coarse, names, strict=True)), 1)
            inside += ((found.low <= counts.reshape(-1)) & (counts.reshape(-1) <= found.high)).tolist()
    assert len(inside) >= 240
    assert np.mean(inside) > 0.88


def test_the_basis_of_intervals_is_told_apart() -> None:
    table = made(0, rho="1/50")
    measured = {frozenset(step.names) for step in table.synthesis.steps}
    for names in (("age",), ("age", "rich"), ("sex", "town"), ("age", "sex", "town")):
        found = table.marginal(*names)
        is_part = any(set(names) <= one for one in measured)
        assert (found.basis == "measured") == is_part
        assert (found.off is not None) == (found.basis == "bounded")
        assert (found.low <= found.high).all()
        assert found.rows().columns.keys() == {*names, "count", "low", "high"}
        assert found.counts.sum() == pytest.approx(table.synthesis.total)
    assert np.allclose(
        table.marginal("rich", "age").counts.reshape(2, -1), table.marginal("age", "rich").counts.reshape(-1, 2).T
    )


@pytest.mark.parametrize("columns", [(), ("height",), ("age", "age")])
def test_unknown_columns_are_refused(columns) -> None:
    with pytest.raises(BadInput, match="columns"):
        made(0, 100, epsilon=1).marginal(*columns)
    with pytest.raises(BadInput, match="column"):
        made(0, 100, epsilon=1).groups("height")


def test_the_report_says_what_was_paid_for_what() -> None:
    table = made(0, rho="1/50")
    text = table.report()
    for step in table.synthesis.steps:
        assert ", ".join(step.names) in text
    assert "ρ = " in text
    assert "50 synthetic records with 4 columns" in str(table)
    assert "may be off" in table.plot().layout.title.text
    assert len(table) == 50
    assert table.groups("sex") == ["F", "M"]
    assert len(table.to_pandas()) == 50
