"""Which groups may be named, if their names are not known beforehand.

A group is released with a probability that depends on the number of its people, so that one person decides it with
probability δ at most. Two methods. `optimal_selection` releases each key on its own, with the largest probabilities that
(ε, δ) allows (Desfontaines, Voss, Gipson, Mandayam: Differentially private partition selection, PoPETs 2022(1)); a person
with several keys pays for each. `gaussian_selection` compares the number of people plus Gaussian noise with a threshold,
whose cost grows with the root of the number of keys per person. A third one, `counted_selection`, is the first by other
means: whole noise that ends at k is added, and numbers above k are shown, so that a key comes with its noisy number.
Probabilities are whole multiples of 2^-63, drawn exactly. Proof: docs/proofs/measures.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, Protocol, final, runtime_checkable

import numpy as np

from jostle.kernel.arguments import check_whole
from jostle.kernel.budget import Price, exact, in_unit_interval
from jostle.kernel.decimals import context, decimal, normal, root_down
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.totals import CellSums, Contribution
from jostle.kernel.measures import gaussian_delta, gaussian_sigma
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import Noise
from jostle.kernel.partition import Counts

CERTAIN: Final = 2**63
"""The probability 1, in the units of tables."""

_FLOATS: Final = Fraction(1, 2**48)
"""No probability of a Gaussian table is further from its formula: `math.erfc` and its argument err by a quarter at most."""

_LONGEST: Final = 2**22
"""Tables with more entries take too long to make."""

_FARTHEST: Final = 2**16
"""Noise that ends farther away takes too long to plan."""

_BITS: Final = 128


@final
@dataclass(frozen=True, eq=False)
class KeySelection:
    """An (ε, δ)-private rule by which keys are released, for people who each have at most `groups_per_person` keys.

    >>> rule = optimal_selection(1, 1e-6)
    >>> rule.method, rule.even_chance, rule.probability(1) <= Fraction(1, 10**6), round(float(rule.probability(14)), 6)
    ('optimal', 14, True, 0.699887)
    """

    method: str
    epsilon: Fraction
    delta: Fraction
    groups_per_person: int

    table: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
    """By the number of people from 0 on, the probability of release in units of 2^-63; the last entry is for all beyond."""

    def probability(self, people: int) -> Fraction:
        """The probability that a key with this number of people is released, exactly."""
        return Fraction(int(self.table[min(people, len(self.table) - 1)]), CERTAIN)

    @property
    def even_chance(self) -> int:
        """The smallest number of people whose key is at least as likely to be released as not."""
        return int(np.searchsorted(self.table, CERTAIN // 2))

    def select(self, people: Counts, noise: Noise) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each key is released, given how many different people have it. With trials, along a leading axis.

        For the kernel alone, after the charge. `people` must count a person once per key, and in no more keys than
        `groups_per_person`. Keys that are not selected must leave no trace.

        >>> import secrets
        >>> from types import SimpleNamespace
        >>> noise = SimpleNamespace(below=secrets.randbelow)
        >>> optimal_selection(1, 1e-6).select(np.array([0, 1000]), noise).tolist()
        [False, True]
        """
        bar = self.table[np.minimum(people, len(self.table) - 1)]
        return _uniform(bar.size, noise) < bar

    def count(self, people: Counts, noise: Noise) -> Counts:
        """The noisy number of people of each key that is released, and 0 for all others. Of `counted_selection` alone.

        As noise is symmetric, the table from 1 on has the probabilities that it is −k, −k or 1 − k, and so on.

        >>> import secrets
        >>> from types import SimpleNamespace
        >>> noise = SimpleNamespace(below=secrets.randbelow)
        >>> none, some = counted_selection(1, 1e-6).count(np.array([0, 1000]), noise).tolist()
        >>> none, 987 <= some <= 1013
        (0, True)
        """
        if self.method != "counted":
            raise PlanError(f"a selection by the {self.method} rule has no noisy numbers")
        end = len(self.table) // 2 - 1
        noisy = people + np.searchsorted(self.table[1:], _uniform(people.size, noise), side="right") - end
        return np.where(noisy > end, noisy, 0)


def _uniform(size: int, noise: Noise) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """That many whole numbers below 2^63, each as likely. With trials, along a leading axis."""
    drawn = noise.below(1 << (64 * size)) if size else 0
    trials = drawn if isinstance(drawn, np.ndarray) else [drawn]
    words = [np.frombuffer(int(word).to_bytes(8 * size, "little"), dtype="<u8") >> np.uint64(1) for word in trials]
    found = np.array(words, dtype=np.uint64).reshape(len(words), size)
    return found if isinstance(drawn, np.ndarray) else found[0]


def optimal_selection(epsilon: object, delta: object, groups_per_person: int = 1) -> KeySelection:
    """The most generous rule that treats each key on its own: each gets an equal part of ε and of δ.

    π(0) = 0, π(n + 1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ), 1), each rounded down.

    >>> optimal_selection(1, 1e-6, groups_per_person=10).even_chance
    132
    """
    return _optimal(exact(epsilon), in_unit_interval(delta), _groups(groups_per_person))


