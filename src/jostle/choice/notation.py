"""The notation of the thesis: arithmetic in which `{{ … }}` stands for a private answer.

>>> expression("{{select count(values) from db where values > 0}} / db.size").sign
'/'

A text is cut into tokens that know their line and column, and parsed into a tree, which `jostle.choice.interpreter` walks.
Nothing in a text is ever run as Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from jostle.kernel.errors import BadInput

LONGEST: Final = 20_000
"""Characters of a program."""

DEEPEST: Final = 40
"""Parentheses and answers within each other."""

_TOKENS: Final = re.compile(
    r"(?P<number>\d+(\.\d+)?([eE][+-]?\d+)?)|(?P<dots>\.\.\.)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/^().,:={}])|(?P<odd>\S)"
)


@dataclass(frozen=True)
class Place:
    """Where something stands in a text, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def wrong(at: Place, problem: str, remedy: str) -> BadInput:
    """What to raise about a place in a text."""
    return BadInput(str(at), problem, remedy)


@dataclass(frozen=True)
class Token:
    """A word, a number, a sign, or the text of a private answer."""

    kind: str
    """One of number, name, sign, dots and answer; "end" follows the last one."""

    text: str
    at: Place


@dataclass(frozen=True)
class TokenList:
    """The tokens of some lines, with what was read more kindly than it was written."""

    tokens: list[Token]
    notes: list[str] = field(default_factory=list)


def tokens_of(text: str, at: Place) -> TokenList:
    """Cut a text into tokens. A comment ends with its line; within the braces of a set, it also ends before the closing one.

    >>> [token.text for token in tokens_of("a = {{select 1}} / 2 # half", Place(1, 1)).tokens]
    ['a', '=', 'select 1', '/', '2', '']
    """
    if len(text) > LONGEST:
        raise BadInput("text", f"has more than {LONGEST:,} characters", "split it")
    found, notes = list[Token](), list[str]()
    index, line, start, sets = 0, at.line, 1 - at.column, 0
    while index < len(text):
        here = Place(line, index - start + 1)
        if text[index] == "\n":
            line, start = line + 1, index + 1
            index += 1
        elif text[index].isspace():
            index += 1
        elif text[index] == "#":
            end = text.find("\n", index)
            end = len(text) if end < 0 else end
            brace = text.find("}", index, end) if sets else -1
            index = end if brace < 0 else brace
        elif text.startswith("{{", index):
            end = _end_of_answer(text, index, here)
            inside = text[index + 2 : end]
            found.append(Token("answer", inside, Place(line, here.column + 2)))
            line, start = line + inside.count("\n"), index + 3 + inside.rfind("\n") if "\n" in inside else start
            index = end + 2
            if not sets and text.startswith("}", index):  # the thesis prints three
                notes.append(f"{Place(line, index - start + 1)}: a brace too many, left out")
                index += 1
        else:
            match = _TOKENS.match(text, index)
            if match is None or match.lastgroup == "odd":
                raise wrong(here, f"{text[index]!r} has no meaning here", "write names, numbers, + - * / ^ and {{ … }}")
            kind, word = next((kind, part) for kind, part in match.groupdict().items() if part and kind)
            sets += {"{": 1, "}": -1}.get(word, 0)
            found.append(Token(kind, word, here))
            index = match.end()
    found.append(Token("end", "", Place(line, max(index - start + 1, 1))))
    return TokenList(found, notes)


def _end_of_answer(text: str, start: int, at: Place) -> int:
    """Where the braces of an answer close; answers may be within each other."""
    depth, index = 0, start
    while index < len(text):
        if text.startswith("{{", index):
            depth, index = depth + 1, index + 2
        elif text.startswith("}}", index):
            depth, index = depth - 1, index + 2
            if depth == 0:
                return index - 2
        else:
            index += 1
        if depth > DEEPEST:
            break
    raise wrong(at, "{{ is never closed", "close it with }}")


# ----------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Number:
    """A number, as it was written."""

    value: int | float


@dataclass(frozen=True)
class Variable:
    """A name."""

    name: str
    at: Place


@dataclass(frozen=True)
class Attribute:
    """Such as db.x_range, or F.sparsity."""

    of: str
    name: str
    at: Place


@dataclass(frozen=True)
class Call:
    """A function of numbers."""

    name: str
    arguments: tuple[Node, ...]
    at: Place


