"""Audits of privacy: lower bounds on ε for every mechanism, operator and algorithm, and attacks that must fail."""

from jostle.audit import catalogue
from jostle.audit.entries import Audited, Pair
from jostle.audit.examine import Verdict, examine

__all__ = ["Audited", "Pair", "Verdict", "catalogue", "examine"]
