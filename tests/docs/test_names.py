"""The pages of proofs name code that is there: a renamed function fails here, and not the reader."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = {file: file.read_text("utf-8") for folder in ("src/jostle", "tests") for file in (ROOT / folder).rglob("*.py")}
WORDS = {word for text in CODE.values() for word in re.findall(r"\w+", text)} | {
    part for file in CODE for part in (*file.relative_to(ROOT).parts, file.stem)
}
ELSEWHERE = {"math", "pandas", "secrets"} | {"row_security"}
"""Others' modules, and a setting of PostgreSQL."""


def holders() -> dict[str, str]:
    """The modules, packages and classes of jostle, each with the text in which its names are."""
    found: dict[str, str] = {}
    for file, text in CODE.items():
        folder, *packages = file.relative_to(ROOT).parts[:-1]
        if folder != "src":
            continue
        for name in {file.stem, packages[-1], *re.findall(r"^class (\w+)", text, re.MULTILINE)}:
            found[name] = found.get(name, "") + text
        for package, inside in zip(packages, [*packages[1:], file.stem], strict=True):
            found[package] = f"{found.get(package, '')} {inside}"
    return found


HOLDERS = holders()


def missing(name: str) -> bool:
    """Whether a name is not to be found: a word that no file has, or `holder.name` where the holder lacks it.

    A variable may be named after its class: `contribution.cells` for `Contribution`.
    """
    parts = name.split(".")
    if parts[0] in ELSEWHERE:
        return False
    pairs = itertools.pairwise(parts)
    return any(part not in WORDS for part in parts) or any(
        not re.search(rf"\b{inside}\b", HOLDERS.get(holder, HOLDERS.get(holder.title(), ""))) for holder, inside in pairs
    )


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "proofs").glob("*.md")), ids=lambda page: page.name)
def test_the_names_of_code_in_a_proof_are_there(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)(?:\([^`]*\))?`", prose))
    assert [name for name in sorted(named) if not name.endswith((".py", ".md")) and missing(name)] == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert missing("asking.check")
    assert missing("no_" + "such_function")
    assert not missing("Query.check")
    assert not missing("jostle.kernel.functions.statistics")
