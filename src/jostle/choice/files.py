"""Files of selectors, traces and choice makers: JSON that may come from anybody, read strictly.

Nothing is run, nothing grows beyond limits and nothing is guessed. `save` and `load` are for choice makers: train once,
choose anywhere. Their file holds the learned rule; options and metafeatures are code. `save_points` and `load_points` are
for the choice points of a program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jostle.choice.regret_tree import DEEPEST, InnerNode, Leaf, Tree
from jostle.kernel.errors import BadInput
from jostle.schema.files import check_no_database

if TYPE_CHECKING:
    from jostle.choice.choice_maker import ChoiceMaker
    from jostle.choice.choice_point import ChoicePoint

CHOICE_FORMAT: Final = "jostle choice"
POINTS_FORMAT: Final = "jostle choice points"
CHOICE_SCHEMA: Final = 1

MOST_NODES: Final = 10_000
"""In a tree; one of the greatest depth that training allows has fewer."""

MOST_TREES: Final = 100
"""That vote together."""

WORST: Final = 1e300
"""The largest absolute mean regret, so that the sum over all trees that vote is a number, too."""

LARGEST: Final = 4_000_000
"""Bytes of a document: shipped selectors have some ten thousand."""

LONGEST: Final = 4_000
"""Characters of a text, and entries of a table with names."""

MOST: Final = 200_000
"""Entries of a list."""


def written(document: dict[str, Any]) -> str:
    """A document as JSON text."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def parse(text: str | bytes, argument: str) -> Entries:
    """The entries of a document; each must be taken by its name and type.

    >>> parse('{"a": 1e999}', "selector")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: selector: is not a document of finite numbers, texts and lists. Remedy: write it anew with
    `save`.
    """
    refused = BadInput(argument, "is not a document of finite numbers, texts and lists", "write it anew with `save`")
    if len(text) > LARGEST:
        raise BadInput(argument, f"has more than {LARGEST} bytes", "write it anew with `save`")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite, parse_int=_moderate)
    except (ValueError, RecursionError, UnicodeDecodeError):
        raise refused from None
    if not isinstance(found, dict):
        raise refused
    return Entries(found, argument)


def read(file: Path, argument: str) -> Entries:
    """The entries of the document in a file."""
    check_no_database(file, argument)
    try:
        with file.open("rb") as stream:
            text = stream.read(LARGEST + 1)
    except OSError as refused:
        reason = refused.strerror or "it is not there"
        raise BadInput(argument, f"{file} cannot be read: {reason}", "name a file that `save` wrote") from None
    return parse(text, argument)


class Entries:
    """The named entries of a document; `done` refuses those that nobody took."""

    def __init__(self, found: dict[str, Any], argument: str, where: str = "") -> None:
        self._left, self._argument, self._where = dict(found), argument, where

    def bad(self, name: str, problem: str, remedy: str = "write it anew with `save`") -> BadInput:
        return BadInput(self._argument, f"its entry {self._where}{name} {problem}", remedy)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def _take(self, name: str, kind: type | tuple[type, ...], called: str) -> Any:
        found = self._left.pop(name, None)
        if isinstance(found, bool) or not isinstance(found, kind):
            raise self.bad(name, f"must be {called}")
        return found

    def text(self, name: str) -> str:
        found = self._take(name, str, "a text")
        if len(found) > LONGEST:
            raise self.bad(name, f"has more than {LONGEST} characters")
        return str(found)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        found = self._take(name, (int, float), "a number")
        if not low <= found <= high:
            raise self.bad(name, f"must lie between {low:g} and {high:g}")
        return float(found)

    def whole(self, name: str, low: int, high: int) -> int:
        found = self._take(name, int, "a whole number")
        if not low <= found <= high:
            raise self.bad(name, f"must lie between {low} and {high}")
        return int(found)

    def numbers(self, name: str, length: int | None = None) -> tuple[float, ...]:
        found = self.items(name)
        if (length is not None and len(found) != length) or any(type(one) not in (int, float) for one in found):
            raise self.bad(name, "must be a list of numbers" + ("" if length is None else f", {length} of them"))
        return tuple(float(one) for one in found)

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.items(name)
        if any(not isinstance(one, str) or len(one) > LONGEST for one in found):
            raise self.bad(name, "must be a list of texts")
        return tuple(found)

    def items(self, name: str) -> list[Any]:
        found = self._take(name, list, "a list")
        if len(found) > MOST:
            raise self.bad(name, f"has more than {MOST} entries")
        return list(found)

    def each(self, name: str) -> list[Entries]:
        found = self.items(name)
        if any(not isinstance(one, dict) for one in found):
            raise self.bad(name, "must be a list of tables")
        return [Entries(one, self._argument, f"{self._where}{name}[{at}].") for at, one in enumerate(found)]

    def table(self, name: str) -> Entries:
        return self.within(name, self._take(name, dict, "a table"))

    def within(self, name: str, found: dict[str, Any]) -> Entries:
        """Entries that are called after an entry of this document."""
        return Entries(found, self._argument, f"{self._where}{name}.")

    def is_format(self, wanted: str) -> bool:
        return "format" in self and self.text("format") == wanted

    def plain(self, name: str) -> dict[str, Any]:
        """A table of texts, numbers and lists of these, which is only shown to the reader."""
        found = self._take(name, dict, "a table")
        for value in found.values():
            flat = value if isinstance(value, list) else [value]
            if len(flat) > LONGEST or any(not isinstance(one, (str, int, float, bool, type(None))) for one in flat):
                raise self.bad(name, "must be a table of texts, numbers and lists of these")
        return dict(found)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._left)

    def done(self) -> None:
        for name in self._left:
            raise self.bad(name[:50], "is unknown")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs) or len(found) > LONGEST:
        raise ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _moderate(text: str) -> int:
    if len(text) > 20:
        raise ValueError
    return int(text)


