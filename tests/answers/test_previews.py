"""Previews: exact where the error is the same on all data, and otherwise what public data of that size suggest."""

import numpy as np
import pytest

from jostle import BadInput, algorithms, workloads
from jostle.answers.previews import Preview, preview
from jostle.kernel.neighbours import Neighbours
from jostle.simulate import estimates
from jostle.simulate.margins import within_95

ROWS = Neighbours("add_remove")


def shown(name: str, workload: workloads.Workload, epsilon: float = 0.1, rows: int | None = None) -> Preview:
    return preview(algorithms.get(name), workload, epsilon, ROWS, {}, rows)


def test_rows_make_no_difference_where_the_error_is_the_same_on_all_data() -> None:
    assert shown("HB", workloads.prefix(64), rows=10**6) == shown("HB", workloads.prefix(64))


def test_with_rows_an_algorithm_is_previewed_by_itself_and_the_assumption_is_said() -> None:
    cells = workloads.identity(256)
    without, few, many = (shown("Bayes", cells, rows=rows) for rows in (None, 1_000, 10**7))
    assert (without.stand_in, few.stand_in) == ("Laplace", "Bayes")
    assert few.margin < many.margin <= 1.5 * without.margin
    assert str(few).endswith("(95 % confidence), if there are 1,000 rows, and data like public ones. Algorithm: Bayes.")
    assert shown("Pythia", cells, rows=1_000).margin == few.margin  # which runs Bayes


def test_what_needs_nothing_but_the_rows_is_exact() -> None:
    found = shown("Uniform", workloads.prefix(64), rows=5_000)
    estimate = next(estimates("Uniform", np.full(64, 5_000 // 64), workloads.prefix(64), 0.1, trials=1, seed=0))[0]
    released = within_95(algorithms.get("Uniform"), estimate, workloads.prefix(64), 0.1, ROWS, {})  # type: ignore[arg-type]
    assert found.margin == pytest.approx(float(np.median(released)), rel=0.05)
    assert shown("Uniform", workloads.identity(64), epsilon=50.0, rows=5_000).margin > 0


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "many"])
def test_odd_numbers_of_rows_are_refused(rows: object) -> None:
    with pytest.raises(BadInput, match="rows: must be a whole number"):
        shown("DAWA", workloads.identity(8), rows=rows)  # type: ignore[arg-type]
