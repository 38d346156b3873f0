"""What a ledger lets one claim: a page for a data protection officer, in the terms of NIST SP 800-226.

Near, Darais, Lefkovitz, Howarth: Guidelines for Evaluating Differential Privacy Guarantees, NIST SP 800-226, 2025, asks of
a claim: the unit of privacy, the parameters and their measure, the trust model, what was released, how the algorithms are
known to be right, and which hazards remain. Every number is read from the ledger; nothing of the data is looked at.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, round_up
from jostle.kernel.errors import show
from jostle.kernel.ledger.events import ROWS
from jostle.kernel.measures import Approximate

if TYPE_CHECKING:
    from jostle.kernel.ledger.events import Balance, Event, Statement

MEASURES: Final[Mapping[str, str]] = {
    PURE: "pure ε-differential privacy: no output is more than e^ε times as likely for one data set as for a neighbour",
    Approximate.name: "(ε, δ)-differential privacy: as pure ε, but for events that add up to a probability of at most δ",
    CONCENTRATED: "ρ-zero-concentrated differential privacy: Rényi divergences of order α are at most ρα for neighbours",
}
"""What the amounts of a measure mean. An account in another one is described by its name."""

_KERNEL, _MECHANISMS = "proofs/operators.md", "proofs/mechanisms.md"
PROOFS: Final[Mapping[str, tuple[str, ...]]] = {
    "laplace": (_KERNEL, "proofs/strategies.md"),
    "gaussian": (_KERNEL, "proofs/strategies.md", "proofs/measures.md"),
    "totals": ("proofs/totals.md", "proofs/tables.md"),
    "select_keys": ("proofs/measures.md", "proofs/totals.md", "proofs/tables.md"),
    "statistic": (_KERNEL, "proofs/statistics.md", "proofs/expressions.md"),
    "choose": (_KERNEL, "proofs/statistics.md", "proofs/criteria.md"),
    "partition": ("proofs/partition.md",),
    "plan": (_KERNEL, "proofs/records.md", "proofs/measures.md"),
    "split": (_KERNEL, "proofs/neighbours.md"),
    "minimise": ("proofs/objective.md",),
    "discrete_laplace": ("proofs/tables.md", _MECHANISMS),
    "forfeit": ("proofs/language.md",),
    "above_threshold": (_MECHANISMS,),
    "best_of": (_MECHANISMS,),
    "large_margin": ("mechanisms/large-margin.md", "proofs/measures.md"),
    "stable_selection": (_MECHANISMS, "proofs/measures.md"),
    "clipped_mean": (_MECHANISMS,),
    "clipped_sum": (_MECHANISMS,),
    "exponential": (_MECHANISMS,),
    "gradual_release": (_MECHANISMS,),
    "permute_and_flip": (_MECHANISMS,),
    "propose_test_release": ("mechanisms/propose-test-release.md", "proofs/measures.md"),
    "quantiles": (_MECHANISMS,),
    "report_noisy_max": (_MECHANISMS,),
}
"""Where it is proven that what an operator releases loses no more than it was charged."""

ALWAYS: Final = ("proofs/ledger.md", "proofs/neighbours.md", "proofs/noise.md")
"""What every charge rests on."""

PACKAGES: Final = ("jostle", "opendp", "numpy", "sqlalchemy")
"""Whose versions a claim names: noise, arithmetic and the ledger depend on them."""

TRUST: Final = (
    "Central model: whoever runs jostle (the curator) holds the raw data and is trusted with them. Those who see only what "
    "was released are not trusted, whatever else they know, however much they compute, and also if they work together."
)

LEFT_OUT: Final = (
    "Values outside of the declared bounds or lists count as the schema says: as the nearest one, on their own, or not.",
    "This page does not name who spent, nor the time of day of a charge, which may depend on the data: the ledger does.",
    "Releases from the same data that were not charged to this ledger are not in the sums above.",
)

NOT_COVERED: Final = (
    "Side channels: the time and memory of a release depend on the data. Whoever can measure them must not ask questions.",
    "Access: whoever holds the data, or may read the machine's memory, learns them, whatever was charged.",
    "The ledger: whoever may write to its file can replace it by an older copy.",
    "Data collection: how the data came to the curator, and copies elsewhere.",
    "Groups: a fact about many units, or about somebody with more data than one unit has, is not hidden.",
    "Bounds, categories and candidates that were taken from the data, instead of from public knowledge.",
    "Sensitivities that a program stated to jostle.mechanisms: whoever wrote the program has to prove them.",
    "Usefulness: a claim about privacy says nothing about how precise the answers are.",
)


@dataclass(frozen=True)
class Claim:
    """What can be claimed about the accounts of a ledger. Nothing in it is private beyond what the ledger holds.

    >>> import tempfile
    >>> from jostle import Ledger
    >>> ledger = Ledger(tempfile.mkdtemp() + "/budget.db")
    >>> people = ledger.account("patients", cap=1, unit="patient_id")
    >>> event = people.charge(Fraction(1, 2), operator="laplace", neighbours="add_remove", unit="patient_id", note="by ward")
    >>> claim = Claim.of(ledger.statement("patients"))
    >>> claim.facts["accounts"][0]["spent"], claim.facts["accounts"][0]["unit"]
    ('1/2', 'each patient_id')
    >>> print(claim.to_markdown().splitlines()[0])
    # Privacy claim: patients
    """

    facts: dict[str, Any]
    """Everything that the page says, for a program."""

    @classmethod
    def of(cls, statement: Statement) -> Claim:
        """The claim that follows from accounts and their events. Refused if these do not add up."""
        statement.check()
        return cls(
            {
                "standard": "NIST SP 800-226",
                "accounts": [_account(has, statement.events) for has in statement.balances],
                "trust_model": TRUST,
                "left_out": list(LEFT_OUT),
                "proofs": _proofs(statement.events),
                "audits": [
                    "jostle audit: attacks on every operator, mechanism, algorithm and learner on neighbouring data sets",
                    "docs/mutants.md: privacy bugs that are planted in tests, each of which must be noticed",
                    "jostle budget LEDGER: the charges, and that they add up",
                ],
                "not_covered": list(NOT_COVERED),
                "versions": _versions(),
                "events_sha256": _digest(statement.events),
            }
        )

    def to_json(self) -> str:
        """The facts, with exact amounts as texts."""
        return json.dumps(self.facts, indent=2, ensure_ascii=False)

    def to_markdown(self) -> str:
        """One page for people."""
        return "\n".join(_page(self.facts)) + "\n"


def _account(has: Balance, events: Sequence[Event]) -> dict[str, Any]:
    own = [event for event in events if event.dataset == has.dataset]
    return {
        "name": has.dataset,
        "unit": "single rows" if has.unit == ROWS else f"each {has.unit}",
        "rows_per_unit": has.neighbours.rows,
        "neighbours": has.neighbours.relation,
        "measure": has.measure,
        "meaning": MEASURES.get(has.measure, f"the measure {has.measure!r}: see docs/proofs/measures.md"),
        "cap": str(has.cap),
        "delta": str(getattr(has.limit, "delta", 0)),
        "spent": str(has.spent),
        "spent_float": round_up(has.spent),
        "opened": own[0].at[:10],
        "caps": [{"day": one.at[:10], "cap": str(one.amount), "note": one.note} for one in own if one.kind == "cap"],
        "releases": [_release(event) for event in own if event.kind == "charge"],
    }


def _release(event: Event) -> dict[str, Any]:
    what = {
        "day": event.at[:10],
        "amount": str(event.amount),
        "operator": event.operator,
        "for": event.note,
        "key": event.key,
    }
    return what | ({} if event.measure == PURE else {"measure": event.measure})


def _proofs(events: Sequence[Event]) -> list[str]:
    used = {event.operator for event in events if event.kind == "charge"}
    pages = [page for operator in sorted(used) for page in PROOFS.get(operator, ())]
    return [f"docs/{page}" for page in dict.fromkeys([*ALWAYS, *pages])]


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": sys.platform}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from its source
            found[name] = "unknown"
    return found


def _digest(events: Sequence[Event]) -> str:
    """Of all events, in order: whoever has the ledger can compare it with that of the page."""
    said = [asdict(event) | {"amount": str(event.amount)} for event in events]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _page(facts: dict[str, Any]) -> Iterator[str]:
    names = ", ".join(_plain(account["name"]) for account in facts["accounts"])
    yield f"# Privacy claim: {names}"
    yield ""
    yield f"In the terms of {facts['standard']}. Every number comes from the ledger; the data were not read."
    for account in facts["accounts"]:
        yield from _about(account)
    yield from _listed("Trust model", [facts["trust_model"]])
    yield from _listed("What was left out", facts["left_out"])
    yield from _listed("What stands behind it", [*(f"Proof: {page}" for page in facts["proofs"]), *facts["audits"]])
    yield from _listed("What is not covered", facts["not_covered"])
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    yield from _listed("Versions", [f"This page: {versions}", f"SHA-256 of the ledger's events: {facts['events_sha256']}"])


def _about(account: dict[str, Any]) -> Iterator[str]:
    several, odds = account["rows_per_unit"] > 1, math.exp(min(account["spent_float"], 700))
    of_units, symbol = account["unit"] != "single rows", SYMBOLS.get(account["measure"], "ε")
    delta = "" if account["delta"] == "0" else f", δ = {_amount(account['delta'])}"
    unit = _plain(account["unit"]) + (f", up to {account['rows_per_unit']:,} rows each" if several else "")
    relation = {
        "add_remove": f"Two data sets are neighbours if one has {'the rows of one unit' if of_units else 'one row'} more",
        "replace": "Two data sets are neighbours if the rows of one unit differ; nobody comes or goes",
    }.get(account["neighbours"], account["neighbours"])
    yield from ("", f"## {_plain(account['name'])}", "", "| | |", "| --- | --- |")
    yield f"| What is protected (unit of privacy) | {unit} |"
    yield "| From whom | everybody who sees what was released |"
    yield f"| Neighbours | {relation} |"
    yield f"| Measure | {account['meaning']} |"
    yield f"| Spent | {symbol} = {_amount(account['spent'])}{delta} |"
    yield f"| The most that may ever be spent | {symbol} = {_amount(account['cap'])}{delta} |"
    if account["measure"] == PURE:
        yield f"| What that means | all releases together change the odds of a guess about a unit at most {odds:,.3g}-fold |"
    yield f"| Kept since | {account['opened']} |"
    for changed in account["caps"]:
        yield f"| Cap changed | {changed['day']}, to {_amount(changed['cap'])}{_because(changed['note'])} |"
    yield from ("", f"### Releases from {_plain(account['name'])}", "")
    if not account["releases"]:
        yield "Nothing was released."
        return
    yield from ("| day (UTC) | amount | how | what for | event |", "| --- | --- | --- | --- | --- |")
    for one in account["releases"]:
        amount = _amount(one["amount"]) + (f" ({_plain(one['measure'])})" if "measure" in one else "")
        yield f"| {one['day']} | {amount} | {_plain(one['operator'])} | {_plain(one['for'])} | {one['key'][:8]} |"
    if several or of_units:
        yield from ("", "Rows of a unit beyond its limit, and rows that name no unit, were not used.")


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from (f"- {line}" for line in lines)


def _amount(exact: str) -> str:
    return show(Fraction(exact))


def _because(note: str) -> str:
    return f" ({_plain(note)})" if note else ""


def _plain(text: str) -> str:
    r"""A text of the caller's, as it is: nothing in it becomes a mark of the page.

    >>> print(_plain("a|b <b> *c*"))
    a\|b \<b\> \*c\*
    """
    marked = "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in text)
    return " ".join(marked.split())
