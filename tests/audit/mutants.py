"""Planted privacy bugs, and who notices each.

Each is switched on by itself, in a test alone, by patching one thing. Every detector is also run without any bug, and must
be silent then: what always cries has noticed nothing.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from jostle.algorithms import ugrid
from jostle.kernel import budget, noise, partition, source
from jostle.kernel.functions import intervals, scores, statistics
from jostle.kernel.ledger import accounts, limits
from jostle.kernel.ledger import ledger as ledgers
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.strategies import cells, trees
from jostle.mechanisms import aggregates, arguments, gradual, local, ranks, sampling, stability, threshold
from jostle.mechanisms.sensitivity import Sensitivity
from tests.algorithms import test_php, test_ugrid
from tests.audit import test_protected_unit
from tests.audit.mutants_of_glue import OF_GLUE
from tests.audit.mutants_of_keys import OF_KEYS
from tests.audit.mutants_of_measures import OF_MEASURES
from tests.audit.mutants_of_memory import OF_MEMORY
from tests.audit.mutants_of_reading import OF_READING
from tests.audit.mutants_of_records import OF_RECORDS
from tests.audit.mutants_of_synthesis import OF_SYNTHESIS
from tests.audit.mutants_of_tables import OF_TABLES
from tests.audit.planted import (
    ADD,
    FOLDER,
    LEDGER,
    PATCH,
    REPLACE,
    WATCHED,
    Anywhere,
    HalfSensitivity,
    Mutant,
    attribute,
    audited,
    charges,
    doubled_split,
    draws_first,
    free_total,
    from_the_mean,
    half_scale,
    independent,
    numpy_laplace,
    one_noise_for_all,
    pays_half,
    seeded,
    sensitivity,
    single_cells_bare,
    stated,
    tested,
    told,
    without_charge,
    wrapped,
)
from tests.kernel import (
    test_budget,
    test_copies,
    test_drawn_cuts,
    test_ledger,
    test_neighbours,
    test_noise,
    test_partition,
    test_source,
    test_strategies,
)
from tests.mechanisms import test_additive, test_gradual, test_ranks, test_threshold

MUTANTS = [
    # ------------------------------------------------------------------------------------------------ noise
    Mutant(
        "half the noise at every operator",
        wrapped(source, "calibrate", lambda f, s, e: f(s, e) / 2),
        audited("laplace: identity", ADD),
    ),
    Mutant(
        "half the noise in the simulated engine",
        wrapped(noise.SimulatedNoise, "discrete_laplace", half_scale),
        audited("laplace: total", ADD),
    ),
    Mutant(
        "half the noise in the exact engine",
        wrapped(noise.ExactNoise, "discrete_laplace", half_scale),
        tested(test_noise.test_discrete_laplace_noise_is_that_of_the_formula_in_both_engines, Fraction(20)),
    ),
    Mutant(
        "half the one-sided noise in the exact engine",
        wrapped(noise.ExactNoise, "noisy_max", half_scale),
        tested(test_noise.test_the_noisy_maximum_is_permute_and_flip_in_both_engines, [0, 1], Fraction(2)),
    ),
    Mutant(
        "half the geometric noise in the exact engine",
        wrapped(noise.ExactNoise, "geometric", half_scale),
        tested(test_noise.test_geometric_noise_is_that_of_the_formula_in_both_engines, Fraction(20)),
    ),
    Mutant(
        "one noise for all cells",
        wrapped(noise.SimulatedNoise, "discrete_laplace", one_noise_for_all),
        tested(test_noise.test_neighbouring_cells_get_independent_noise),
    ),
    Mutant(
        "NumPy's Laplace in a release",
        attribute(noise.ExactNoise, "laplace", numpy_laplace),
        audited("laplace", ADD, samples=4_000, engine="exact"),
    ),
    Mutant(
        "a seeded release",
        attribute(noise.ExactNoise, "discrete_laplace", seeded),
        audited("discrete_laplace", ADD, samples=400, engine="exact"),
    ),
    # ------------------------------------------------------------------------------------------- neighbours
    Mutant(
        "the factor 2 of `replace` forgotten",
        sensitivity(lambda n, once, changed: once * n.rows),
        audited("laplace: identity", REPLACE),
    ),
    Mutant(
        "a person's further rows forgotten",
        sensitivity(lambda n, once, changed: once if n.relation == ADD else changed),
        tested(test_source.test_laplace_has_noise_of_the_proven_scale, "identity", Neighbours(rows=3)),
    ),
    Mutant("records cannot leave a part", attribute(Neighbours, "in_part", lambda self: self), audited("split", REPLACE)),
    Mutant(
        "the total is public",
        stated(Neighbours, "total_is_public", lambda self: True),
        tested(test_neighbours.test_the_total_is_public_only_if_nobody_can_change_it),
    ),
    # ------------------------------------------------------------------------------------------- strategies
    Mutant(
        "prefix: one row too few",
        stated(cells.Prefix, "norm", lambda self: self.rows - 1),
        audited("laplace: prefix", ADD, epsilon="2", samples=60_000),
    ),
    Mutant(
        "prefix: replaced, half",
        stated(cells.Prefix, "diameter", lambda self: self.rows // 2),
        audited("laplace: prefix", REPLACE, samples=60_000),
    ),
    Mutant(
        "hierarchy: one level too few",
        stated(trees.Hierarchy, "norm", lambda self: sum(self.weights[:-1])),
        audited("laplace: hierarchy", ADD, epsilon="2", samples=60_000),
    ),
    Mutant(
        "wavelet: the total forgotten",
        stated(trees.Wavelet, "norm", lambda self: int(np.log2(self.rows))),
        audited("laplace: wavelet", ADD, epsilon="2", samples=60_000),
    ),
    Mutant(
        "identity: one cell moves where two do",
        stated(cells.Identity, "diameter", lambda self: 1),
        audited("laplace: identity", REPLACE),
    ),
    Mutant(
        "blocks: one group moves where two do",
        stated(cells.Blocks, "diameter", lambda self: 1),
        audited("laplace: blocks", REPLACE),
    ),
    Mutant(
        "boxes: one overlap too few",
        stated(cells.Boxes, "norm", lambda self: int(self.column_norms.max()) - 1),
        audited("laplace: boxes", ADD, epsilon="2"),
    ),
    Mutant(
        "matrix: the largest entry for the largest column",
        stated(cells.Matrix, "norm", lambda self: int(abs(self.entries).max())),
        tested(test_source.test_laplace_has_noise_of_the_proven_scale, "whole matrix", Neighbours()),
    ),
    Mutant(
        "stack: the heaviest part alone",
        stated(cells.Stack, "norm", lambda self: max(f * p.norm for f, p in zip(self.factors, self.parts, strict=True))),
        audited("laplace: stack", ADD, epsilon="2", samples=60_000),
    ),
    Mutant(
        "strategies from outside are believed",
        attribute(cells, "check_proven", lambda strategy: None),
        tested(test_strategies.test_a_strategy_from_outside_does_not_get_in_as_a_part_of_a_stack),
    ),
    # ------------------------------------------------------------------------------------------- statistics
    Mutant(
        "the number of records is free",
        attribute(statistics.Scale, "sensitivities", lambda self, size: (0, 0)),
        audited("statistic: Scale", ADD),
    ),
    Mutant(
        "non-zero cells: replaced, nothing moves",
        attribute(statistics.NonZeroCells, "sensitivities", lambda self, size: (1, 0)),
        audited("statistic: NonZeroCells", REPLACE),
    ),
    Mutant(
        "the largest cell is free",
        attribute(statistics.LargestCell, "sensitivities", lambda self, size: (0, 0)),
        audited("statistic: LargestCell", ADD),
    ),
    Mutant(
        "total variation: half",
        attribute(statistics.TotalVariation, "sensitivities", lambda self, size: (size // 2, size // 2)),
        audited("statistic: TotalVariation", ADD, epsilon="2"),
    ),
    Mutant(
        "deviation of groups: half",
        wrapped(statistics.Derived, "_up", lambda f, self, move: f(self, move) // 2),
        audited("statistic: Derived, standard deviation", ADD),
    ),
    Mutant(
        "cost of a partition: the factor 2 of `replace` forgotten",
        attribute(statistics.PartitionCost, "sensitivities", lambda self, size: (statistics.PRICE_UNIT,) * 2),
        audited("statistic: PartitionCost", REPLACE),
    ),
    # --------------------------------------------------------------------------------------------- accounts
    Mutant(
        "ledger: an account of persons pays for the rows of a release",
        attribute(accounts, "check_unit", lambda argument, name, kept, unit: None),
        tested(
            test_protected_unit.test_an_account_of_persons_pays_for_no_rows,
            FOLDER,
            test_protected_unit.PAYERS["answers.release"]["release"],
            1,
        ),
    ),
    Mutant(
        "ledger: whom an account protects is checked where a purse is made, and not where it pays",
        wrapped(accounts, "check_unit", lambda f, argument, *units: f(argument, *units) if argument == "account" else None),
        tested(
            test_protected_unit.test_an_account_of_persons_pays_for_no_rows,
            FOLDER,
            test_protected_unit.PAYERS["kernel.ledger.accounts"]["charge by name"],
            1,
        ),
    ),
    Mutant(
        "ledger: an account that was made without a unit protects whoever comes first",
        attribute(ledgers, "unit_of", lambda note: "pid"),
        tested(test_protected_unit.test_an_account_without_a_unit_pays_for_no_persons, FOLDER, {}),
    ),
    Mutant(
        "ledger: a caller's own words say whom an account protects",
        attribute(ledgers, "unit_of", lambda note: note.splitlines()[-1].removeprefix("protects each ") if note else "row"),
        tested(test_protected_unit.test_what_an_account_protects_never_changes, FOLDER),
    ),
    # ----------------------------------------------------------------------------------------------- scores
    Mutant(
        "distances taken for scores that only rise",
        wrapped(scores.QueryDistance, "sensitivities", lambda f, self: tuple(r // 2 for r in f(self))),
        audited("choose: QueryDistance", ADD, samples=2_000),
    ),
    Mutant(
        "answers: `replace` as add or remove",
        attribute(scores.QueryScore, "sensitivities", lambda self: (1, 1)),
        audited("choose: QueryScore of two", REPLACE, samples=2_000),
    ),
    Mutant(
        "cuts of a line: half the range",
        wrapped(scores.SplitScore, "sensitivities", lambda f, self: tuple(r // 2 for r in f(self))),
        tested(test_php.test_no_neighbour_moves_two_cuts_further_apart, 3, 3),
    ),
    # -------------------------------------------------------------------------------------------- partition
    Mutant(
        "DAWA's partition as published: no noise on single cells",
        attribute(source.Source, "_Source__noisy_minimum", single_cells_bare),
        tested(test_partition.test_the_operator_draws_noise_of_the_proven_scales, Neighbours()),
    ),
    Mutant(
        "DAWA's deviation from the mean",
        attribute(intervals, "_deviations", from_the_mean),
        tested(test_partition.test_one_record_moves_the_deviation_of_its_own_intervals_alone_and_by_one_at_most, 4, 3),
    ),
    Mutant(
        "DAWA's clamp inside the minimum",
        wrapped(intervals, "cheapest_cut", lambda f, costs: f(np.maximum(costs, statistics.PRICE_UNIT // 2))),
        tested(test_partition.test_the_operator_is_the_mechanism_of_the_proof, [0, 3]),
    ),
    Mutant(
        "cuts drawn at twice the rate",
        wrapped(intervals, "drawn_cut", lambda f, costs, rate, words: f(costs, (2 * rate[0], rate[1]), words)),
        tested(test_drawn_cuts.test_the_operator_draws_with_them_too),
    ),
    # ---------------------------------------------------------------------------------------- budget, ledger
    Mutant("a choice is not charged", without_charge("choose"), charges("PHP")),
    Mutant(
        "a statistic is measured but not charged",
        without_charge("statistic"),
        tested(test_source.test_the_charge_comes_before_the_noise, "statistic", Neighbours(), WATCHED),
    ),
    Mutant("a split is not charged", without_charge("split"), charges("PHP")),
    Mutant(
        "spent after the release",
        attribute(source.Source, "measure", draws_first),
        tested(test_source.test_the_charge_comes_before_the_noise, "laplace", Neighbours(), WATCHED),
    ),
    Mutant("half of it is charged", wrapped(budget.Budget, "spend", pays_half), charges("HB")),
    Mutant("unused budget is returned twice", wrapped(budget.Budget, "split", doubled_split), charges("AHP")),
    Mutant(
        "a token is spent again",
        attribute(budget.Budget, "_use", lambda self, how: None),
        tested(test_budget.test_a_token_is_used_once, "spend", "spend"),
    ),
    Mutant(
        "a forked process spends its copy of a part's token",
        attribute(budget, "Home", Anywhere),
        tested(test_copies.test_what_was_charged_once_is_spent_in_one_process_alone, FOLDER),
    ),
    Mutant(
        "a forked process has every yes of a search again",
        attribute(threshold, "Home", Anywhere),
        tested(test_copies.test_what_was_charged_once_is_spent_in_one_process_alone, FOLDER),
    ),
    Mutant(
        "a token buys at any purse",
        wrapped(budget.Budget, "spend", lambda f, self, purse, **what: f(self, self._purse, **what)),
        tested(test_source.test_a_foreign_token_buys_nothing, "laplace"),
    ),
    Mutant(
        "a part grants itself a second token",
        attribute(budget.PartPurse, "check", lambda self, amount: None),
        tested(test_budget.test_a_part_has_the_token_that_it_came_with_and_no_other),
    ),
    Mutant(
        "no cap",
        attribute(limits, "allowed", lambda limit, spending: True),
        tested(test_ledger.test_ten_tenths_are_one_and_the_next_is_refused, LEDGER),
    ),
    Mutant(
        "charges under any neighbours add up",
        attribute(ledgers, "_same", lambda one, other: True),
        tested(test_ledger.test_an_account_is_not_opened_or_charged_under_other_neighbours, LEDGER, Neighbours("replace")),
    ),
    # -------------------------------------------------------------------------------------------- composition
    Mutant(
        "parallel composition over overlapping parts",
        attribute(Partition, "cells", lambda self, group: np.arange(self.labels.size)),
        audited("split", ADD),
    ),
    Mutant(
        "a reduced record counts twice",
        wrapped(Partition, "sums", lambda f, self, x: 2 * f(self, x)),
        audited("reduce", ADD),
    ),
    # --------------------------------------------------------------------------------------------- mechanisms
    Mutant(
        "noisy maximum of scores that are not monotone, at half the noise",
        attribute(
            Sensitivity,
            "reach",
            lambda self, neighbours, monotone: neighbours.sensitivity(self.add_remove, self.replace),
        ),
        audited("permute_and_flip", ADD, samples=2_000),
    ),
    Mutant(
        "exponential mechanism at half the scale",
        lambda patch: patch.setattr(
            "jostle.mechanisms.selection.exponential_scale",
            lambda reach, epsilon: sampling.exponential_scale(reach, epsilon) / 2,
        ),
        audited("exponential", ADD, samples=4_000),
    ),
    Mutant(
        "stated sensitivities: `replace` as add or remove",
        wrapped(Sensitivity, "size", lambda f, self, neighbours: self.add_remove),
        audited("discrete_laplace", REPLACE),
    ),
    Mutant("sums: half the bound", attribute(aggregates, "Sensitivity", HalfSensitivity), audited("clipped_sum", ADD)),
    Mutant(
        "sums: how many of the records meet a condition is public",
        wrapped(aggregates, "among", lambda f, budget, filtered: f(budget, False)),
        audited("clipped_sum, filtered", REPLACE),
    ),
    Mutant(
        "above threshold: every further yes is free",
        wrapped(threshold, "scales", lambda f, moves, n, epsilon, positives, monotone: f(moves, n, epsilon, 1, monotone)),
        tested(test_threshold.test_the_two_scales_add_up_to_epsilon, Neighbours(), 4, False),
    ),
    Mutant(
        "above threshold: no noise on the threshold",
        wrapped(threshold, "scales", lambda f, *stated: (Fraction(0), f(*stated)[1])),
        tested(test_threshold.test_the_two_scales_add_up_to_epsilon, Neighbours(), 1, False),
    ),
    Mutant(
        "gradual release: every step with noise of its own",
        attribute(gradual, "chain", independent),
        audited("GradualRelease", ADD, samples=20_000),
    ),
    Mutant(
        "quantiles: every round has the whole ε",
        wrapped(ranks.QuantileSearch, "__init__", lambda f, self, token, depth, engine: f(self, token, 1, engine)),
        tested(test_ranks.test_epsilon_is_shared_among_as_many_rounds_as_there_are, 3, PATCH),
    ),
    Mutant(
        "randomized response at twice its ε",
        wrapped(local, "_truth", lambda f, epsilon, size: f(2 * epsilon, size)),
        audited("RandomizedResponse", REPLACE),
    ),
    Mutant(
        "stable selection: validation forgotten",
        attribute(stability, "_together", lambda stability: Sensitivity.of(stability[0])),
        audited("stable_selection", ADD, samples=2_000),
    ),
    # ------------------------------------------------------------------------------------- what must not be seen
    Mutant(
        "the true total sets UGrid's grid",
        attribute(ugrid, "known_total", free_total),
        tested(test_ugrid.test_the_total_is_paid_for_where_it_is_not_public),
    ),
    Mutant(
        "an error message shows a count",
        attribute(source, "counts", told),
        tested(
            test_source.test_bad_counts_are_refused_with_one_message_whichever_cell_is_bad,
            partial(source.SimulatedSource, seed=0),
        ),
    ),
    Mutant(
        "a source prints its total",
        attribute(source.Source, "__repr__", lambda self: f"<source of {self._Source__x.sum()}>"),
        tested(test_source.test_a_source_prints_public_facts_alone),
    ),
    Mutant(
        "a release through a purse that forgets",
        lambda patch: patch.setattr(source.CountingPurse, "durable", True),
        tested(test_source.test_a_release_wants_a_durable_purse_with_exact_noise),
    ),
    Mutant(
        "a plan can move a cell into another group of a partition",
        attribute(partition, "fixed", lambda array: array),
        tested(test_source.test_what_lemmas_rest_on_cannot_be_changed),
    ),
    Mutant(
        "gradual release: whether answers are whole depends on the numbers in a list",
        attribute(gradual, "is_whole", lambda value: all(isinstance(number, int) for number in value)),
        tested(test_gradual.test_what_is_in_a_list_does_not_decide_the_type_of_the_answers, None),
    ),
    Mutant(
        "discrete Laplace: decimals become floats on their way to whole numbers",
        wrapped(arguments, "_rounded_down", lambda f, number: f(float(number))),
        tested(test_additive.test_no_number_becomes_a_float_on_its_way_to_whole_ones, Decimal, list),
    ),
    *OF_RECORDS,
    *OF_TABLES,
    *OF_KEYS,
    *OF_MEMORY,
    *OF_READING,
    *OF_MEASURES,
    *OF_GLUE,
    *OF_SYNTHESIS,
]
"""The bugs."""
