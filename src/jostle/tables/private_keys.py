"""Groups that nobody listed: which of them may be named is selected privately, by the number of their people.

Privacy: one query adds up everything per key, after each person was bounded to some groups by the person's own rows. The
kernel's `select_keys` is charged first, with a δ, and hands on the sums of selected keys only; `totals` measures these. If
people are all that is counted, `count_keys` is charged alone: it selects by a noisy count, and shows it. The rest is
public, or post-processing. Proof: docs/proofs/measures.md, "Selecting keys"; docs/proofs/totals.md, "Private keys".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.grouped import GroupedAnswers
from jostle.answers.previews import GroupPreviews, checked_rows
from jostle.kernel.budget import CONCENTRATED, KEYS, Price, in_unit_interval
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.totals import RecordCount
from jostle.kernel.key_selection import KeySelection, counted_selection, rule_for
from jostle.kernel.measures import Approximate
from jostle.schema import MISSING, Text
from jostle.tables.columns import EngineColumns
from jostle.tables.groups import Found, GroupsQuestion

if TYPE_CHECKING:
    from jostle.answers.counts_of_shown_groups import NoiseOfRule
    from jostle.tables.table import Table
    from jostle.tables.view import View

PRIVATE = "private"
SHARE = Fraction(1, 2)
"""Of the price, what the selection has: the groups that are shown are then about as many as have useful numbers."""

SELECTIONS = 10
"""A selection takes this part of the account's δ for keys, so that as many can follow each other."""

AT = "keys"
"""The attribute with a selected group's number."""


def groups_question(table: Table, *asked: Any, keys: Any = None, keys_delta: Any = None, **settings: Any) -> GroupsQuestion:
    """The question for aggregates by groups: known ones, or with `keys="private"` those that are selected privately."""
    if isinstance(keys, str) and keys == PRIVATE:
        return PrivateGroupsQuestion(table, *asked, keys_delta=keys_delta, **settings)
    if keys_delta is not None:
        raise BadInput("keys_delta", "is for groups that are selected privately", 'leave it out, or pass keys="private"')
    return GroupsQuestion(table, *asked, keys=keys, **settings)


