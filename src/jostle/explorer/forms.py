"""The checked fields of a form. A refusal names the field, so that the page can show it there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from starlette.datastructures import FormData, UploadFile

from jostle.kernel.errors import BadInput

LONGEST: Final = 100_000


@contextmanager
def under_field(names: Mapping[str, str], otherwise: str | None = None) -> Iterator[None]:
    """Name the form's fields in refusals of code that calls them something else.

    `otherwise` is the field for arguments that `names` lacks; without it, they keep their names.
    """
    try:
        yield
    except BadInput as refused:
        field = names.get(refused.argument, otherwise or refused.argument)
        raise BadInput(field, refused.problem, _in_a_form(refused.remedy)) from None


class Form:
    """A form's fields by name.

    >>> Form(FormData({"epsilon": "0,5"})).number("epsilon", 0.001, 100)
    0.5
    >>> Form(FormData({"epsilon": "much"})).number("epsilon", 0.001, 100)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: epsilon: not a number, or out of range. Remedy: enter a number from 0.001 to 100.
    """

    def __init__(self, fields: FormData) -> None:
        self._fields = fields

    def text(self, name: str, default: str = "", *, longest: int = LONGEST) -> str:
        """A text without spaces around it; the default if the field is empty."""
        found = self._fields.get(name, "")
        text = found.strip() if isinstance(found, str) else ""
        if len(text) > longest:
            raise BadInput(name, f"is longer than {longest:,} characters", "shorten it")
        return text or default

    def raw_text(self, name: str) -> str | None:
        """A text with the spaces around it, such as a column's name; None without such a field."""
        found = self._fields.get(name)
        return found if isinstance(found, str) and len(found) <= LONGEST else None

    def needed(self, name: str, remedy: str) -> str:
        found = self.text(name)
        if not found:
            raise BadInput(name, "is missing", remedy)
        return found

    def choice(self, name: str, among: Sequence[str]) -> str:
        """One of the offered words; the first if the field is empty."""
        found = self.text(name, among[0])
        if found not in among:
            raise BadInput(name, f"{found[:60]!r} is not offered", "choose one from the list")
        return found

    def choices(self, name: str, among: Sequence[str]) -> list[str]:
        """The offered words that are ticked; all of them if none is."""
        ticked = self.ticked(name)
        return [word for word in among if word in ticked] or list(among)

    def ticked(self, name: str) -> list[str]:
        """The words that are ticked, whatever they are."""
        return [value for value in self._fields.getlist(name) if isinstance(value, str)]

    def number(self, name: str, low: float, high: float, default: float | None = None) -> float:
        """A number between bounds; a comma may stand for the point."""
        text = self.text(name).replace(",", ".")
        if not text and default is not None:
            return default
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not low <= found <= high:
            raise BadInput(name, "not a number, or out of range", f"enter a number from {low:g} to {high:g}")
        return found

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        found = self.number(name, low, high, default)
        if found != int(found):
            raise BadInput(name, "not a whole number", f"enter a whole number from {low} to {high}")
        return int(found)

    def numbers(self, name: str, low: float, high: float, most: int) -> list[float]:
        """Different numbers, sorted; people write spaces or semicolons between them."""
        words = self.text(name).replace(";", " ").split()
        found = sorted({Form(FormData({name: word.strip(",")})).number(name, low, high) for word in words})
        if not 1 <= len(found) <= most:
            raise BadInput(name, f"must be 1 to {most} numbers", "write them with spaces between, for instance 0.1 0.5 1")
        return found

    async def file(self, name: str, largest: int) -> tuple[str, bytes] | None:
        """The name and the content of an uploaded file, or None."""
        found = self._fields.get(name)
        if not isinstance(found, UploadFile) or not found.filename:
            return None
        content = await found.read(largest + 1)
        if len(content) > largest:
            raise BadInput(name, f"is larger than {largest / 2**20:g} MB", "upload a smaller file")
        return found.filename[:200], content


def _in_a_form(remedy: str) -> str:
    """A remedy in the words of the form.

    >>> _in_a_form("pass name='people', or, if both budgets are meant to be spent, beside='people': their losses add up")
    "type this name: 'people'; or, if both budgets are meant to be spent, enter 'people' as Beside: their losses add up"
    """
    name, found, rest = remedy.partition(", or, if both budgets")
    if not found:
        return remedy
    both = re.sub(r"beside=('[^']*')", r"enter \1 as Beside", rest)
    return f"{name.replace('pass name=', 'type this name: ')}; or, if both budgets{both}"
