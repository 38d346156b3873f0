"""Planted bugs in the memory: numbers that are taken for those of other rows, or paid for twice, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jostle.tables.memory import buying, counts, memory, several, states, totals, widened
from jostle.tables.memory.frames import Frame
from jostle.tables.memory.memory import Memory
from jostle.tables.memory.store import MemoryStore
from tests.audit.planted import FOLDER, PATCH, Mutant, attribute, wrapped
from tests.audit.planted import tested as noticed_by
from tests.tables.memory import test_counts, test_several, test_states, test_totals

NOT_BETWEEN = "NOT (n BETWEEN 2 AND 5)"


def without(name: str) -> Any:
    """Rows are told apart by everything except one thing."""

    def planted(original: Any, *parts: Any) -> str:
        if parts[0] != "rows":
            return str(original(*parts))
        place = ["rows", "source", "version", "unit", "relation", "rows per person"].index(name)
        return str(original(*parts[:place], "", *parts[place + 1 :]))

    return wrapped(memory, "digest", planted)


def keeps_every_state(original: Any, node: Any, columns: Any) -> Any:
    root, kept = original(node, columns)
    return root, np.ones_like(kept)


def nulls_are_true(original: Any, one: Any, truth: bool) -> Any:
    return original(replace(one, null=np.zeros_like(one.null)), truth)


def other_bins(original: Any, column: Any) -> Any:
    """Bounds are taken for a matter of cells."""
    return {key: value for key, value in original(column).items() if key not in ("low", "high")}


def by_its_kind(original: Any, node: Any, columns: Any) -> str:
    return type(node).__name__


def all_are_measurements(original: Any, question: Any, place: Any, source: Any, seen: Any, price: Any) -> Any:
    return buying.planned(question, place, price)


def any_draw(original: Any, frame: Any, measured: Any, queries: Any = None, *, drawn: bool = False) -> Any:
    return original(frame, measured, queries, drawn=False)


def sums_are_counts(original: Any, question: Any, total: Any, known: Any) -> Any:
    return [(replace(column, cells=np.abs(column.cells)), size) for column, size in original(question, total, known)]


def persons_are_read_alike(original: Any, *parts: Any) -> str:
    """How persons are read is left out of what tells rows apart."""
    whose = parts[3] if parts[0] == "rows" else None
    return str(original(*parts) if whose is None else original(*parts[:3], whose[:-1], *parts[4:]))


def all_rows_are_complete(original: Any, view: Any) -> Any:
    return original(replace(view, steps=()))


def whatever_the_shares(original: Any, *parts: Any) -> str:
    return str(original(*parts[:-1]) if parts[0] == "marginals" else original(*parts))


OF_MEMORY = [
    Mutant(
        "memory: a version is taken for another",
        without("version"),
        noticed_by(test_counts.test_other_data_versions_units_and_neighbours_share_nothing, FOLDER),
    ),
    Mutant(
        "memory: numbers of another file are used",
        without("source"),
        noticed_by(test_counts.test_other_data_versions_units_and_neighbours_share_nothing, FOLDER),
    ),
    Mutant(
        "memory: conditions are forgotten",
        wrapped(states, "condition_states", keeps_every_state),
        noticed_by(test_counts.test_other_conditions_and_other_columns_share_nothing_that_does_not_follow, FOLDER),
    ),
    Mutant(
        "memory: a condition on a null is taken for true or false",
        wrapped(states, "_is", nulls_are_true),
        noticed_by(
            test_states.test_a_condition_keeps_the_states_that_an_engine_keeps, "n", "NOT (n BETWEEN 2 AND 5)", FOLDER
        ),
    ),
    Mutant(
        "memory: a column with other bounds is taken for the same",
        wrapped(states, "_reading", other_bins),
        noticed_by(test_states.test_other_bins_are_other_cells_of_the_same_states),
    ),
    Mutant(
        "memory: an expression is taken for another of its kind",
        wrapped(states, "exact_text", by_its_kind),
        noticed_by(test_states.test_what_is_not_worked_out_is_told_apart_by_its_expression, FOLDER),
    ),
    Mutant(
        "memory: rows that were left out are taken for none",
        attribute(Frame, "keeps_all", lambda self, root: True),
        noticed_by(test_counts.test_other_conditions_and_other_columns_share_nothing_that_does_not_follow, FOLDER),
    ),
    Mutant(
        "memory: an answer that adapted to the data is taken for a measurement",
        wrapped(counts, "_unbiased", all_are_measurements),
        noticed_by(test_counts.test_adaptive_answers_are_kept_as_such_only, FOLDER),
    ),
    Mutant(
        "memory: different draws of persons' rows are put together",
        wrapped(counts, "together", any_draw),
        noticed_by(test_counts.test_of_persons_only_one_draw_of_the_same_rows_is_used, FOLDER),
    ),
    Mutant(
        "memory: persons' rows are drawn from more than were asked about",
        attribute(widened, "known_unit", lambda view: None),
        noticed_by(test_counts.test_of_persons_only_one_draw_of_the_same_rows_is_used, FOLDER),
    ),
    Mutant(
        "memory: a sum is taken for a count of rows",
        wrapped(totals, "_numbers_of", sums_are_counts),
        noticed_by(test_totals.test_no_count_follows_from_a_sum, FOLDER),
    ),
    Mutant(
        "memory: what was changed is believed",
        attribute(MemoryStore, "checked", False),
        noticed_by(test_counts.test_something_that_was_changed_is_ignored, FOLDER),
    ),
    Mutant(
        "memory: a cheaper answer is taken for a dearer one",
        wrapped(Memory, "answer", lambda original, self, topic, least: original(self, topic, 0)),
        noticed_by(test_counts.test_only_missing_precision_is_bought, FOLDER),
    ),
    Mutant(
        "memory: a fault after the charge leads to a second charge",
        wrapped(counts, "_completed", lambda original, question, purchase: (original(question, purchase), None)[1]),
        noticed_by(test_counts.test_a_fault_after_a_purchase_loses_nothing_and_charges_nothing_more, FOLDER, PATCH),
    ),
    Mutant(
        "memory: more cells are measured with the noise of fewer",
        attribute(buying, "same_noise", lambda one, other: True),
        noticed_by(test_counts.test_no_more_cells_are_measured_where_they_have_more_noise, FOLDER),
    ),
    Mutant(
        "memory: other texts for nobody are taken for the same",
        wrapped(memory, "digest", persons_are_read_alike),
        noticed_by(test_counts.test_other_texts_for_nobody_are_other_rows, FOLDER),
    ),
    Mutant(
        "memory: rows that lack a cell are taken for rows of marginals",
        wrapped(several, "known_rows", all_rows_are_complete),
        noticed_by(test_several.test_rows_without_a_cell_in_one_of_the_columns_are_not_in_any_of_them, FOLDER),
    ),
    Mutant(
        "memory: marginals with other shares are taken for the same",
        wrapped(several, "digest", whatever_the_shares),
        noticed_by(test_several.test_the_same_histograms_cost_nothing_and_are_the_same, {"epsilon": 1}, FOLDER),
    ),
]
"""The bugs."""
