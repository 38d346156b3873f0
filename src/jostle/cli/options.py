"""How commands parse their options, and how refusals name them.

Plain words: text that needs no conversion is used as it is, because to convert anything Typer would load pydantic first.
That takes longer than most refusals, and a good part of a release. A word that Typer might refuse or change, and every word
under a Typer that keeps its types elsewhere, goes through Typer's own conversion.

Refusals: the library names arguments as Python does. On the command line, the same argument is an option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from jostle.kernel.errors import BadInput

SYNONYMS: Final = (
    ("location", "ledger"),
    ("cap", "budget"),
    ("cap", "epsilon"),
    ("was", "epsilon"),
    ("max_rows", "unit"),
    ("column", "by"),
)
"""Arguments of the library, and options that stand for them where a command has no option of the argument's own name."""

_UNIT: Final = re.compile(r"""Unit\(["'](\w+)["'], max_rows=(\w+)\)""")
_BOTH: Final = re.compile(r"(?:\b(?:cap|budget)=)?\b(?:jostle\.)?Approximate\(epsilon=([^,)]+), delta=([^,)]+)\)")
_IN_RHO: Final = re.compile(r"(?:\b(?:cap|budget)=)?\b(?:jostle\.)?Concentrated\(rho=([^,)]+)\)")
_KEYWORD: Final = re.compile(r"""(?<!--budget )\b([a-z_]+)=('[^']*'|"[^"]*"|\[…\]|[^\s,;:)]+)""")


_PANELS: Final = {
    "The price": "epsilon rho within preview rows",
    "The account, and whom it protects": "ledger budget delta unit neighbours name beside note data_version fresh",
    "How the data are read": (
        "table columns header delimiter encoding decimal thousands quoted_line_breaks sheet view engine"
    ),
    "What you get": "out plot form as_json wide together notes save",
}
"""The headings under which the help of a command with many options lists them, and the options of each."""

MANY: Final = 12
"""Fewer options than that need no headings."""


class _WithOptions:
    def get_params(self, ctx: Any) -> list[Any]:
        found = [_without_type(_using_plain_words(one)) for one in super().get_params(ctx)]  # type: ignore[misc]
        return _under_headings(found) if len(found) > MANY else found

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except BadInput as refused:
            raise in_options(refused, self.params, ctx.params) from None  # type: ignore[attr-defined]


class Command(_WithOptions, TyperCommand):
    """A command that uses plain words as they are, and names options in refusals."""


class Group(_WithOptions, TyperGroup):
    """A group of commands that does the same with the options before the command's name."""


def _under_headings(parameters: list[Any]) -> list[Any]:
    """The same options, each with the heading of the help that it belongs under; those of the question itself have none."""
    headings = {name: heading for heading, names in _PANELS.items() for name in names.split()}
    order = [None, *_PANELS]
    for one in parameters:
        if one.param_type_name == "option" and getattr(one, "rich_help_panel", None) is None and one.name in headings:
            one.rich_help_panel = headings[one.name]
    return sorted(parameters, key=lambda one: order.index(headings.get(one.name)))


_TYPES: Final = (("float", "NUMBER"), ("int", "NUMBER"), ("path", "FILE"), ("str", "TEXT"))


def _without_type(parameter: Any) -> Any:
    """A parameter whose help shows a type in plain words, and a switch none. Under another Typer, it stays as it is."""
    shows = getattr(parameter, "display_type_rich", None)
    if shows is not None:
        parameter.display_type_rich = lambda *args, **named: _plain_type(parameter, shows(*args, **named))
    return parameter


def _plain_type(parameter: Any, shown: Any) -> Any:
    """The type as people say it.

    >>> from types import SimpleNamespace
    >>> [_plain_type(SimpleNamespace(is_flag=False), one) for one in ("<list[Path]>", "<str>", "<add_remove|replace>")]
    ['FILE', 'TEXT', '<add_remove|replace>']
    """
    if getattr(parameter, "is_flag", False):
        return None
    inner = str(shown).lower().strip("<>").removeprefix("list[").removesuffix("]")
    return next((words for name, words in _TYPES if inner.startswith(name)), shown)


# --------------------------------------------------------------------------------------------------------- refusals