# ------------------------------------------------------------------------------------------------------- trees


def tree_entries(tree: Tree, *, digits: int | None = None, threshold_digits: int | None = None) -> list[dict[str, Any]]:
    """A tree as its file shows it; with `digits`, regrets and shares are rounded: more was not learned."""

    def rounded(number: float, to: int | None) -> float:
        return number if to is None else float(f"{number:.{to}g}")

    return [
        asdict(node) | {"at": rounded(node.at, threshold_digits)}
        if isinstance(node, InnerNode)
        else asdict(node)
        | {"regrets": [rounded(regret, digits) for regret in node.regrets], "optimal": rounded(node.optimal, digits)}
        for node in tree
    ]


def read_tree(entries: Entries, name: str, options: int, features: Collection[str] | None = None) -> Tree:
    """The tree in the entry of that name, for this number of options; it may split only on `features`, if given."""
    listed = entries.each(name)
    if not 1 <= len(listed) <= MOST_NODES or not options:
        raise entries.bad(name, f"must have from 1 to {MOST_NODES} nodes, and options")
    nodes: list[InnerNode | Leaf] = []
    for number, node in enumerate(listed):
        nodes.append(_inner_node(node, number, len(listed), features) if "feature" in node else _leaf(node, options))
        node.done()
    if not _is_tree(nodes):
        raise entries.bad(name, f"must have one way to every node, of at most {DEEPEST} splits")
    return tuple(nodes)


def read_trees(entries: Entries, name: str, options: int, features: Collection[str]) -> tuple[Tree, ...]:
    """The trees that vote, in the entry of that name."""
    listed = entries.items(name)
    if not 1 <= len(listed) <= MOST_TREES or any(not isinstance(tree, list) for tree in listed):
        raise entries.bad(name, f"must be a list of 1 to {MOST_TREES} trees")
    wrapped = entries.within(name, {str(at): tree for at, tree in enumerate(listed)})
    return tuple(read_tree(wrapped, str(at), options, features) for at in range(len(listed)))


def _is_tree(nodes: Sequence[InnerNode | Leaf]) -> bool:
    """Whether there is one way to every node, and not too long: a picture of the tree follows all of them."""
    depths = {0: 0}
    for number, node in enumerate(nodes):  # nodes lead to later ones, so what leads here has been seen
        if depths.get(number, DEEPEST + 1) > DEEPEST:
            return False
        for child in (node.low, node.high) if isinstance(node, InnerNode) else ():
            if child in depths:
                return False
            depths[child] = depths[number] + 1
    return True


def _leaf(node: Entries, options: int) -> Leaf:
    choice, regrets = node.whole("choice", 0, options - 1), node.numbers("regrets", options)
    if any(abs(regret) > WORST for regret in regrets):
        raise node.bad("regrets", f"must lie between {-WORST:g} and {WORST:g}")
    return Leaf(choice, regrets, node.whole("inputs", 0, 10**9), node.number("optimal", 0.0, 1.0))


def _inner_node(node: Entries, number: int, nodes: int, features: Collection[str] | None) -> InnerNode:
    feature = node.text("feature")
    if features is not None and feature not in features:
        raise node.bad("feature", f"must be one of {', '.join(features)}")
    # Nodes lead only to later ones, so every walk ends.
    low, high = (node.whole(side, number + 1, nodes - 1) for side in ("low", "high"))
    return InnerNode(feature, node.number("at"), low, high)


