"""Choice makers in files: train once, choose anywhere. A file holds the learned tree; options and metafeatures are code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from jostle.choice import strict_json
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.decision_rules import RegretTree
from jostle.choice.options import as_options
from jostle.choice.strict_json import Entries
from jostle.choice.tree_files import read_tree
from jostle.kernel.errors import BadInput

FORMAT: Final = "jostle choice"
SCHEMA: Final = 1


def dumps(maker: ChoiceMaker) -> str:
    """What was learned, as JSON.

    >>> from jostle import workloads
    >>> told = {"options": ["Laplace", "Uniform"], "queries": workloads.identity}
    >>> maker = ChoiceMaker(trained_on=[[0, 9], [5, 5]], **told)
    >>> loads(dumps(maker), options=["Uniform", "Laplace"])
    <ChoiceMaker choice among Uniform, Laplace>
    """
    if not isinstance(maker.way, RegretTree):
        raise BadInput("maker", f"decides by {maker.way.kind}, which may be code", "train it with by='regret tree'")
    versions = {option.name: option.version for option in maker.options}
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "name": maker.name,
        "rho": str(maker.rho),
        "options": [{"name": name, "version": versions[name]} for name in maker.way.options],
        "tree": [asdict(node) for node in maker.way.tree],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def save(maker: ChoiceMaker, file: str | Path) -> None:
    """Write it to a file."""
    Path(file).write_text(dumps(maker), encoding="utf-8")


def load(file: str | Path, *, options: Any, informed_by: Any = ()) -> ChoiceMaker:
    """Read one that was saved; the options and metafeatures that it was trained with have to be handed over."""
    return _read(strict_json.read(Path(file), "choice"), options, informed_by)


def loads(text: str, *, options: Any, informed_by: Any = ()) -> ChoiceMaker:
    """Read one from JSON."""
    return _read(strict_json.parse(text, "choice"), options, informed_by)


def _read(entries: Entries, options: Any, informed_by: Any) -> ChoiceMaker:
    if "format" not in entries or entries.text("format") != FORMAT or entries.whole("schema", 0, 10**6) != SCHEMA:
        raise BadInput("choice", f"is no choice of schema {SCHEMA}", "pass what `save` wrote")
    name, rho = entries.text("name"), entries.text("rho")
    listed = [(one.text("name"), one.whole("version", 0, 10**6), one) for one in entries.each("options")]
    tree = read_tree(entries, "tree", len(listed))
    for *_, one in listed:
        one.done()
    entries.done()
    versions = {option.name: option.version for option in as_options(options)}
    for option, version, _ in listed:
        if versions.get(option) != version:
            raise BadInput("options", f"lack {option[:50]!r} in version {version}", "hand over what it was trained with")
    way = RegretTree(tuple(option for option, *_ in listed), tree)
    return ChoiceMaker.following(way, options=options, informed_by=informed_by, rho=rho, name=name)
