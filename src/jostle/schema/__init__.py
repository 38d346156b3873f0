"""The public description of a table: which columns it has, which values are possible, and which cell each value falls into.

A schema is written by a person who knows the subject, never read from the data: a bound or a list of categories taken from
private records is a leak. Values that the schema does not foresee follow a declared rule and never raise.
"""

from jostle.schema.columns import MISSING, OTHER, Boolean, Category, Column, Integer, Numeric, Real
from jostle.schema.dates import Date
from jostle.schema.free_text import Text
from jostle.schema.schema import KINDS, Schema

__all__ = [
    "KINDS",
    "MISSING",
    "OTHER",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Integer",
    "Numeric",
    "Real",
    "Schema",
    "Text",
]
