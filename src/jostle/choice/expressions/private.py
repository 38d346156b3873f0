"""Private numbers and cells before they are paid for: what can be written with them, and what is refused.

Privacy: an expression is translated to the rules of `jostle.kernel.functions.expressions`, which evaluate it exactly and
bound how far one record moves it. A slip in this module can make it another number than was meant; it cannot make it less
private. What the rules cannot bound (products and ratios of private numbers, limits that are private) is refused here, by
its name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, Self, final

import numpy as np

from jostle.choice.expressions.public import Domain, Mask, Places, PublicNumber, public, short
from jostle.kernel.arguments import counts
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.functions import expressions as rules
from jostle.kernel.functions.statistics import Derived
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Partition, Vector
from jostle.kernel.source import Source

DEEPEST = 60
"""The most operations that may be nested in one expression."""

Shape = int | tuple[int, ...] | Domain
Draft = tuple[rules.Term, Places]
"""An expression over one domain: the kernel's term, and where its entries lie (nowhere, if it is a number)."""


class Private(ABC):
    """What depends on the data and was not paid for: it can be combined and measured, never looked at."""

    def __init__(self, text: str, draft: Callable[[Scope], Draft], *parts: Private) -> None:
        self.text, self._draft = short(text), draft
        self._depth: int = 1 + max((part._depth for part in parts), default=0)
        if self._depth > DEEPEST:
            raise BadInput(f"`{self.text}`", f"is nested more than {DEEPEST} deep", "measure parts of it on their own")

    @classmethod
    @abstractmethod
    def _plain(cls) -> type[Private]:
        """PrivateNumber or Cells: what operations on it give."""

    def _like(self, text: str, draft: Callable[[Scope], Draft], *parts: Private) -> Self:
        return self._plain()(text, draft, *parts)  # type: ignore[return-value]  # a condition becomes plain cells

    def _derived(self, rule: Callable[[rules.Term], rules.Term], text: str) -> Self:
        return self._like(text, lambda scope: then(scope(self), rule), self)

    def _scaled(self, number: PublicNumber, text: str, *, inverse: bool = False) -> Self:
        def draft(scope: Scope) -> Draft:
            factor = number.on(scope.domain)
            if inverse and factor == 0:
                raise BadInput(f"`{short(text)}`", "divides by zero", "divide by another number")
            weight = 1 / factor if inverse else factor
            if weight == 1:
                return scope(self)
            return then(scope(self), lambda term: rules.weighted(term, [weight.numerator], weight.denominator))

        return self._like(text, draft, self)

    def _joined(self, other: object, rule: Callable[[rules.Term, rules.Term], rules.Term], text: str) -> Self:
        """What a rule makes of this and another expression of its kind, or a public number."""
        if isinstance(other, Private):
            if other._plain() is not self._plain():
                raise BadInput(f"`{short(text)}`", "combines a number with cells", "reduce the cells to a number first")
            return self._like(text, lambda scope: (rule(scope(self)[0], scope(other)[0]), scope(self)[1]), self, other)
        number = public(other, f"`{short(text)}`")

        def draft(scope: Scope) -> Draft:
            (term, places), value = scope(self), number.on(scope.domain)
            if rule is rules.added and value == 0:
                return term, places
            return rule(term, rules.public([value.numerator] * term.entries, value.denominator)), places

        return self._like(text, draft, self)

    def __add__(self, other: object) -> Self:
        return self._joined(other, rules.added, f"({self.text} + {text_of(other)})")

    def __radd__(self, other: object) -> Self:
        return self._joined(other, rules.added, f"({text_of(other)} + {self.text})")

    def __neg__(self) -> Self:
        return self._scaled(public(-1), f"-{self.text}")

    def __sub__(self, other: object) -> Self:
        text = f"({self.text} - {text_of(other)})"
        negative = -other if isinstance(other, Private) else -1 * public(other, f"`{short(text)}`")
        return self._joined(negative, rules.added, text)

    def __rsub__(self, other: object) -> Self:
        return (-self)._joined(other, rules.added, f"({text_of(other)} - {self.text})")

    def __mul__(self, other: object) -> Self:
        text = f"({self.text} * {text_of(other)})"
        return self._scaled(
            _only_public(other, text, "is a product of private numbers", "measure both, then multiply"), text
        )

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Self:
        text = f"({self.text} / {text_of(other)})"
        return self._scaled(
            _only_public(other, text, "divides by a private number", "measure both, then divide"), text, inverse=True
        )

    def __rtruediv__(self, other: object) -> NoReturn:
        raise _refusal(f"({text_of(other)} / {self.text})", "divides by a private number", "measure both, then divide")

    def __pow__(self, other: object) -> NoReturn:
        raise _refusal(
            f"({self.text} ** {text_of(other)})", "is a product of private numbers", "measure it, then take its power"
        )

    def __abs__(self) -> Self:
        return self._joined(-self, rules.larger, f"abs({self.text})")

    def clip(self, least: PublicNumber | float, most: PublicNumber | float) -> Self:
        """Not below and not above public numbers, which bounds how far one record moves it.

        >>> from jostle.choice.expressions import db
        >>> db.values.weighted([1, 9]).clip(0, 3).sum().sensitivity(2)
        Fraction(3, 1)
        """
        low, high, text = public(least), public(most), f"clip({self.text}, {text_of(least)}, {text_of(most)})"

        def draft(scope: Scope) -> Draft:
            (term, places), a, b = scope(self), low.on(scope.domain), high.on(scope.domain)
            finer = rules.weighted(term, [unit := math.lcm(a.denominator, b.denominator)], unit)
            return rules.clipped(finer, int(a * finer.unit), int(b * finer.unit)), places

        return self._like(text, draft, self)

    def __bool__(self) -> NoReturn:
        raise BadInput(f"`{self.text}`", "is private: a program may not decide by it", "measure it, then decide")

    def __float__(self) -> NoReturn:
        raise BadInput(f"`{self.text}`", "is private", "measure it")

    def __iter__(self) -> NoReturn:
        raise BadInput(f"`{self.text}`", "is private: it cannot be looped over", "use largest, smallest or sum()")

    def __repr__(self) -> str:
        return f"<private {self.text}>"


