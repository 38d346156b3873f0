"""What one person may change: the relation between data sets that privacy is promised for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from jostle.kernel.arguments import check_one_of, check_whole

Relation = Literal["add_remove", "replace"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two data sets are neighbours if they differ in one person's records.

    Every lemma of the kernel states two numbers about a function of the data: how far it moves when one record
    is added or removed, and how far when one record is replaced. `sensitivity` turns them into the number that
    noise is calibrated to. Proof: docs/proofs/neighbours.md.

    >>> Neighbours("add_remove").sensitivity(1, 2), Neighbours("replace").sensitivity(1, 2)
    (Fraction(1, 1), Fraction(2, 1))
    """

    relation: Relation = "add_remove"
    """`add_remove`: one record more or less. `replace`: one record changed; their number is then public."""

    rows: int = 1
    """The most records that one person has."""

    part: bool = False
    """True in a part of a data set that was split: under `replace` a record may then leave this part for another."""

    filtered: bool = False
    """True where some records do not count, by a public rule: under `replace` a record may then begin or cease to count."""

    def __post_init__(self) -> None:
        check_one_of(self.relation, "neighbours", get_args(Relation))
        rows = check_whole(self.rows, "rows", "pass the most records that one person has", least=1)
        object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, value: Neighbours | str) -> Neighbours:
        """Take the word or the object.

        >>> Neighbours.of("replace").relation
        'replace'
        """
        return value if isinstance(value, Neighbours) else cls(value)  # type: ignore[arg-type]

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is known to everyone: only if each person has exactly one, here, always."""
        return self.relation == "replace" and self.rows == 1 and not self.part and not self.filtered

    def sensitivity(self, add_remove: Fraction | int, replace: Fraction | int) -> Fraction:
        """How far a function may move between neighbours, given how far one record moves it.

        - A person with several records moves it that many times as far (group privacy); under `replace` the number of
          records may then change too.
        - In a part of a split under `replace`, a record that goes to another part is an addition or a removal in two parts
          at once, each of which may use half the budget only: hence twice the first number.
        - Among filtered records under `replace`, one may also be added or removed.
        """
        return self._one_record(add_remove, replace) * self.rows

    def squared_sensitivity(self, add_remove: int, replace: int) -> Fraction:
        """The same for squared L2 distances and Gaussian noise.

        A person with several records moves a vector by as many times one record's distance, not by the root of that. In a
        part, a record that goes to another may lose half of ρ in each of the two: hence twice the first number.
        """
        return self._one_record(add_remove, replace) * self.rows**2

    def _one_record(self, add_remove: Fraction | int, replace: Fraction | int) -> Fraction:
        if self.relation == "add_remove":
            return Fraction(add_remove)
        if self.part:
            return Fraction(max(replace, 2 * add_remove))
        return Fraction(replace if self.rows == 1 and not self.filtered else max(replace, add_remove))

    def in_part(self) -> Neighbours:
        """The relation inside one part of a data set that is split."""
        return replace(self, part=True) if self.relation == "replace" and not self.part else self

    def among_filtered(self) -> Neighbours:
        """The relation among those records that a public rule lets through."""
        return replace(self, filtered=True) if self.relation == "replace" and not self.filtered else self

    def bounded(self, rows: int | None) -> Neighbours:
        """The relation where at most that many records of a person count, by a rule about the person's own records.

        A person may then have fewer as well. None, or more than there are anyway, changes nothing.

        >>> Neighbours("replace", rows=3).bounded(2)
        Neighbours(relation='replace', rows=2, part=False, filtered=True)
        """
        return self if rows is None or rows >= self.rows else replace(self.among_filtered(), rows=rows)

    def __str__(self) -> str:
        return self.relation if self.rows == 1 else f"{self.relation}, {self.rows} rows per person"
