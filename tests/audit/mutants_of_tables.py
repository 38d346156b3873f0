"""Planted privacy bugs in private tables and classifiers: ways around what is promised."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np

from jostle.answers.previews import Preview
from jostle.kernel import records, source
from jostle.kernel.budget import Budget, exact
from jostle.kernel.functions import objective, totals
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.strategies import identity
from jostle.learn import cuts, naive_bayes
from jostle.tables import bounded_rows, budget_source, conditions, guess_schema, opening, table, view
from jostle.tables.cells import cells
from jostle.tables.columns import EngineColumns
from jostle.tables.engines import sources
from jostle.tables.question import CountsQuestion
from tests.audit import test_protected_unit, test_side_channels
from tests.audit.planted import (
    ADD,
    FOLDER,
    PATCH,
    REPLACE,
    Fixture,
    Mutant,
    attribute,
    audited,
    charged_tables,
    stated,
    tested,
    wrapped,
)
from tests.kernel import test_objective, test_totals
from tests.learn import test_estimators, test_naive_bayes
from tests.schema import test_schema
from tests.tables import test_bounded_rows, test_no_oracles, test_question, test_table
from tests.tables import test_circumvention as circumvention
from tests.tables.engines import into_parquet

PEOPLE = Fixture(lambda patch, folder: test_table.opened(test_table.FRAME, folder))

IN_DUCKDB = Fixture(lambda patch, folder: lambda columns: into_parquet(columns, folder, None))


def without_the_person(original: Any, engine: str, key: Any, *values: Any) -> Any:
    return original(engine, key, *(values[1:] if len(values) > 1 else values))


def taken_again(original: Any, self: Any, epsilon: Any) -> Budget:
    """The token is handed out, and kept."""
    taken, left = self._token, self._left
    self._token, self._left = Budget(taken.epsilon, taken._purse), left
    return Budget(taken.epsilon if epsilon is None else exact(epsilon), taken._purse)


def looks_at_the_rows(original: Any, self: Any, *, epsilon: Any) -> Preview:
    found = original(self, epsilon=epsilon)
    return replace(found, margin=found.margin + float(self.columns.counts(list(self.names)).sum()))


def truly_counted(records: Any, task: Any, name: str, starts: Any, budget: Any) -> Any:
    """As `cuts._counted`, charged and without noise."""
    records.vector(name).measure(identity(records.sizes[name]), budget)
    return records._Records__columns.counts([name])[: task.known(name)].astype(float)


def handicapped(original: Any, self: Any, splits: Any, criterion: Any, token: Any, **how: Any) -> Any:
    """The first candidate is set back by how many records there are."""
    back = np.zeros(len(splits))
    back[0] = float(self._Records__columns.rows)
    return original(self, splits, criterion, token, **{**how, "handicaps": back})


def half_of_large_ones(original: Any, self: Any, once: Any, changed: Any) -> Any:
    found = original(self, once, changed)
    return found / 2 if once > 2**20 else found


def doubled(original: Any, self: Any, number: int) -> Any:
    return [Budget(2 * part.epsilon, part._purse) for part in original(self, number)]


def half_squares(self: Any) -> Any:
    longest, squares = REACH(self)
    return longest, squares / 2


def unshared(self: Any, cells: Any, neighbours: Any, held: Any, price: Any) -> Any:
    moved = [neighbours.sensitivity(*total.sensitivities(cells)) for total in self.totals]
    return [source.AddedNoise("laplace", far / price.amount) for far in moved]


class Everything:
    """Holds whatever one looks for."""

    def __contains__(self, _: object) -> bool:
        return True


spends_whole = test_estimators.test_every_learner_spends_its_budget_whole_and_scores_every_value
REACH = objective.Additive.reach.func  # type: ignore[attr-defined]


def forgetful_account(book: Ledger, name: str, budget: Any, relation: Any, unit: Any) -> Any:
    return book.account(name, cap=budget, neighbours=relation)


OF_TABLES = [
    # ----------------------------------------------------------------------------------------------- tables
    Mutant(
        "tables: all rows of a person count",
        attribute(view, "bounded", lambda rows, most, backend: rows),
        audited("table: count by person", ADD, samples=1_500, engine="exact"),
    ),
    Mutant(
        "tables: all rows of a person count in sums",
        attribute(view, "bounded", lambda rows, most, backend: rows),
        audited("table: sum by person", REPLACE, samples=1_500, engine="exact"),
    ),
    Mutant(
        "tables: every part draws a person's rows for itself",
        attribute(view.View, "sampled_once", lambda self, names=None: self),
        tested(test_table.test_a_persons_rows_are_drawn_anew_and_bounded_over_all_parts, FOLDER),
    ),
    Mutant(
        "tables: rows are ranked by the engine's random numbers",
        attribute(bounded_rows, "hashed", lambda engine, *values: ibis.random()),
        tested(test_bounded_rows.test_others_rows_stay_when_a_person_leaves, IN_DUCKDB, FOLDER, PATCH, "each question"),
    ),
    Mutant(
        "tables: rows are ranked as the engine finds them",
        attribute(bounded_rows, "hashed", lambda engine, *values: ibis.literal(0)),
        tested(test_bounded_rows.test_every_row_of_a_person_is_as_likely_to_be_kept, IN_DUCKDB, FOLDER),
    ),
    Mutant(
        "tables: a person's rows are ranked without the person",
        wrapped(bounded_rows, "hashed", without_the_person),
        tested(test_bounded_rows.test_persons_choose_independently, IN_DUCKDB, FOLDER),
    ),
    Mutant(
        "tables: values are not clipped",
        attribute(cells, "clipped", lambda value, low, high: value),
        tested(test_table.test_measurements_are_charged_exactly_and_close_at_a_large_budget, FOLDER, ADD),
    ),
    Mutant(
        "tables: a row moves a sum by the width of the bounds",
        attribute(totals.Sum, "sensitivities", lambda self, cells: (self.high - self.low, self.high - self.low)),
        audited("table: sum", ADD, samples=1_500, engine="exact"),
    ),
    Mutant(
        "tables: a row that changes groups moves one sum",
        attribute(totals.Sum, "sensitivities", lambda self, cells: (max(abs(self.low), abs(self.high)),) * 2),
        tested(test_question.test_the_noise_of_sums_by_group_follows_the_neighbours, FOLDER, PATCH),
    ),
    Mutant(
        "tables: a mean's two numbers have half the noise",
        wrapped(
            Neighbours, "sensitivity", lambda f, self, once, changed: f(self, once, changed) / (2 if once > 2**20 else 1)
        ),
        tested(test_table.test_the_noise_follows_the_neighbours, FOLDER, PATCH),
    ),
    Mutant(
        "totals: a sum is as far from 0 as its upper bound",
        attribute(totals.Sum, "sensitivities", lambda self, cells: (abs(self.high), 2 * abs(self.high))),
        audited("records: totals, sum from −100 to 10", ADD, samples=1_500),
    ),
    Mutant(
        "totals: the groups of a person are not bounded",
        attribute(view, "bounded_in_groups", lambda rows, *bounds: rows),
        audited("table: group_by by few groups by person", ADD, samples=1_500, engine="exact"),
    ),
    Mutant(
        "totals: a part has the tighter bound that holds in each part",
        wrapped(
            source.Custody,
            "part",
            lambda f, self, token: (lambda made: (replace(made[0], in_part=False), made[1]))(f(self, token)),
        ),
        tested(test_totals.test_what_columns_hold_a_person_to_makes_less_noise_but_not_in_a_part, PATCH),
    ),
    Mutant(
        "totals: several at the price of one",
        attribute(totals.WeightedTotals, "noises", unshared),
        tested(test_totals.test_the_noise_is_what_one_person_moves_over_the_share_of_epsilon, PATCH, ADD, 100, 2**30),
    ),
    Mutant(
        "tables: the number of rows that a condition keeps is public",
        stated(EngineColumns, "filtered", lambda self: False),
        audited("table: count", REPLACE, samples=400, engine="exact"),
    ),
    Mutant(
        "tables: a part's ε is there again",
        wrapped(budget_source.PartBudget, "_take", taken_again),
        tested(test_table.test_parts_share_one_charge, PEOPLE),
    ),
    Mutant(
        "tables: what is asked of a table is not charged",
        attribute(Budget, "spend", lambda self, purse, **what: self._use("spent") or self.epsilon),
        charged_tables(),
    ),
    Mutant(
        "tables: a union of rows that are the same",
        attribute(table, "share_files", lambda one, other: False),
        tested(circumvention.test_a_file_that_is_named_twice_is_found_in_any_kind_of_sequence, FOLDER),
    ),
    Mutant(
        "tables: a union of tables with different accounts",
        attribute(budget_source.AccountBudget, "is_same_account", lambda one, other: True),
        tested(circumvention.test_a_union_is_of_one_account_not_of_one_name, FOLDER),
    ),
    Mutant(
        "tables: a file that is named twice",
        attribute(opening, "_check_different", lambda data: None),
        tested(circumvention.test_the_same_rows_under_two_names_are_no_union, FOLDER),
    ),
    Mutant(
        "tables: a file that is named twice, in a sequence that is no list",
        attribute(opening, "listed", lambda data: data),
        tested(circumvention.test_a_file_that_is_named_twice_is_found_in_any_kind_of_sequence, FOLDER),
    ),
    Mutant(
        "tables: a union of one table of Spark, by two frames",
        attribute(sources, "_origin", lambda data: frozenset({Path(f"/{id(data)}")})),
        tested(circumvention.test_only_files_have_an_origin, FOLDER),
    ),
    Mutant(
        "tables: a union of a frame and its copy",
        attribute(sources, "_origin", lambda data: frozenset({Path(f"/{id(data)}")})),
        tested(circumvention.test_a_frame_and_its_copy_are_no_union, FOLDER),
    ),
    Mutant(
        "tables: several files are called as the first of them",
        attribute(opening, "_check_single", lambda data: None),
        tested(circumvention.test_several_files_have_no_name_of_their_own, FOLDER),
    ),
    Mutant(
        "tables: a table pays as if its account protected the same",
        wrapped(
            budget_source.AccountBudget,
            "__init__",
            lambda f, self, account, unit, *note: f(self, account, account.unit, *note),
        ),
        tested(test_protected_unit.test_a_table_pays_with_an_account_of_its_own_unit_alone, FOLDER),
    ),
    Mutant(
        "tables: a column that is called `row` is taken for single rows",
        attribute(budget_source, "_COLUMN", ""),
        tested(test_protected_unit.test_no_column_reads_like_single_rows_or_like_another_column),
    ),
    Mutant(
        "schemas: a record is drafted as if it were names",
        attribute(guess_schema, "check_first_line", lambda data, columns, header: None),
        tested(test_schema.test_no_kinds_are_told_of_a_text_file_before_its_first_line_is_declared, FOLDER, ".csv"),
    ),
    Mutant(
        "tables: a new column says whose row it is",
        attribute(table.Table, "_check_new", lambda self, name, column: None),
        tested(circumvention.test_no_new_column_takes_the_place_of_the_person, FOLDER, "pid"),
    ),
    Mutant(
        "tables: an account forgets whom it protects",
        attribute(budget_source, "account_of", forgetful_account),
        tested(circumvention.test_an_account_remembers_whom_it_protects, FOLDER),
    ),
    Mutant(
        "tables: constants of any type, which an engine reads where a row reaches them",
        attribute(conditions, "KINDS", Everything()),
        tested(test_no_oracles.test_constants_of_other_types_are_refused_and_days_in_texts_are_read_here, FOLDER),
    ),
    Mutant(
        "tables: division by what becomes zero in one row",
        attribute(conditions, "_dusted", lambda number: number),
        tested(test_no_oracles.test_a_divisor_that_may_become_zero_is_refused, FOLDER),
    ),
    Mutant(
        "tables: a preview looks at the rows",
        wrapped(CountsQuestion, "preview", looks_at_the_rows),
        tested(test_side_channels.test_previews_are_the_same_for_every_table_and_ask_no_engine, "histogram", PATCH),
    ),
    # ---------------------------------------------------------------------------------------------- learning
    Mutant(
        "learning: the number of records is told where it is private",
        stated(records.Records, "total", lambda self: self._Records__columns.rows),
        audited("records: filtered", ADD, samples=400),
    ),
    Mutant(
        "learning: handicaps from true counts",
        wrapped(records.Records, "choose_each", handicapped),
        audited("records: choose_each, Majority", ADD, samples=5_000),
    ),
    Mutant(
        "learning: a class of its own has a budget of its own",
        wrapped(Budget, "split_evenly", doubled),
        tested(
            test_estimators.test_every_learner_spends_its_budget_whole_and_scores_every_value, "MultinomialBayes", 2, ADD
        ),
    ),
    Mutant(
        "learning: cuts follow the true counts",
        attribute(cuts, "_counted", truly_counted),
        audited("cuts", ADD, samples=2_000),
    ),
    Mutant(
        "learning: true histograms in a release",
        attribute(naive_bayes, "_check", lambda records, histograms, smoothing: None),
        tested(
            test_naive_bayes.test_what_looks_at_the_truth_is_refused_in_a_release_before_any_charge,
            test_naive_bayes.MODELS[0],
            FOLDER,
        ),
    ),
    Mutant(
        "objective perturbation: half the price of three classes",
        stated(objective.Additive, "reach", half_squares),
        tested(test_objective.test_the_noise_is_what_the_proof_says, Neighbours(), 3),
    ),
]
"""The bugs."""