@final
class PrivateNumber(Private):
    """One private number: what can be measured."""

    def on(self, shape: Shape, axes: tuple[str, ...] | None = None) -> Derived:
        """The statistic that it is over a domain: for `Source.statistic`, and for its sensitivities.

        >>> from jostle.choice.expressions import db
        >>> db.values.sum().on(4).sensitivities(4)
        (1, 0)
        """
        domain = Domain.of(shape, axes)
        return Derived(Scope(domain)(self)[0], self.text)

    def sensitivity(
        self, shape: Shape, neighbours: Neighbours | str = "add_remove", *, axes: tuple[str, ...] | None = None
    ) -> Fraction:
        """How far neighbours are apart at most, as derived.

        >>> from jostle.choice.expressions import db, largest
        >>> largest(db.values).sensitivity(4, "replace")
        Fraction(1, 1)
        """
        size, statistic = Domain.of(shape, axes).size, self.on(shape, axes)
        return Neighbours.of(neighbours).sensitivity(*statistic.sensitivities(size)) / statistic.unit(size)

    def noise_scale(
        self,
        shape: Shape,
        epsilon: object,
        neighbours: Neighbours | str = "add_remove",
        *,
        axes: tuple[str, ...] | None = None,
    ) -> float:
        """The scale of the noise if it is measured with this ε: a public number.

        >>> from jostle.choice.expressions import db, largest
        >>> largest(db.values).noise_scale(4, 0.1)
        10.0
        """
        size, statistic = Domain.of(shape, axes).size, self.on(shape, axes)
        moves = Neighbours.of(neighbours).sensitivity(*statistic.sensitivities(size))
        return float(calibrate(moves, exact(epsilon)) / statistic.unit(size))

    def measure(self, source: Source, budget: Budget, *, axes: tuple[str, ...] | None = None) -> Vector:
        """The number with noise by its derived sensitivity; one per trial in a simulation of several.

        >>> from jostle.choice.expressions import db
        >>> from jostle.kernel.source import SimulatedSource
        >>> source = SimulatedSource([3, 0, 4], seed=1)
        >>> float(db.values.sum().measure(source, source.grant(1)))
        8.0
        """
        return source.statistic(self.on(source.shape, axes), budget)

    def value(self, x: object, *, axes: tuple[str, ...] | None = None) -> float:
        """Its true value on public data, as it would be measured without noise.

        >>> from jostle.choice.expressions import db, stddev
        >>> stddev(db.values).value([1, 3])
        1.0
        """
        vector, shape = counts(x)
        statistic = self.on(shape, axes)
        return statistic.value(vector) / statistic.unit(vector.size)

    @classmethod
    def _plain(cls) -> type[Private]:
        return PrivateNumber

    def _refuse_comparison(self, other: object) -> NoReturn:
        raise BadInput(
            f"`{self.text}`", "is a private number: it cannot be compared before it is paid for", "measure it, then compare"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison
    __eq__ = __ne__ = _refuse_comparison
    __hash__ = object.__hash__


class Scope:
    """One derivation: a domain, and what has been derived over it already."""

    def __init__(self, domain: Domain) -> None:
        self.domain, self._known = domain, dict[int, Draft]()

    def __call__(self, expression: Private) -> Draft:
        """The draft of an expression, made once."""
        if id(expression) not in self._known:
            try:
                self._known[id(expression)] = expression._draft(self)
            except BadInput as error:
                if error.argument != "expression":
                    raise
                raise BadInput(f"`{expression.text}`", error.problem, error.remedy) from None
        return self._known[id(expression)]


def number(text: str, rule: Callable[[rules.Term], rules.Term], of: Private) -> PrivateNumber:
    """What a rule makes of cells."""
    return PrivateNumber(text, lambda scope: (rule(scope(of)[0]), {}), of)


def then(draft: Draft, rule: Callable[[rules.Term], rules.Term]) -> Draft:
    """The same entries after one rule more."""
    return rule(draft[0]), draft[1]


def total(term: rules.Term) -> rules.Term:
    """All entries in one group."""
    return rules.grouped(term, Partition.of(np.zeros(term.entries, dtype=np.int64)))


def text_of(value: object) -> str:
    """What is shown of an operand."""
    return value.text if isinstance(value, (Private, PublicNumber, Mask)) else short(str(value))


def _refusal(text: str, problem: str, instead: str) -> BadInput:
    return BadInput(f"`{short(text)}`", problem, f"{instead}: what is done with measured numbers is free")


def _only_public(value: object, text: str, problem: str, instead: str) -> PublicNumber:
    """The number; a private one is refused, as no rule can bound what it would do."""
    if isinstance(value, Private):
        raise _refusal(text, problem, instead)
    return public(value, f"`{short(text)}`")