class PrivateGroupsQuestion(GroupsQuestion):
    """Aggregates per group, for groups that are selected by the number of their people."""

    def __init__(self, table: Table, *asked: Any, keys_delta: Any = None, **settings: Any) -> None:
        self.delta = _delta(table, keys_delta)
        super().__init__(table, *asked, **settings)
        if not self.groups:
            raise BadInput("keys", "are private, and no column has them", 'name one: group_by("diagnosis", keys="private")')
        if self._quantiles:
            problem = "quantiles need the list of groups"
            remedy = "select the groups with a count first, then pass them: keys=[…], with a column that lists its values"
            raise BadInput("aggregates", problem, remedy)

    def _keyed(self, keys: Any) -> tuple[dict[str, list[Any]], list[int] | None]:
        return {}, None

    def _grouped(self, views: Sequence[View], *more: str) -> tuple[EngineColumns, tuple[str, ...]]:
        return replace(EngineColumns(tuple(views), {}), leaves_out=True), self.groups

    @property
    def _size(self) -> int:
        return 2  # how many will be selected is not known; it changes no noise that is planned for two or more

    def _divided(self, price: Price) -> tuple[Price, Price]:
        """What the selection has of the price, and what the aggregates have."""
        part = price.times(SHARE)
        for_keys, rest = Price(part.pure, KEYS, self.delta), price.times(1 - SHARE)
        quietest = self._least_error(rest) or rest  # Gaussian noise may be too dear beside a selection that was paid in ε
        return for_keys, quietest if self.table._budget.pays(for_keys, quietest) else rest

    def _rule(self, for_keys: Price, *make: Any) -> KeySelection:
        relation = self.table.neighbours.among_filtered()
        return rule_for(for_keys, relation, self._columns.contribution(self.groups), *make)

    def _counted(self, price: Price) -> tuple[Price, KeySelection] | None:
        """All of the price for noisy counts that select groups, and the rule; None if it is better to select first. Public.

        They are of people, so nothing else may be asked for. Where a person has many groups, a Gaussian rule or Gaussian
        noise may be better at half of the price: so it must be no worse in either respect.
        """
        [total, *more] = [one.total for one in self._measured]
        of_people = total.of_persons or self.table.unit is None or self._one_row_per_group
        if more or type(total) is not RecordCount or not of_people:
            return None
        whole = Price(price.pure, KEYS, self.delta)
        try:
            rule = self._rule(whole, counted_selection)
        except BadInput:  # noise that ends is too far off
            return None
        for_keys, rest = self._divided(price)
        [afterwards] = self._noises(rest)
        quieter = _noise_of(rule).variance <= afterwards.variance
        return (whole, rule) if quieter and rule.even_chance <= self._rule(for_keys).even_chance else None

    def rule(self, epsilon: Any) -> KeySelection:
        """The rule that selects groups at this price of the whole question. Public."""
        price = Price.of(epsilon)
        counted = self._counted(price)
        return counted[1] if counted else self._rule(self._divided(price)[0])

    def preview(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        """How far off each aggregate of a selected group would be, and how many people a group needs, at no cost.

        Nobody knows how many groups there are, so `rows` is the number of rows of one group.
        """
        whole = Price.of(epsilon)
        rule, counted = self.rule(epsilon), self._counted(whole) is not None
        found = self._previewed(self._divided(whole)[1], rows)
        if counted:
            checked_rows(rows)
            off = float(_noise_of(rule).margin())
            found = GroupPreviews.of(Price(whole.pure), dict.fromkeys(found.margins, off))
        return replace(found, epsilon=whole.amount, measure=whole.measure, even_chance=rule.even_chance)

    def _anew(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        return self.preview(epsilon=epsilon, rows=rows)

    @property
    def _expected_groups(self) -> int:
        return 1

    def epsilon_within(self, within: Any) -> Fraction:
        whole = super().epsilon_within(within)
        return whole if self._counted(Price(whole)) else whole / (1 - SHARE)

    def _release(self, epsilon: Any) -> GroupedAnswers:
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.5")
        source, counted = self.table._budget, self._counted(Price.of(epsilon))
        if counted is not None:
            return self._release_counted(Price.of(epsilon), *counted)
        for_keys, rest = self._divided(Price.of(epsilon))
        rule, totals = self.rule(epsilon), self._weighted(rest.measure)
        self._noises(rest)
        self._columns.check_keys(self.groups, squares=any(one.squares for one in totals.totals))
        source.check_all([for_keys, rest])
        records, token = source.records(self._columns, for_keys, note=self.what)
        named, selected = records.select_keys(self.groups, totals, token)
        budget = records.grant(rest)
        found: dict[str, Found] = {}
        self._read_all(selected.totals([AT], totals, budget), found)
        self._label(named)
        spent = for_keys.cost.rho + rest.amount if rest.measure == CONCENTRATED else for_keys.amount + rest.amount
        price = self._paid(budget) | {"spent": spent, "neighbours": records.neighbours}
        answer = self._answer(price, found)
        return replace(answer, notes=(self._note(rule), *self._rows_without_text, *answer.notes))

    def _release_counted(self, price: Price, for_keys: Price, rule: KeySelection) -> GroupedAnswers:
        """Groups with the noisy counts by which they were selected: nothing is measured after that."""
        from jostle.answers.counts_of_shown_groups import ShownCounts

        source = self.table._budget
        self._columns.check_keys(self.groups, squares=False)
        records, token = source.records(self._columns, for_keys, note=self.what)
        named, counts = records.count_keys(self.groups, token)
        self._label(named)
        noise, numbers = _noise_of(rule), counts[:, np.newaxis].astype(np.float64)
        reading = ShownCounts("whole", numbers, float(1 / (rule.epsilon / rule.groups_per_person)), False, rule=noise)
        self._readings = dict.fromkeys(self.aggregates, reading)
        spent = for_keys.cost.rho if price.measure == CONCENTRATED else for_keys.amount
        paid = self._paid(token) | {"spent": spent, "measure": price.measure, "neighbours": records.neighbours}
        answer = self._answer(paid, {name: reading.found() for name in self.aggregates})
        shown = (
            f"Counts have the noise that selects groups: one with fewer than {rule.even_chance:,} {self._whose} is shown "
            "only if it was upward. Intervals allow for that."
        )
        notes = (self._note(rule), shown, *self._rows_without_text, *answer.notes)
        return replace(answer, notes=notes, why="Laplace noise that ends, by which groups are selected as well")

    def _label(self, named: Sequence[tuple[Any, ...]]) -> None:
        self.labels = {name: self._named(name, [key[place] for key in named]) for place, name in enumerate(self.groups)}

    @property
    def _whose(self) -> str:
        return "rows" if self.table.unit is None else f"values of {self.table.unit.column}"

    @property
    def _rows_without_text(self) -> list[str]:
        """Which rows of free text do not count, in words."""
        texts = [name for name in self.groups if isinstance(self.table.schema[name], Text)]
        return [f"Rows without a text in {name} are left out." for name in texts if self.table.schema[name].null == "drop"]

    def _named(self, name: str, parts: Sequence[Any]) -> list[Any]:
        """The labels of a column's parts of keys."""
        column = self.table.schema[name]
        if isinstance(column, Text):
            return [part or MISSING for part in parts]
        return [column.labels[part] for part in parts]

    def _note(self, rule: KeySelection) -> str:
        unit = self.table.unit
        held = "" if unit is None else f"; a {unit.column} counts in {_groups(rule.groups_per_person)} at most"
        return (
            f"Groups are shown if enough {self._whose} have them: in half of all cases from {rule.even_chance:,} on, by a "
            f"random rule (δ = {float(self.delta):.3g}){held}. All others are left out."
        )

    @property
    def _noted_columns(self) -> Sequence[str]:
        return [name for name in self.groups if not isinstance(self.table.schema[name], Text)]


def _noise_of(rule: KeySelection) -> NoiseOfRule:
    """The noise by which a rule selects. Its module is loaded only if a question needs it."""
    from jostle.answers.counts_of_shown_groups import NoiseOfRule

    return NoiseOfRule.of(rule)


def _groups(most: int) -> str:
    return "1 group" if most == 1 else f"{most:,} groups"


def _delta(table: Table, said: Any) -> Fraction:
    """The δ of a selection: what is said, or a part of what the account keeps for keys."""
    limit = table._budget.limit
    if not isinstance(limit, Approximate) or not limit.for_keys:
        problem = "groups that nobody listed can be found only with an account that has a δ for it"
        remedy = "open the table with budget=jostle.Approximate(epsilon=1, delta=1e-6), or list the groups: keys=[…]"
        raise BadInput("keys", problem, remedy)
    if said is None:
        return limit.for_keys / SELECTIONS
    try:
        return in_unit_interval(said)
    except BadInput as refused:
        raise BadInput("keys_delta", refused.problem, refused.remedy) from None