@lru_cache(maxsize=64)
def _optimal(epsilon: Fraction, delta: Fraction, groups: int) -> KeySelection:
    if math.log(float(groups / delta) + 2) * 2 * groups > _LONGEST * float(epsilon):
        raise BadInput("epsilon", f"is too small for {groups} groups per person", "use a larger one, or fewer groups")
    growth = _growth(epsilon / groups)
    part = math.floor(delta / groups * CERTAIN * 2**_BITS)
    table = [0]
    while table[-1] < CERTAIN:
        rising = (growth * table[-1] + part) >> _BITS
        closing = CERTAIN + (part - ((CERTAIN - table[-1]) << _BITS)) // growth
        following = min(rising, closing, CERTAIN)
        if following <= table[-1]:  # δ is below what the units can show, so that nothing is ever released
            break
        table.append(following)
    return KeySelection("optimal", epsilon, delta, groups, np.array(table, dtype=np.uint64))


def _growth(share: Fraction) -> int:
    """e^ε in units of 2^-128, rounded down."""
    arithmetic = context()
    power = Fraction(arithmetic.exp(decimal(min(share, Fraction(40)), arithmetic)))
    units: int = max(math.floor(power * (1 - Fraction(1, 10**50)) * 2**_BITS), 2**_BITS)
    return units


def counted_selection(epsilon: object, delta: object, groups_per_person: int = 1) -> KeySelection:
    """Noise from −k to k on the number of people of each key, which is shown if it is then more than k.

    From k inwards, its probabilities begin at δ or below and rise by e^ε, rounded down; k is the least that there is.

    >>> rule = counted_selection(1, 1e-6, groups_per_person=10)
    >>> rule.method, rule.even_chance, rule.probability(1) <= Fraction(1, 10**7), len(rule.table)
    ('counted', 133, True, 266)
    """
    return _counted(exact(epsilon), in_unit_interval(delta), _groups(groups_per_person))


@lru_cache(maxsize=64)
def _counted(epsilon: Fraction, delta: Fraction, groups: int) -> KeySelection:
    growth, most = _growth(epsilon / groups), math.floor(min(delta / groups, Fraction(1, 2)) * CERTAIN)
    end, last, middle = 1, most, CERTAIN - 2 * most
    while middle > (growth * last) >> _BITS:  # more is left for noise of 0 than e^ε times the probability beside it
        if end == _FARTHEST:
            raise BadInput("epsilon", f"or δ is too small for {groups} groups per person", "select first, and count then")
        last = (growth * last) >> _BITS
        end, middle = end + 1, middle - 2 * last

    def outer(first: int) -> list[int]:
        found = [first]
        while len(found) < end:
            found.append((growth * found[-1]) >> _BITS)
        return found

    def reaches(first: int) -> bool:
        return CERTAIN - 2 * sum(found := outer(first)) <= (growth * found[-1]) >> _BITS

    found = outer(bisect_left(range(most), True, key=reaches))
    middle = CERTAIN - 2 * sum(found)
    if middle < found[-1]:
        raise BadInput("delta", f"is too small for {groups} groups per person", "select first, and count then")
    below = accumulate([*found, middle, *reversed(found)], initial=0)
    return KeySelection("counted", epsilon, delta, groups, np.array(list(below), dtype=np.uint64))


def gaussian_selection(epsilon: object, delta: object, groups_per_person: int = 1) -> KeySelection:
    """The number of people plus Gaussian noise, compared with a threshold.

    >>> gaussian_selection(1, 1e-6, groups_per_person=10).even_chance
    71
    """
    return _gaussian(exact(epsilon), in_unit_interval(delta), _groups(groups_per_person))


@lru_cache(maxsize=64)
def _gaussian(epsilon: Fraction, delta: Fraction, groups: int) -> KeySelection:
    arithmetic = context()
    growth = Fraction(arithmetic.exp(decimal(min(epsilon, Fraction(100)), arithmetic)))
    ideal = delta - groups * (1 + growth) * _FLOATS
    if ideal < delta / 2 or epsilon > 100:
        raise BadInput(
            "delta", f"is too small for {groups} groups per person by Gaussian noise", "select by the optimal rule"
        )
    root = 1 / root_down(Fraction(1, groups))  # rounded up
    for share in (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)):
        sigma = root * gaussian_sigma(epsilon, ideal * share)
        threshold = _threshold(sigma, ideal * share / groups)
        if _is_private(epsilon, ideal, groups, sigma, threshold):
            break
    else:
        raise BadInput("delta", "admits no threshold for this ε", "select by the optimal rule")
    scale, middle = float(sigma) * math.sqrt(2), float(threshold)
    entries = math.ceil(middle + 7 * scale)
    if entries > _LONGEST:
        raise BadInput("epsilon", f"is too small for {groups} groups per person", "use a larger one, or fewer groups")
    table = [min(math.floor(math.erfc((middle - n) / scale) / 2 * CERTAIN), CERTAIN) for n in range(1, entries)]
    return KeySelection("gaussian", epsilon, delta, groups, np.array([0, *table, CERTAIN], dtype=np.uint64))