def in_options(refused: BadInput, parameters: Sequence[Any], values: Mapping[str, Any]) -> BadInput:
    """The same refusal with a command's options in place of keywords, and the file's name in place of `data`."""
    names: dict[str, str] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            written = {option.lstrip("-").replace("-", "_") for option in parameter.opts}
            names |= dict.fromkeys({parameter.name, *written}, parameter.opts[0])
    for argument, option in SYNONYMS:
        if option in names:
            names.setdefault(argument, names[option])
    data = str(values.get("data") or "")
    if data and "://" not in data:  # a URL may have a password in it
        names.setdefault("data", Path(data).name)
    problem, remedy = (_keywords_as_options(text, names) for text in (refused.problem, refused.remedy))
    return BadInput(names.get(refused.argument, refused.argument), problem, remedy)


def _keywords_as_options(text: str, names: Mapping[str, str]) -> str:
    """A message with options for keywords.

    >>> names = {"unit": "--unit", "columns": "--columns", "header": "--header", "name": "--name"}
    >>> _keywords_as_options('pass for instance Unit("person_id", max_rows=3)', names)
    'pass for instance --unit person_id:3'
    >>> _keywords_as_options("header=True, columns=[…] or name='people'; not k=2", names)
    '--header, --columns age,sex or --name people; not k=2'
    >>> _keywords_as_options('pass delimiter=";"', {"delimiter": "--delimiter"})
    'pass --delimiter ";"'
    >>> options = {"budget": "--budget", "epsilon": "--epsilon"}
    >>> _keywords_as_options("pass epsilon=…, or cap=jostle.Approximate(epsilon=1, delta=1e-6)", options)
    'pass --epsilon …, or --budget 1,1e-6'
    """
    if "budget" in names:
        text = _IN_RHO.sub(r"--budget rho=\1", _BOTH.sub(r"--budget \1,\2", text))

    def option(found: re.Match[str]) -> str:
        name, value = names.get(found[1], ""), found[2].strip("'\"").replace("[…]", "age,sex")
        if not name.startswith("--"):
            return found[0]
        quoted = f'"{value}"' if found[2][0] in "'\"" and not re.fullmatch(r"[\w./-]+", value) else value
        return name if value == "True" else f"{name} {quoted}"

    return _KEYWORD.sub(option, _UNIT.sub(r"--unit \1:\2", text) if "unit" in names else text)


# ------------------------------------------------------------------------------------------------------- plain words


def _using_plain_words(parameter: Any) -> Any:
    known = getattr(parameter, "type_descriptor", None)
    if known is not None and not isinstance(parameter.process_value, partial):
        parameter.process_value = partial(_processed, parameter, known, parameter.process_value)
    return parameter


_NOT_PLAIN: Final = object()


def _processed(parameter: Any, known: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    plain = _plain(parameter, known, value)
    if plain is _NOT_PLAIN:
        return convert(ctx, value)
    return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)


def _plain(parameter: Any, known: Any, value: Any) -> Any:
    kind, several = getattr(known, "annotation", None), parameter.multiple or parameter.nargs == -1
    if parameter.required and not value:
        return _NOT_PLAIN
    if value is None:
        return () if several else None
    if several:
        texts = get_origin(kind) is list and (not value or (get_args(kind) == (str,) and all(map(_is_text, value))))
        return list(value) if texts else _NOT_PLAIN
    if isinstance(value, str) and _is_plain(value, kind, getattr(known, "parameter_info", None)):
        return Path(value) if kind is Path else value
    return _NOT_PLAIN


def _is_plain(value: str, kind: Any, how: Any) -> bool:
    if getattr(how, "parser", None) is not None:
        return False
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    return _is_text(value) and (kind is str or (kind is Path and _is_plain_path(value, how)))


def _is_text(value: Any) -> bool:
    """Whether a word is text that the terminal could decode."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _is_plain_path(value: str, how: Any) -> bool:
    """Whether a path can be read or does not exist yet, and Typer has nothing else to check."""
    checks = ("exists", "resolve_path", "allow_dash", "writable", "path_type")
    if any(getattr(how, name, True) for name in checks) or not all(
        getattr(how, name, False) for name in ("file_okay", "dir_okay")
    ):
        return False
    try:
        return os.access(value, os.R_OK) or not os.path.lexists(value)
    except ValueError:
        return False
