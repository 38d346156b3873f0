"""What a ledger remembers: in a list, in a file, and what it has saved. It can be forgotten; what was paid stays paid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.kernel.budget import SYMBOLS, round_down
from jostle.tables.memory.bodies import Remembered, UnknownForm, unpacked
from jostle.tables.memory.memory import SAVED
from jostle.tables.memory.store import Keepsake, MemoryStore

if TYPE_CHECKING:
    from jostle.kernel.ledger import Ledger


@dataclass(frozen=True)
class Saving:
    """What questions of one account did not cost."""

    account: str
    measure: str
    amount: Fraction
    """What they may have cost, less what they did."""

    questions: int
    """How many were answered from memory, wholly or in part."""

    free: int
    """How many of them cost nothing."""

    @property
    def in_words(self) -> str:
        """The sum, and how many questions it comes from.

        >>> Saving("people", "pure", Fraction(1, 2), 1, 1).in_words
        'ε = 0.5 in 1 question, 1 of which cost nothing'
        """
        many = "1 question" if self.questions == 1 else f"{self.questions:,} questions"
        symbol = SYMBOLS.get(self.measure, self.measure)
        return f"{symbol} = {round_down(self.amount):g} in {many}, {self.free:,} of which cost nothing"


def savings(ledger: Ledger, account: str | None = None) -> list[Saving]:
    """What was saved, per account and measure."""
    found = []
    for one in ledger.accounts():
        if account not in (None, one.name):
            continue
        for kept in MemoryStore(ledger, one.name).everything():
            if kept.topic.startswith(SAVED):
                amount, questions, free = kept.body.decode().split()
                measure = kept.topic.removeprefix(SAVED)
                found.append(Saving(one.name, measure, Fraction(amount), int(questions), int(free)))
    return found


def remembered(ledger: Ledger, account: str, *, numbers: bool = False) -> list[dict[str, Any]]:
    """What is remembered of an account, oldest first: public facts, and with `numbers` the released numbers too."""
    ledger.balance(account)  # refuses an account that is not there
    kept = MemoryStore(ledger, account).everything()
    return [facts for one in kept if (facts := _facts(one, numbers=numbers)) is not None]


def forget(ledger: Ledger, account: str, *, before: str | None = None) -> int:
    """Forget what is remembered of an account, all of it or what is older than a time; returns how many things."""
    ledger.balance(account)
    return MemoryStore(ledger, account).forget(before=before)


def _facts(kept: Keepsake, *, numbers: bool) -> dict[str, Any] | None:
    at = f"{kept.at[:19]}+00:00"
    try:
        if kept.topic.startswith("m:"):
            one = Remembered.of_bytes(kept.body)
            said = {"kind": "measurement", "at": at, "what": one.what, "price": one.price, "numbers": one.numbers.size}
            said |= {"noise": one.noise, "scale or variance": str(one.amount), "unit": one.unit, "bytes": len(kept.body)}
            return said | ({"values": one.numbers.tolist()} if numbers else {})
        if kept.topic.startswith("a:"):
            facts, arrays = unpacked(kept.body)
            said = {"kind": "answer", "at": at, "what": facts["what"], "price": facts["amount"]}
            said |= {"numbers": sum(array.size for array in arrays.values()), "bytes": len(kept.body)}
            return said | ({"values": {name: array.tolist() for name, array in arrays.items()}} if numbers else {})
    except (UnknownForm, KeyError, ValueError):
        return {"kind": "unknown", "at": at, "bytes": len(kept.body)}
    return None
