"""Words of a command line that need no conversion are taken as they are: to convert any, Typer would load pydantic first.

Loading that takes longer than most refusals, and a good part of a release. A word that Typer might refuse or change, and
every word under a Typer that keeps its types in another place, goes through Typer's own conversion.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command that takes plain words as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_taking_plain_words(one) for one in super().get_params(ctx)]


class Group(TyperGroup):
    """A group of commands that takes plain words before the command's name as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_taking_plain_words(one) for one in super().get_params(ctx)]


def _taking_plain_words(parameter: Any) -> Any:
    known = getattr(parameter, "type_descriptor", None)
    if known is not None and not isinstance(parameter.process_value, partial):
        parameter.process_value = partial(_processed, parameter, known, parameter.process_value)
    return parameter


_NOT_PLAIN: Final = object()


def _processed(parameter: Any, known: Any, usual: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    taken = _as_it_is(parameter, known, value)
    if taken is _NOT_PLAIN:
        return usual(ctx, value)
    return taken if parameter.callback is None else parameter.callback(ctx, parameter, taken)


def _as_it_is(parameter: Any, known: Any, value: Any) -> Any:
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
    return _is_text(value) and (kind is str or (kind is Path and _is_usual_path(value, how)))


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _is_usual_path(value: str, how: Any) -> bool:
    """Whether a path can be read, or is of a file that is not there yet, and nothing else is asked of it."""
    asked = ("exists", "resolve_path", "allow_dash", "writable", "path_type")
    if any(getattr(how, name, True) for name in asked) or not all(
        getattr(how, name, False) for name in ("file_okay", "dir_okay")
    ):
        return False
    try:
        return os.access(value, os.R_OK) or not os.path.lexists(value)
    except ValueError:
        return False