def _threshold(sigma: Fraction, chance: Fraction) -> Fraction:
    """T at which a key of one person is released with at most this chance: Φ((1 − T)/σ)."""
    arithmetic = context()
    low, high = Fraction(0), Fraction(64)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if Fraction(normal(-decimal(middle, arithmetic))[1]) <= chance else (middle, high)
    return 1 + sigma * high


def _is_private(epsilon: Fraction, delta: Fraction, groups: int, sigma: Fraction, threshold: Fraction) -> bool:
    """Whether the ideal rule is (ε, δ)-private, however many m of a person's keys nobody else has.

    Those m keys stay hidden with probability q, falling in m, and noise hides the person in the others, better for fewer.
    Intervals of m are judged by the worst q and the worst noise in them.
    """
    arithmetic = context()
    hidden = 1 - Fraction(normal(decimal((1 - threshold) / sigma, arithmetic))[1])
    first = 0
    while first <= groups:
        last = min(groups, max(first, first * 11 // 10))
        stay = 1 - last * (1 - hidden)  # Bernoulli: not above hidden^last
        if stay <= 0:
            return False
        in_others = sigma * root_down(Fraction(1, groups - first)) if first < groups else None
        shift = Fraction(arithmetic.ln(decimal(stay, arithmetic))) - Fraction(1, 10**50)
        if in_others is None:
            added, removed = Fraction(0), -(epsilon + shift)  # 1 − e^x ≤ −x
        else:
            added, removed = gaussian_delta(epsilon, in_others), gaussian_delta(epsilon + shift, in_others)
        if 1 - stay + added > delta or removed > delta:
            return False
        first = last + 1
    return True


def best_method(epsilon: object, delta: object, groups_per_person: int = 1) -> KeySelection:
    """The rule under which a key needs fewer people for an even chance. Public: it depends only on the three numbers.

    >>> [best_method(1, 1e-6, groups).method for groups in (1, 2, 10)]
    ['optimal', 'optimal', 'gaussian']
    """
    rules, refusals = [], []
    for make in (optimal_selection, gaussian_selection):
        try:
            rules.append(make(epsilon, delta, groups_per_person))
        except BadInput as refusal:
            refusals.append(refusal)
    if not rules:
        raise refusals[0]
    return min(rules, key=lambda rule: rule.even_chance)


Rule = Callable[[object, object, int], KeySelection]
"""A rule from ε, δ and the keys per person."""


def rule_for(price: Price, neighbours: Neighbours, held: Contribution, make: Rule = best_method) -> KeySelection:
    """The rule for what one person changes: the person's keys. Public.

    Under `replace`, a person goes and another comes. Each step has half of ε, and δ/(1 + e^(ε/2)) (group privacy).

    >>> rule_for(Price.of(1, delta=1e-6), Neighbours(rows=10), Contribution(records=10, cells=2)).groups_per_person
    2
    """
    groups = neighbours.bounded(held.cells).rows
    if neighbours.relation == "add_remove":
        return make(price.amount, price.delta, groups)
    arithmetic, half = context(), price.amount / 2
    growth = Fraction(arithmetic.exp(decimal(min(half, Fraction(100)), arithmetic))) * (1 + Fraction(1, 10**50))
    return make(min(half, Fraction(100)), price.delta / (1 + growth), groups)


@runtime_checkable
class KeyedColumns(Protocol):
    """Columns whose groups need not be known beforehand. Trusted code, as all columns are."""

    def keyed_sums(
        self, by: Sequence[str], points: Mapping[str, int], *, squares: bool
    ) -> tuple[Sequence[tuple[Any, ...]], CellSums]:
        """The keys that records have, each once, and the sums over their records. Persons are counted in any case.

        What a person has is bounded as `contribution` says. Where each record is a person of its own, it counts as one.
        """

    def contribution(self, by: Sequence[str]) -> Contribution:
        """What `keyed_sums` by these attributes holds every person to."""


@final
@dataclass(frozen=True)
class SelectedColumns:
    """The sums of groups that were selected. Nothing is here about any other group."""

    sizes: Mapping[str, int]
    sums: CellSums
    held: Contribution
    filtered: bool = True

    @property
    def numbers(self) -> Mapping[str, object]:
        return self.sums.numbers

    def cell_sums(self, by: Sequence[str], points: Mapping[str, int], *, squares: bool, persons: bool) -> CellSums:
        return self.sums

    def contribution(self, by: Sequence[str]) -> Contribution:
        return self.held


def _groups(groups: int) -> int:
    return check_whole(groups, "groups_per_person", "pass for instance 1", least=1)
