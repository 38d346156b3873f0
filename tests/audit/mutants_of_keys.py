"""Planted privacy bugs in groups: in the selection of their names, and in what one person in several of them moves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel import budget, key_selection, records
from jostle.kernel.functions import totals
from jostle.tables import bounded_rows, columns, view
from tests.audit.mutants_of_tables import IN_DUCKDB
from tests.audit.planted import FOLDER, PATCH, Fixture, Mutant, attribute, stated, tested, wrapped
from tests.kernel import test_key_selection, test_totals
from tests.tables import test_bounded_rows, test_columns, test_distinct_texts, test_private_keys


def with_the_missing(original: Any, places: Any, keys: Any) -> Any:
    """The group of missing values is shown, whoever has it."""
    missing = [place for place, key in enumerate(keys) if "" in key]
    return original(np.unique(np.concatenate([places, np.array(missing, dtype=np.int64)])), keys)


def all_of_epsilon(original: Any, price: Any, *public: Any) -> Any:
    return original(replace(price, amount=2 * price.amount), *public)


def one_step(original: Any, price: Any, neighbours: Any, held: Any) -> Any:
    return original(price, type(neighbours)(rows=neighbours.rows), held)


def rising_twice(original: Any, share: Any) -> Any:
    """The probabilities of noise rise by e^2ε from one number to the next."""
    return original(2 * share)


def one_lower(original: Any, self: Any, people: Any, noise: Any) -> Any:
    """Numbers are shown from k on: a key of one person is shown as k by the probability of k - 1, which is more than δ."""
    end = len(self.table) // 2 - 1
    noisy = people + np.searchsorted(self.table[1:], key_selection._uniform(people.size, noise), side="right") - end
    return np.where(noisy >= end, noisy, 0)


def rooted(self: Any, cells: int, person: Any, per_cell: int) -> Fraction:
    """As if a person with r records in one cell moved it by the root of r."""
    return Fraction(self.squared_sensitivities(cells)[0] * person.rows)


def rows_for_persons(original: Any, *arguments: Any, **named: Any) -> Any:
    keys, sums = original(*arguments, **named)
    return keys, replace(sums, persons=sums.records)


FILTERED = columns.EngineColumns.filtered.fget  # type: ignore[attr-defined]
USUAL = {"only": {}, "rows_without_numbers": True, "leaves_out": False}


def known_by(self: Any, but: str) -> bool:
    """All but one of the ways in which rows are left out."""
    return bool(FILTERED(replace(self, **{but: USUAL[but]})))


REPLACED = Fixture(lambda patch, folder: test_columns.table._get_wrapped_function()(folder))

OF_KEYS = [
    Mutant(
        "keys: the group of missing values is always shown",
        wrapped(records, "_in_order", with_the_missing),
        tested(test_private_keys.test_missing_values_are_selected_like_any_group, FOLDER),
    ),
    Mutant(
        "keys: the threshold is that of another ε than was charged",
        wrapped(records, "rule_for", all_of_epsilon),
        tested(test_private_keys.test_the_probabilities_are_those_of_the_rule_that_the_price_buys, FOLDER, PATCH),
    ),
    Mutant(
        "keys: which rows of a person are kept depends on the place of its texts among all",
        attribute(bounded_rows, "_hashable", lambda table, names: [table[name] for name in names]),
        tested(
            test_distinct_texts.test_others_rows_stay_when_a_person_leaves_whose_texts_come_first,
            FOLDER,
            PATCH,
            {"max_rows": 2},
        ),
    ),
    Mutant(
        "keys: a person counts in any number of groups",
        attribute(view, "bounded_in_groups", lambda rows, *bounds: rows),
        tested(
            test_private_keys.test_a_persons_groups_are_bounded_before_anybody_counts,
            IN_DUCKDB,
            FOLDER,
            PATCH,
        ),
    ),
    Mutant(
        "keys: in the order in which an engine found them",
        attribute(records, "_in_order", lambda places, keys: places),
        tested(test_private_keys.test_selected_groups_have_an_order_of_their_own, FOLDER, PATCH),
    ),
    Mutant(
        "keys: a person counts as often as it has rows in a group",
        wrapped(columns.EngineColumns, "keyed_sums", rows_for_persons),
        tested(test_private_keys.test_a_person_with_several_rows_in_a_group_counts_once, IN_DUCKDB, FOLDER, PATCH),
    ),
    *(
        Mutant(
            f"columns: {how} leaves out rows, and they do not know it",
            stated(columns.EngineColumns, "filtered", knowing),
            tested(test_columns.test_whatever_leaves_out_rows_is_known_to_the_columns, REPLACED, named),
        )
        for how, named, knowing in (
            ("a list of groups", "listed groups", lambda self: known_by(self, but="only")),
            ("a missing number", "rows without a number", lambda self: known_by(self, but="rows_without_numbers")),
            ("a selection", "groups that are selected", lambda self: known_by(self, but="leaves_out")),
            ("a rule of a column", "missing values", lambda self: any(view.filtered for view in self.views)),
            ("a condition", "a condition", lambda self: self.leaves_out or bool(self.only)),
        )
    ),
    Mutant(
        "columns: each part of records draws a person's rows for itself",
        attribute(columns.EngineColumns, "complete", lambda self: self),
        tested(test_columns.test_parts_of_records_have_each_person_s_rows_once, FOLDER, "records"),
    ),
    Mutant(
        "keys: all groups are shown",
        attribute(key_selection.KeySelection, "select", lambda self, people, noise: np.ones(people.shape, dtype=np.bool_)),
        tested(test_private_keys.test_unselected_groups_leave_no_trace, FOLDER),
    ),
    Mutant(
        "keys: the probabilities of the noise that selects rise too fast",
        wrapped(key_selection, "_growth", rising_twice),
        tested(test_key_selection.test_noisy_numbers_are_private_by_enumeration, "11/10", 1e-5, 1),
    ),
    Mutant(
        "keys: noisy numbers are shown from one less on",
        wrapped(key_selection.KeySelection, "count", one_lower),
        tested(test_key_selection.test_noisy_numbers_follow_their_law),
    ),
    Mutant(
        "keys: their δ is not charged",
        stated(budget.Price, "cost", lambda self: budget.Cost.pure(self.amount)),
        tested(test_private_keys.test_what_is_charged_and_before_what, FOLDER, PATCH),
    ),
    Mutant(
        "keys: a replaced person only goes",
        wrapped(test_private_keys, "rule_for", one_step),
        tested(test_private_keys.test_a_replaced_person_goes_and_another_comes),
    ),
    Mutant(
        "keys: a token with a δ pays for noise",
        attribute(records, "check_token", lambda budget, **how: None),
        tested(test_private_keys.test_a_token_with_a_delta_pays_for_nothing_else),
    ),
    Mutant(
        "totals: in L2, a person moves a cell by the root of the records there",
        attribute(totals.CellTotal, "squared_by_person", rooted),
        tested(test_totals.test_no_person_moves_a_total_further_in_l2_than_the_lemma_says),
    ),
    Mutant(
        "totals: ρ as if it were ε",
        wrapped(totals, "calibrate_square", lambda f, square, rho: f(square, rho) / 2),
        tested(test_totals.test_gaussian_noise_is_what_one_person_moves_over_the_share_of_rho, PATCH),
    ),
    Mutant(
        "tables: counts have the noise of bounded groups, which are not bounded",
        wrapped(view.View, "bounded", lambda f, self, table, by=(): f(self, table)),
        tested(test_bounded_rows.test_counts_by_groups_bound_a_persons_groups, IN_DUCKDB, FOLDER, PATCH),
    ),
]
