"""For the reference: headings say what users type, such as `jostle.open`, not where the code is.

Everywhere: what examples print is not coloured as code.

A hook of mkdocs. The public name of an object is the shortest one under which a package's `__init__` hands it on. Files are
read, and nothing is imported.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src"


@cache
def public_names() -> dict[str, str]:
    """From the place of each object that a package hands on to its public name."""
    found: dict[str, str] = {}
    for file in sorted([*SOURCE.glob("jostle/**/__init__.py"), *SOURCE.glob("jostle/__init__.pyi")], reverse=True):
        package = ".".join(file.parent.relative_to(SOURCE).parts)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            module = node.module if node.level == 0 else f"{package}.{node.module}"
            for name in node.names:
                place, public = f"{module}.{name.name}", f"{package}.{name.asname or name.name}"
                if not public.rpartition(".")[2].startswith("_") and len(public) <= len(found.get(place, place)):
                    found[place] = public
    return {place: found.get(public, public) for place, public in found.items()}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the public name over each object of the reference, and reads examples with prompts as consoles."""

    def with_heading(line: re.Match[str]) -> str:
        public = public_names().get(line[1], line[1])
        if public == line[1]:
            return line[0]
        return f"{line[0]}\n    options:\n      heading: {public}\n      toc_label: {public.rpartition('.')[2]}"

    markdown = re.sub(r"^( *)```python\n(?= *>>> )", r"\1```pycon\n", markdown, flags=re.MULTILINE)
    return re.sub(r"^::: ([\w.]+)$", with_heading, markdown, flags=re.MULTILINE)
