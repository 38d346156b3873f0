"""Writes the page about planted bugs: python -m tests.audit.list_mutants > docs/mutants.md"""

from __future__ import annotations

from tests.audit.mutants import MUTANTS

HEAD = """\
# Planted bugs

A test suite that has never seen a privacy bug may not notice one. So {number} of them are planted, one at a time, in tests
alone, and each must be noticed: by an entry of the [audit](audit.md) with about as many samples as the quick one has, by the
audit of charges, or by a test that is there anyway. Without a bug, each of these must be silent. Many are bugs of published
or released code.

This page is written by `python -m tests.audit.list_mutants > docs/mutants.md`; the bugs are in
`tests/audit/mutants*.py`, and `tests/audit/test_mutants.py` plants them.

| planted bug | who notices |
| --- | --- |
"""


def page() -> str:
    """The page, as it should be."""
    return HEAD.format(number=len(MUTANTS)) + "".join(f"| {one.name} | {one.detector.name} |\n" for one in MUTANTS)


if __name__ == "__main__":
    print(page(), end="")