@dataclass(frozen=True)
class Operation:
    """Two values and a sign between them."""

    sign: str
    left: Node
    right: Node
    at: Place


@dataclass(frozen=True)
class PrivateAnswer:
    """`{{ … }}`: SQL, in which further answers may stand for public limits."""

    text: str
    within: tuple[PrivateAnswer, ...]
    """The answers in it, which `text` calls answer_1 and so on."""

    at: Place


Node = Number | Variable | Attribute | Call | Operation | PrivateAnswer


class Parser:
    """Reads expressions from tokens, by precedence: + -, then * /, then a sign, then ^."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.index, self.depth = tokens, 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.index]

    def take(self) -> Token:
        token = self.next
        if token.kind != "end":
            self.index += 1
        return token

    def found(self, text: str) -> bool:
        """Take the next token if it is this word or sign."""
        if self.next.kind not in ("answer", "end") and self.next.text == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str, remedy: str) -> Token:
        token = self.next
        if not self.found(text):
            raise wrong(token.at, f"expected {text!r}, found {shown(token)}", remedy)
        return token

    def name(self, what: str) -> Token:
        token = self.take()
        if token.kind != "name":
            raise wrong(token.at, f"expected {what}, found {shown(token)}", "write a name")
        return token

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise wrong(self.next.at, f"is nested more than {DEEPEST} deep", "name a part of it first")
        node = self._chain(("+", "-"), self.product)
        self.depth -= 1
        return node

    def product(self) -> Node:
        return self._chain(("*", "/"), self.signed)

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        node = part()
        while self.next.kind == "sign" and self.next.text in signs:
            token = self.take()
            node = Operation(token.text, node, part(), token.at)
        return node

    def signed(self) -> Node:
        negative, token = False, self.next
        while self.next.kind == "sign" and self.next.text == "-":
            negative = not negative
            self.take()
        node = self.power()
        return Operation("-", Number(0), node, token.at) if negative else node

    def power(self) -> Node:
        node = self.atom()
        if self.next.kind == "sign" and self.next.text in ("^", "**"):
            token = self.take()
            node = Operation("^", node, self.signed(), token.at)
        return node

    def atom(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return Number(float(token.text) if not token.text.isdigit() else int(token.text))
        if token.kind == "answer":
            return answer(token)
        if token.kind == "name":
            if self.found("."):
                return Attribute(token.text, self.name("the name of a property").text, token.at)
            return Call(token.text, self._arguments(), token.at) if self.found("(") else Variable(token.text, token.at)
        if token.kind == "sign" and token.text == "(":
            node = self.sum()
            self.expect(")", "close the parenthesis")
            return node
        raise wrong(token.at, f"expected a number, a name or {{{{ … }}}}, found {shown(token)}", "complete the expression")

    def _arguments(self) -> tuple[Node, ...]:
        if self.found(")"):
            return ()
        found = [self.sum()]
        while self.found(","):
            found.append(self.sum())
        self.expect(")", "close the parenthesis")
        return tuple(found)


def shown(token: Token) -> str:
    """A token in a message."""
    return "the end" if token.kind == "end" else "an answer" if token.kind == "answer" else repr(token.text[:40])


def answer(token: Token, depth: int = 0) -> PrivateAnswer:
    """The answer of a token, with the answers in it."""
    if depth > 4:
        raise wrong(token.at, "has answers within answers, more than four deep", "name the inner ones first")
    text, within = token.text, list[PrivateAnswer]()
    while (start := text.find("{{")) >= 0:
        at = Place(token.at.line + text.count("\n", 0, start), token.at.column + start)
        end = _end_of_answer(text, start, at)
        within.append(answer(Token("answer", text[start + 2 : end], at), depth + 1))
        text = f"{text[:start]} answer_{len(within)} {text[end + 2 :]}"
    return PrivateAnswer(text.strip(), tuple(within), token.at)


def expression(text: str) -> Any:
    """Parse one expression.

    >>> expression("2 * (3 + ")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: line 1, column 10: expected a number, a name or {{ … }}, found the end. Remedy: complete
    the expression.
    """
    parser = Parser(tokens_of(text, Place(1, 1)).tokens)
    node = parser.sum()
    if parser.next.kind != "end":
        raise wrong(parser.next.at, f"{shown(parser.next)} follows a complete expression", "leave it out")
    return node
