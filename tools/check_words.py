"""Look for phrases that make jostle hard to read, in documents, docstrings, comments, messages and templates.

`make lint` runs it: a phrase of `BANNED` is an error, and so are more than `MOST_LONG` sentences of over 30 words in texts,
docstrings, comments and messages. With `--sentences`, each of these is listed; aim for 25 words. Code, generated reports and
quoted output are not looked at.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENTS: Final = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
CODE: Final = ("src/jostle/**/*.py", "bench/src/jostle_bench/**/*.py", "tools/*.py")
TEMPLATES: Final = ("src/jostle/explorer/templates/*.html", "bench/src/jostle_bench/reports/*.html")
GENERATED: Final = ("docs/results/", "docs/mutants.md")
"""Reports that a command writes: repair the command, which is looked at."""

THINGS: Final = (
    "person|trial|run|row|cell|input|query|line|group|attribute|axis|level|part|workload|record|column|node|class|value"
)
BANNED: Final = {
    r"unless (?:it is |you are |they are )?(?:said|told)": "name the default: 'by default …'",
    r"(?<!there )(?<!There )\b(?:is|are) none\b(?! of)": "say what it is not: 'is not a number'",
    r"\b(?:[Oo]f|[Bb]eyond|[Uu]p to|[Bb]etween|[Aa]t most|[Aa]t least|than|in|on)"
    r" so many\b(?! more)": "'this many', or the number",
    r"\bso much at\b": "name the amount",
    r"\bsuch a one\b": "repeat the noun",
    r"\b(?:is|are|was|were|be|been) told\b(?! apart| from)": "name who says what: 'jostle reports …'",
    r"\bwithout a word\b": "'silently', or say what is not reported",
    r"\b(?:data|records|tables|inputs|letters|candidates|proportions|memory|library|numbers|rows|counts|values|columns)"
    r" alone\b": "'only', before it",
    r"\bshort of it by\b": "'… too much'",
    r"\b(?:rows|cells|bins|boxes|(?:an?|one) row) an? (?:"
    + THINGS
    + r")\b(?! has| may)": "'per', not 'a': 3 rows per person",
    r"\b(?:one|two|three|four|five|\d[\d,]*) (?:\w+ )?(?:numbers?|parts?|runs?|trials?|records?|lines?|trees?|bytes) an? (?:"
    + THINGS
    + r")\b": "'per', not 'a': one number per query",
}
PATTERNS: Final = [(re.compile(pattern), advice) for pattern, advice in BANNED.items()]
LONGEST: Final = 30
"""Words of a sentence."""

MOST_LONG: Final = 200
"""Sentences with more words than that, most of them in proofs. Lower it when there are fewer; never raise it."""


class Prose(NamedTuple):
    """A text that people read, and the line on which it begins."""

    file: Path
    line: int
    text: str


def without_code(text: str) -> str:
    r"""Markdown or a docstring without blocks, examples and names of code; the number of lines stays.

    >>> without_code("Use `a is none` so:\n```\nis none\n```\n>>> x is none\n\nEnd.").split()
    ['Use', 'so:', 'End.']
    """
    text = re.sub(r"^ *```.*?^ *```|^ *>>> .*?(?=\n\s*\n|\Z)", _blank_lines, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def _blank_lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def in_document(file: Path) -> Iterator[Prose]:
    """The text of a Markdown page."""
    yield Prose(file, 1, without_code(file.read_text("utf-8")))


def in_template(file: Path) -> Iterator[Prose]:
    """The text of an HTML template, with the words of attributes that people see."""
    text = re.sub(r"{[{%#].*?[}%#]}", _blank_lines, file.read_text("utf-8"), flags=re.DOTALL)
    yield Prose(file, 1, text)


def in_code(file: Path) -> Iterator[Prose]:
    """Docstrings, other texts with a blank in them, and comments."""
    source = file.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Prose(file, node.lineno, without_code(node.value))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(file, token.start[0], re.sub(r"`[^`]*`", "", token.string))


def every_text(root: Path = ROOT) -> Iterator[Prose]:
    """All that people read."""
    for patterns, reader in ((DOCUMENTS, in_document), (CODE, in_code), (TEMPLATES, in_template)):
        for pattern in patterns:
            for file in sorted(root.glob(pattern)):
                name = file.relative_to(root).as_posix()
                if not name.startswith(GENERATED) and file != Path(__file__).resolve():
                    yield from reader(file)


def banned(prose: Prose) -> Iterator[str]:
    r"""A line for each banned phrase.

    >>> list(banned(Prose(ROOT / "x.md", 1, "A text.\nIt keeps 3 rows a person.")))
    ["x.md:2: 'rows a person': 'per', not 'a': 3 rows per person"]
    """
    for pattern, advice in PATTERNS:
        for found in pattern.finditer(prose.text):
            line = prose.line + prose.text.count("\n", 0, found.start())
            yield f"{prose.file.relative_to(ROOT)}:{line}: {found[0]!r}: {advice}"


def long_sentences(prose: Prose) -> Iterator[str]:
    """A line for each sentence of too many words; tables and headings are left out.

    >>> list(long_sentences(Prose(ROOT / "x.md", 1, "word " * 41 + "end.")))
    ['x.md:1: 42 words: word word word word word word …']
    """
    if prose.file.suffix == ".html" or "SELECT" in prose.text:  # lists of fields, and queries
        return
    kept = re.sub(r"^\s*[|#].*$|[→─]", "", prose.text, flags=re.MULTILINE)
    for found in re.finditer(r"(?:[^.!?:;\n]|\n(?!\s*(?:\n|[-*]\s|\d+\.\s))|[.!?:;](?!\s|$))+", kept):
        words = found[0].split()
        if len(words) > LONGEST:
            line = prose.line + kept.count("\n", 0, found.start())
            yield f"{prose.file.relative_to(ROOT)}:{line}: {len(words)} words: {' '.join(words[:6])} …"


def main() -> int:
    """Print what was found; the number of errors decides."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", action="store_true", help="also list long sentences, as warnings")
    texts = list(every_text())
    long = [line for prose in texts for line in long_sentences(prose)]
    if parser.parse_args().sentences or len(long) > MOST_LONG:
        print(*(f"warning: {line}" for line in long), sep="\n")
    found = [line for prose in texts for line in banned(prose)]
    if len(long) > MOST_LONG:
        found.append(f"{len(long)} sentences of more than {LONGEST} words, and there may be {MOST_LONG}: split the new ones")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
