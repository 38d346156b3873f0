"""Which process runs which tests: those of a file stay together, and all that need Spark, which is slow to start."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

SPARK = "spark"
"""The group of all tests whose name has Spark in it."""

LONGEST = (
    "tests/tables/test_spark_plans.py",
    "tests/explorer/test_pages.py",
    "tests/tables/test_types.py",
    "tests/test_installation.py",
    "tests/audit/test_mutants.py",
)
"""Files that come first, so that none of them is what everybody waits for at the end."""


def place(nodeid: str) -> int:
    """A test's place in the order: the longest files, then all others as they were collected."""
    file = nodeid.split("::", 1)[0]
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)


class TogetherScheduling(LoadFileScheduling):
    """Files, and one group of tests that need Spark."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.split("::", 1)[0]
        in_a_group = SPARK in nodeid.lower() and file.startswith(("tests/tables/", "tests/audit/"))
        return SPARK if in_a_group else file
