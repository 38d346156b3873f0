"""Groups that nobody listed: which of them may be named is selected privately, by the number of their people.

Privacy: one query adds up everything per key, after each person was bounded to some groups by the person's own rows. The
kernel's `select_keys` is charged first, with a δ, and hands on the sums of selected keys only; `totals` measures these. The
rest is public, or post-processing. Proof: docs/proofs/measures.md, "Selecting keys"; docs/proofs/totals.md, "Private keys".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.answers.grouped import GroupedAnswers
from jostle.answers.previews import GroupPreviews
from jostle.kernel.budget import CONCENTRATED, KEYS, PURE, Price, in_unit_interval
from jostle.kernel.decimals import root_down
from jostle.kernel.errors import BadInput
from jostle.kernel.key_selection import KeySelection, rule_for
from jostle.kernel.measures import Approximate
from jostle.schema import MISSING, Text
from jostle.tables.columns import EngineColumns
from jostle.tables.groups import Found, GroupsQuestion

if TYPE_CHECKING:
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
        epsilon = part.amount if price.measure == PURE else root_down(2 * part.amount)
        for_keys, rest = Price(epsilon, KEYS, self.delta), price.times(1 - SHARE)
        quietest = self._least_error(rest) or rest  # Gaussian noise may be too dear beside a selection that was paid in ε
        return for_keys, quietest if self.table._budget.pays(for_keys, quietest) else rest

    def rule(self, epsilon: Any) -> KeySelection:
        """The rule that selects groups at this price of the whole question. Public."""
        relation = self.table.neighbours.among_filtered()
        return rule_for(self._divided(Price.of(epsilon))[0], relation, self._columns.contribution(self.groups))

    def preview(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        """How far off each aggregate of a selected group would be, and how many people a group needs, at no cost.

        Nobody knows how many groups there are, so `rows` is the number of rows of one group.
        """
        found = self._previewed(self._divided(Price.of(epsilon))[1], rows)
        whole = Price.of(epsilon)
        return replace(found, epsilon=whole.amount, measure=whole.measure, even_chance=self.rule(epsilon).even_chance)

    def _anew(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        return self.preview(epsilon=epsilon, rows=rows)

    @property
    def _expected_groups(self) -> int:
        return 1

    def epsilon_within(self, within: Any) -> Fraction:
        return super().epsilon_within(within) / (1 - SHARE)

    def _release(self, epsilon: Any) -> GroupedAnswers:
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.5")
        source = self.table._budget
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
        self.labels = {name: self._named(name, [key[place] for key in named]) for place, name in enumerate(self.groups)}
        spent = for_keys.cost.rho + rest.amount if rest.measure == CONCENTRATED else for_keys.amount + rest.amount
        price = self._paid(budget) | {"spent": spent, "neighbours": records.neighbours}
        answer = self._answer(price, found)
        return replace(answer, notes=(self._note(rule), *self._rows_without_text, *answer.notes))

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
        whose = "rows" if unit is None else f"values of {unit.column}"
        held = "" if unit is None else f"; a {unit.column} counts in {_groups(rule.groups_per_person)} at most"
        return (
            f"Groups are shown if enough {whose} have them: in half of all cases from {rule.even_chance:,} on, by a random "
            f"rule (δ = {float(self.delta):.3g}){held}. All others are left out."
        )

    @property
    def _noted_columns(self) -> Sequence[str]:
        return [name for name in self.groups if not isinstance(self.table.schema[name], Text)]


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
