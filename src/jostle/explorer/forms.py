"""What a person typed into a form, checked: an error names the field, so that the page can show it there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import FormData, UploadFile

from jostle.kernel.errors import BadInput

LONGEST: Final = 100_000


class Form:
    """A form's fields by name.

    >>> Form(FormData({"epsilon": "0,5"})).number("epsilon", 0.001, 100)
    0.5
    >>> Form(FormData({"epsilon": "much"})).number("epsilon", 0.001, 100)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: epsilon: must be a number. Remedy: type one from 0.001 to 100.
    """

    def __init__(self, fields: FormData) -> None:
        self._fields = fields

    def text(self, name: str, default: str = "", *, longest: int = LONGEST) -> str:
        """A text without spaces around it; the default where the field is empty."""
        found = self._fields.get(name, "")
        said = found.strip() if isinstance(found, str) else ""
        if len(said) > longest:
            raise BadInput(name, f"is longer than {longest:,} characters", "say it in fewer")
        return said or default

    def as_it_stands(self, name: str) -> str | None:
        """A text with the spaces around it, such as a column's name; None where there is no such field."""
        found = self._fields.get(name)
        return found if isinstance(found, str) and len(found) <= LONGEST else None

    def needed(self, name: str, remedy: str) -> str:
        found = self.text(name)
        if not found:
            raise BadInput(name, "is missing", remedy)
        return found

    def choice(self, name: str, among: Sequence[str]) -> str:
        """One of some words; the first where the field is empty."""
        found = self.text(name, among[0])
        if found not in among:
            raise BadInput(name, f"{found[:60]!r} is not offered", "choose one from the list")
        return found

    def choices(self, name: str, among: Sequence[str]) -> list[str]:
        """Those of some words that are ticked; all where none is."""
        ticked = {value for value in self._fields.getlist(name) if isinstance(value, str)}
        return [word for word in among if word in ticked] or list(among)

    def number(self, name: str, low: float, high: float, default: float | None = None) -> float:
        """A number between bounds; a comma may stand for the point."""
        said, remedy = self.text(name).replace(",", "."), f"type one from {low:g} to {high:g}"
        if not said and default is not None:
            return default
        try:
            found = float(said)
        except ValueError:
            raise BadInput(name, "must be a number", remedy) from None
        if not (math.isfinite(found) and low <= found <= high):
            raise BadInput(name, f"must lie between {low:g} and {high:g}", remedy)
        return found

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        found = self.number(name, low, high, default)
        if found != int(found):
            raise BadInput(name, "must be a whole number", f"type one from {low} to {high}")
        return int(found)

    def numbers(self, name: str, low: float, high: float, most: int) -> list[float]:
        """Numbers with spaces or semicolons between them, in rising order, each once."""
        words = self.text(name).replace(";", " ").split()
        found = sorted({Form(FormData({name: word.strip(",")})).number(name, low, high) for word in words})
        if not 1 <= len(found) <= most:
            raise BadInput(name, f"must be 1 to {most} numbers", "write them with spaces between, for instance 0.1 0.5 1")
        return found

    async def file(self, name: str, largest: int) -> tuple[str, bytes] | None:
        """The name and the content of a file that was uploaded; None where there is none."""
        found = self._fields.get(name)
        if not isinstance(found, UploadFile) or not found.filename:
            return None
        content = await found.read(largest + 1)
        if len(content) > largest:
            raise BadInput(name, f"is larger than {largest / 2**20:g} MB", "upload a smaller file")
        return found.filename[:200], content