def option_entries(names: Sequence[str], versions: Sequence[int]) -> list[dict[str, Any]]:
    """Options with their versions, as files show them."""
    return [{"name": name, "version": version} for name, version in zip(names, versions, strict=True)]


def read_options(entries: Entries) -> list[tuple[str, int]]:
    """Options with their versions."""
    found = []
    for one in entries.each("options"):
        found.append((one.text("name"), one.whole("version", 0, 10**6)))
        one.done()
    return found


# ------------------------------------------------------------------------------------------------ choice makers


def dumps(maker: ChoiceMaker) -> str:
    """What a choice maker has learned, as JSON.

    >>> from jostle import workloads
    >>> from jostle.choice.choice_maker import ChoiceMaker
    >>> maker = ChoiceMaker(options=["Laplace", "Uniform"], queries=workloads.identity, trained_on=[[0, 9], [5, 5]])
    >>> loads(dumps(maker), options=["Uniform", "Laplace"])
    <ChoiceMaker choice among Uniform, Laplace>
    """
    from jostle.choice.rule_files import rule_entries

    rule, versions = maker.rule, {option.name: option.version for option in maker.options}
    options = option_entries(rule.options, [versions[name] for name in rule.options])
    head = {"format": CHOICE_FORMAT, "schema": CHOICE_SCHEMA, "name": maker.name, "rho": str(maker.rho), "options": options}
    return written(head | rule_entries(rule))


def save(maker: ChoiceMaker, file: str | Path) -> None:
    """Write a choice maker to a file."""
    Path(file).write_text(dumps(maker), encoding="utf-8")


def load(file: str | Path, *, options: Any, informed_by: Any = ()) -> ChoiceMaker:
    """Read a saved choice maker; pass the options and metafeatures that it was trained with."""
    return _choice_maker(read(Path(file), "choice"), options, informed_by)


def loads(text: str, *, options: Any, informed_by: Any = ()) -> ChoiceMaker:
    """Read a choice maker from JSON."""
    return _choice_maker(parse(text, "choice"), options, informed_by)


def _choice_maker(entries: Entries, options: Any, informed_by: Any) -> ChoiceMaker:
    from jostle.choice.choice_maker import ChoiceMaker
    from jostle.choice.options import as_options
    from jostle.choice.rule_files import read_rule

    if not entries.is_format(CHOICE_FORMAT) or entries.whole("schema", 0, 10**6) != CHOICE_SCHEMA:
        raise BadInput("choice", f"is no choice of schema {CHOICE_SCHEMA}", "pass what `save` wrote")
    called, rho, listed, passed = entries.text("name"), entries.text("rho"), read_options(entries), as_options(options)
    versions = {option.name: option.version for option in passed}
    for option, version in listed:
        if versions.get(option) != version:
            raise BadInput("options", f"lack {option[:50]!r} in version {version}", "pass those that it was trained with")
    rule = read_rule(entries, tuple(name for name, _ in listed), passed)
    entries.done()
    return ChoiceMaker.following(rule, options=options, informed_by=informed_by, rho=rho, name=called)


# ------------------------------------------------------------------------------------------------ choice points


def save_points(points: Sequence[ChoicePoint], file: str | Path) -> None:
    """Write what choice points have learned to a file."""
    listed = [
        {"name": point.name, "branches": list(point.branches), "tree": tree_entries(point.rule.tree)} for point in points
    ]
    text = written({"format": POINTS_FORMAT, "schema": CHOICE_SCHEMA, "points": listed})
    Path(file).write_text(text, encoding="utf-8")


def load_points(points: Sequence[ChoicePoint], file: str | Path) -> None:
    """Let choice points decide by the rules of a file; nothing is changed unless all of them are in it, and fit.

    The points are the program's own: their questions are code.
    """
    from jostle.choice.decision_rules import RegretTree

    entries = read(Path(file), "points")
    if not entries.is_format(POINTS_FORMAT) or entries.whole("schema", 0, 10**6) != CHOICE_SCHEMA:
        raise BadInput("points", f"is no file of choice points of schema {CHOICE_SCHEMA}", "pass what `save_points` wrote")
    known, rules = {point.name: point for point in points}, dict[str, RegretTree]()
    for one in entries.each("points"):
        name, branches = one.text("name"), one.texts("branches")
        if name not in known or known[name].branches != branches:
            remedy = "pass the points that were saved"
            raise BadInput("points", f"the file has {name[:50]!r} with other branches, or it is not here", remedy)
        rules[name] = RegretTree(branches, read_tree(one, "tree", len(branches), known[name].names))
        one.done()
    entries.done()
    for name in known:
        if name not in rules:
            raise BadInput("points", f"the file lacks {name!r}", "pass the points that were saved")
    for name, rule in rules.items():
        known[name].rule = rule
