"""Alternatives to learned choices: what they cost, what they promise, and that they can be compared."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle import workloads
from jostle.choice.alternatives import ByLargeMargin, ByValidation, LearnedChoice, PrivateCandidates, Single, compare
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.metafeatures import metafeature
from jostle.choice.options import as_options, option
from jostle.choice.public_databases import Public, root_mean_square
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import ReleaseSource, SimulatedSource
from jostle.kernel.strategies import identity
from tests.kernel.helpers import recorded


@option
def low(db: Any, query: Any, budget: Any) -> int:
    """Guesses that records are in the lower half, and spends a little to look busy."""
    db.measure(identity(db.shape), budget)
    return 0


@option
def high(db: Any, query: Any, budget: Any) -> int:
    db.measure(identity(db.shape), budget)
    return 1


def fits(answer: int, db: Any, query: Any) -> Any:
    """A record adds 1 to the score of the answer whose half it is in."""
    return (np.arange(db.size) >= db.size // 2) == bool(answer)


def test_validation_takes_the_answer_that_fits_and_is_calibrated_to_one_record() -> None:
    source, recorder = recorded([1, 2, 30, 40])
    choosing = ByValidation([low, high], fits, share="1/5")
    assert choosing(source, None, source.grant(1)) == 1
    kinds = [(kind, scale) for kind, scale, _ in recorder.asked]
    each = Fraction(2, 5)
    assert kinds == [("discrete_laplace", 1 / each), ("discrete_laplace", 1 / each), ("noisy_max", Fraction(5))]
    assert source.unspent == 0


def test_validation_is_charged_to_a_ledger_and_works_on_records(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    source = ReleaseSource([1, 2, 300, 400], purse=account.purse())
    assert ByValidation([low, high], fits)(source, None, source.grant("1/2")) == 1
    assert account.remaining == Fraction(1, 2)

    @option
    def never(db: Any, query: Any, budget: Any) -> int:
        return 0

    @option
    def always(db: Any, query: Any, budget: Any) -> int:
        return 1

    codes = {"a": np.arange(90) % 3, "class": np.ones(90, dtype=int)}
    records = SimulatedRecords(ArrayColumns(codes, {"a": 3, "class": 2}), seed=0)
    right = ByValidation([never, always], lambda answer, db, query: np.arange(2) == answer, on=["class"])
    assert right(records, None, records.grant(1)) == 1
    with pytest.raises(BadInput, match="on: must name attributes of records"):
        right(source, None, source.grant("1/4"))


def stumbles(answer: int, db: Any, query: Any) -> Any:
    """On the first answer alone."""
    return fits(answer, db, query) if answer else [1 / answer]


SLIPS = {
    "rounding": lambda answer, db, query: fits(answer, db, query) * 1.0000000000000002,
    "too much, too little, and no number": lambda answer, db, query: np.where(
        fits(answer, db, query), 7.0, [np.nan, -3, 0, 0]
    ),
    "too few": lambda answer, db, query: fits(answer, db, query) if answer else [1.0],
    "an exception": stumbles,
}


@pytest.mark.parametrize("weights", SLIPS.values(), ids=SLIPS)
def test_a_slip_of_weights_loses_no_answer_that_was_paid_for(weights: Any) -> None:
    source, recorder = recorded([1, 2, 30, 40])
    assert ByValidation([low, high], weights, share="1/5")(source, None, source.grant(1)) == 1
    assert recorder.asked[-1][:2] == ("noisy_max", Fraction(5))  # one record moves a score by 1, whatever was said
    assert source.unspent == 0


def test_weights_too_small_to_be_told_apart_count_as_0() -> None:
    source = SimulatedSource([1, 2], seed=0)
    assert ByValidation([low], lambda answer, db, query: [5e-324, 0])(source, None, source.grant(1)) == 0


def test_weights_that_never_are_one_a_cell_are_refused() -> None:
    source = SimulatedSource([1, 2], seed=0)
    with pytest.raises(BadInput, match="weights: must be 2 numbers from 0 to 1"):
        ByValidation([low], lambda answer, db, query: [1.0])(source, None, source.grant(1))


def test_candidates_reach_the_threshold_or_give_up() -> None:
    one = Public(data=[0, 0, 500, 500])
    trying = PrivateCandidates([low, high], fits, threshold=800, otherwise=lambda db, query: -1, stop=0.01)
    runs = [trying.run(one, np.random.SeedSequence(seed), Neighbours()) for seed in range(40)]
    taken = [ran.answer for ran in runs]
    # A round gives up with probability 0.01 and succeeds with 0.495: 1 in 50 runs gives up, and 12 of 40 nearly never do.
    assert taken.count(1) > 28
    assert 0 not in taken
    assert {ran.epsilon for ran in runs} == {1}
    with pytest.raises(BadInput, match="stop: must lie between 0 and 1"):
        PrivateCandidates([low], fits, threshold=1, otherwise=lambda db, query: 0, stop=0)


def test_alternatives_are_compared_on_public_databases() -> None:
    size = metafeature("select sum(values) from db", name="size")
    names = ["Laplace", "Uniform"]
    public = [
        Public(data=x, query=workloads.identity(16), name=f"{i}")
        for i, x in enumerate([[0] * 16, [2] * 16, [0] * 15 + [900], [0] * 14 + [400, 2000]])
    ]
    maker = ChoiceMaker(options=names, informed_by=[size], trained_on=public)

    def near(answer: Any, db: Any, query: Any) -> Any:
        """A record scores where its cell is believed to hold more than most."""
        return np.asarray(answer) >= np.median(answer) + 20

    def error(name: str, data: Any, query: Any) -> float:
        return -float(np.std(data)) if name == "Uniform" else -1.4

    rules = [
        LearnedChoice(maker),
        *(Single(one) for one in as_options(names)),
        ByValidation(names, near),
        PrivateCandidates(names, near, threshold=100, otherwise=lambda db, query: np.zeros(16)),
        ByLargeMargin(names, error, sensitivity=1),
    ]
    table = compare(rules, public, root_mean_square, trials=3)
    assert list(table.columns) == [
        "database",
        "learned",
        "Laplace",
        "Uniform",
        "validation",
        "candidates",
        "large margin",
    ]
    assert np.isfinite(table.iloc[:, 1:].to_numpy()).all()
    means = table.iloc[:, 1:].mean()
    assert means["learned"] < min(means["Laplace"] * 1.2, means["Uniform"])
