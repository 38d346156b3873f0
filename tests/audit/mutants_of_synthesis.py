"""Planted privacy bugs in synthetic tables: what is chosen, measured and put together without being paid for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from jostle.kernel import records
from jostle.kernel.neighbours import Neighbours
from jostle.learn.regression import regress, steps
from jostle.synthetic import synthesizer
from tests.audit import test_replay
from tests.audit.planted import ADD, REPLACE, Mutant, audited, stated, tested, wrapped
from tests.kernel import test_gaps
from tests.synthetic import test_synthesizer


def without_noise(original: Any, self: Any, offered: Any, token: Any) -> int:
    """The worst histogram, whatever the token pays for."""
    original(self, offered, token)
    return int(np.argmax([gap.score(self._Records__columns.counts(gap.names)) for gap in offered]))


def seen_before_the_charge(original: Any, records: Any, grid: Any, token: Any) -> Any:
    """The label's middle is read from the records."""
    _, half, total = original(records, grid, token)
    counts = records._Records__columns.counts([steps.TARGET])
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)), half, total


def grouped_by_true_counts(original: Any, self: Any, source: Any, columns: Any, singles: Any, *more: Any) -> None:
    """The domain is compressed by what the records hold."""
    counts = {name: source._Records__columns.counts([name]).astype(float) for name in columns}
    before = synthesizer.denoised
    synthesizer.denoised = lambda single: counts[list(columns)[single.axes[0]]]
    try:
        original(self, source, columns, singles, *more)
    finally:
        synthesizer.denoised = before


def by_the_true_number(original: Any, self: Any) -> float:
    """The strategy is chosen by how many records there are."""
    return float(self._records._Records__columns.rows)


def scaled_by_the_largest(original: Any, records: Any, task: Any, budget: Any, **how: Any) -> Any:
    """Labels are measured in parts of the largest one there is, not of the largest that the schema allows."""
    present = np.flatnonzero(records._Records__columns.counts([task.label]))
    known = copy.copy(task)
    known.__dict__["targets"] = np.minimum(task.targets * 2, task.targets[present].max(initial=0))
    return original(records, known, budget, **how)


OF_SYNTHESIS = [
    Mutant(
        "regression: a Poisson model's labels are scaled by the largest there is",
        wrapped(regress, "generalized", scaled_by_the_largest),
        tested(test_replay.test_neighbours_are_not_told_apart, "learner: regression, Poisson"),
    ),
    Mutant(
        "regression: a step begins at the true median",
        wrapped(steps, "_first_look", seen_before_the_charge),
        tested(test_replay.test_neighbours_are_not_told_apart, "learner: regression, additive"),
    ),
    Mutant(
        "synthetic tables: a histogram is chosen without noise",
        wrapped(records.Records, "choose_marginal", without_noise),
        audited("records: choose_marginal", ADD, samples=4_000),
    ),
    Mutant(
        "synthetic tables: the score of a histogram is taken to move in one direction",
        wrapped(records, "gap_sensitivities", lambda f, offered: tuple(move // 2 for move in f(offered))),
        audited("records: choose_marginal", REPLACE, samples=20_000),
    ),
    Mutant(
        "synthetic tables: only the heaviest histogram's weight counts",
        wrapped(records, "gap_sensitivities", lambda f, offered: f(sorted(offered, key=lambda one: -one.weight)[:1])),
        tested(test_gaps.test_noise_is_weights_times_neighbours_over_epsilon, Neighbours()),
    ),
    Mutant(
        "synthetic tables: a replaced record is taken for an added one",
        wrapped(records, "gap_sensitivities", lambda f, offered: (f(offered)[0],) * 2),
        tested(test_gaps.test_noise_is_weights_times_neighbours_over_epsilon, Neighbours("replace")),
    ),
    Mutant(
        "synthetic tables: cells are put together by true counts",
        wrapped(synthesizer._Rounds, "__init__", grouped_by_true_counts),
        tested(test_synthesizer.test_cells_are_put_together_by_noisy_counts_only),
    ),
    Mutant(
        "synthetic tables: the strategy is chosen by the true number of records",
        wrapped(synthesizer._Singles, "look", by_the_true_number),
        tested(test_synthesizer.test_what_is_looked_at_first_is_what_every_strategy_pays_for_and_the_choice_follows_from_it),
    ),
    Mutant(
        "synthetic tables: the number of records is read past the purse",
        stated(records.Records, "total", lambda self: self._Records__columns.rows),
        tested(
            test_synthesizer.test_the_number_of_records_is_taken_where_it_is_public_and_estimated_from_measurements_elsewhere
        ),
    ),
]
