"""Programs in the notation of the thesis (Figure 1.2), read from text into the objects of the language.

>>> program = read('''
... public = {flat, steep}
... def size(db):
...     return {{select sum(values) from db}}
... def Laplace(db, queries):
...     #a registered algorithm
... def Uniform(db, queries):
... choice = MkChoiceMaker among {Laplace, Uniform} informed by {size} trained on public
... def main(db, queries):
...     answers = choice(db, queries)
... ''')
>>> program.entry.maker.options, program.entry.maker.informed_by, program.databases(program.entry.maker)
(('Laplace', 'Uniform'), ('size',), (('flat', 'steep'), False))

A function of a database that is among the options and has no body stands for the registered algorithm of its name. Any other
function is a metafeature. Errors give the line and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.expressions import Database
from jostle.choice.interpreter import Asking, as_simple_as_possible, evaluate
from jostle.choice.metafeatures import Metafeature
from jostle.choice.notation import LONGEST, Node, Parser, Place, Token, shown, tokens_of, wrong
from jostle.choice.options import AlgorithmOption, Option
from jostle.kernel.errors import BadInput

MAKERS: Final = ("MkChoiceMaker", "ChoiceMaker", "MakeChoice")


@dataclass(frozen=True)
class Assignment:
    """A line of a function: a name and its value; the name is empty if the value is returned."""

    name: str
    value: Node
    at: Place


@dataclass(frozen=True)
class FunctionDefinition:
    """A function, or a method of a class."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Assignment, ...]
    at: Place


@dataclass(frozen=True)
class OptionDefinition:
    """A class with the methods `answer` and, perhaps, `predict`."""

    name: str
    predict: FunctionDefinition | None
    at: Place


@dataclass(frozen=True)
class MakerDefinition:
    """What follows MkChoiceMaker: among {…} informed by {…} trained on a set."""

    options: tuple[str, ...]
    informed_by: tuple[str, ...]
    trained_on: str | tuple[tuple[str, ...], bool]
    """The name of a set, or a set itself."""

    at: Place


@dataclass(frozen=True)
class EntryPoint:
    """The function that answers queries on a private database by a choice maker."""

    name: str
    maker: MakerDefinition
    maker_name: str


@dataclass(frozen=True)
class ChoiceProgram:
    """A program that was read, and not yet trained."""

    sets: Mapping[str, tuple[tuple[str, ...], bool]]
    """The names in each set, and whether dots stand for further ones."""

    functions: Mapping[str, FunctionDefinition]
    classes: Mapping[str, OptionDefinition]
    makers: Mapping[str, MakerDefinition]
    entry: EntryPoint
    notes: tuple[str, ...] = ()
    """What was read more kindly than it was written."""

    def databases(self, maker: MakerDefinition) -> tuple[tuple[str, ...], bool]:
        """The names of the public databases to train on, and whether others may be added."""
        if isinstance(maker.trained_on, tuple):
            return maker.trained_on
        if maker.trained_on not in self.sets:
            raise wrong(
                maker.at, f"{maker.trained_on} is no set of databases", f"use one of {', '.join(self.sets) or 'none'}"
            )
        return self.sets[maker.trained_on]

    def choice_maker(self, **more: Any) -> ChoiceMaker:
        """Train the choice maker of the program; `more` are arguments of `ChoiceMaker`, such as trained_on and epsilon."""
        made = self.entry.maker
        options = [self._option(name, made.at) for name in made.options]
        informed_by = [self.metafeature(name) for name in made.informed_by]
        return ChoiceMaker(options=options, informed_by=informed_by, name=self.entry.maker_name, **more)

    def _option(self, name: str, at: Place) -> Option:
        predict = None
        if name in self.classes:
            predict = self.classes[name].predict
        elif name not in self.functions:
            raise wrong(at, f"the option {name} is not defined", "define it: def name(db, queries):")
        elif self.functions[name].body:
            problem = f"the option {name} has a body, which the notation does not run"
            raise wrong(self.functions[name].at, problem, "write it in Python: @option def …, or leave its body empty")
        try:
            made = AlgorithmOption(name)
        except BadInput as refused:
            raise wrong(at, f"{name}: {refused.problem}", refused.remedy) from None
        if predict is not None:
            made.predict = _predicting(predict)
        return made

    def metafeature(self, name: str) -> Metafeature:
        """The metafeature that a function defines."""
        at = self.entry.maker.at
        if name not in self.functions or not self.functions[name].body:
            raise wrong(at, f"the metafeature {name} is not defined", "define it: def name(db): return {{ … }}")
        function = self.functions[name]
        if len(function.parameters) != 1:
            raise wrong(function.at, f"the metafeature {name} must have one parameter", f"write def {name}(db):")
        (parameter,) = function.parameters

        def define(db: Database) -> Any:
            return as_simple_as_possible(lambda: run(function, {parameter: db}))

        return Metafeature(name, define, None, f"line {function.at.line} of the program")


def run(function: FunctionDefinition, names: Mapping[str, Any]) -> Asking:
    """The value of a function: what it returns, or the value of its last line."""
    known, value = dict(names), None
    for line in function.body:
        value = yield from evaluate(line.value, known)
        if not line.name:
            return value
        known[line.name] = value
    return value


def _predicting(function: FunctionDefinition) -> Callable[[Any], float]:
    (parameter,) = function.parameters if len(function.parameters) == 1 else ("F",)

    def predict(features: Any) -> float:
        values = run(function, {parameter: features})
        try:
            next(values)
        except StopIteration as done:
            return float(done.value)
        raise wrong(function.at, "predict asks for private answers", "let it use metafeatures only: F.sparsity")

    return predict


# --------------------------------------------------------------------------------------------------------- reading


@dataclass
class _SourceLine:
    """The tokens of a line and of the lines that continue it; the lines below it, if it opens a block."""

    tokens: list[Token]
    indent: int
    block: list[_SourceLine] = field(default_factory=list)


def read(text: str) -> ChoiceProgram:
    """Read a program."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise BadInput("program", f"must be a text of at most {LONGEST:,} characters", "split it")
    lines = tokens_of(text, Place(1, 1))
    reader = _ProgramReader(list(lines.notes))
    for statement in _statements(lines.tokens):
        reader.statement(statement)
    return reader.program()


def _statements(tokens: list[Token]) -> list[_SourceLine]:
    """Statements by indentation: a deeper line belongs to a `def` or `class` above, or continues the line above."""
    top: list[_SourceLine] = []
    open_blocks: list[_SourceLine] = []
    for number in sorted({token.at.line for token in tokens if token.kind != "end"}):
        here = [token for token in tokens if token.at.line == number and token.kind != "end"]
        indent = here[0].at.column if here[0].kind != "answer" else here[0].at.column - 2
        while open_blocks and indent <= open_blocks[-1].indent:
            open_blocks.pop()
        if open_blocks and not _opens(open_blocks[-1]):  # it continues the statement above
            open_blocks[-1].tokens += here
            continue
        statement = _SourceLine(here, indent)
        (open_blocks[-1].block if open_blocks else top).append(statement)
        open_blocks.append(statement)
    for statement in top:
        _close(statement)
    return top


def _opens(statement: _SourceLine) -> bool:
    return statement.tokens[0].text in ("def", "class") and statement.tokens[0].kind == "name"


def _close(statement: _SourceLine) -> None:
    """Mark the end of its tokens, and of those in its block."""
    last = statement.tokens[-1]
    statement.tokens.append(Token("end", "", Place(last.at.line, last.at.column + len(last.text))))
    for inner in statement.block:
        _close(inner)


class _ProgramReader:
    """Collects what statements define."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.sets: dict[str, tuple[tuple[str, ...], bool]] = {}
        self.functions: dict[str, FunctionDefinition] = {}
        self.classes: dict[str, OptionDefinition] = {}
        self.makers: dict[str, MakerDefinition] = {}

    def statement(self, statement: _SourceLine) -> None:
        parser = Parser(statement.tokens)
        first = parser.next
        if parser.found("def"):
            function = self.function(parser, statement)
            self._new(function.name, first.at)
            self.functions[function.name] = function
        elif parser.found("class"):
            self.option(parser, statement)
        else:
            name = parser.name("a name, def or class")
            parser.expect("=", "write name = …")
            self._new(name.text, name.at)
            if parser.next.text == "{":
                self.sets[name.text] = _set(parser)
            elif parser.next.text in MAKERS:
                self.makers[name.text] = _maker(parser)
            else:
                raise wrong(parser.next.at, f"expected {{…}} or {MAKERS[0]}, found {shown(parser.next)}", "see the examples")
            _finished(parser)

    def _new(self, name: str, at: Place) -> None:
        if name in self.sets or name in self.functions or name in self.classes or name in self.makers:
            raise wrong(at, f"{name} is defined twice", "rename one of them")

    def function(self, parser: Parser, statement: _SourceLine) -> FunctionDefinition:
        name = parser.name("the name of the function")
        parser.expect("(", f"write def {name.text}(db):")
        parameters = list[str]()
        while not parser.found(")"):
            parameters.append(parser.name("a parameter").text)
            if not parser.found(",") and parser.next.text != ")":
                raise wrong(
                    parser.next.at, f"expected ',' or ')', found {shown(parser.next)}", "separate parameters by commas"
                )
        parser.expect(":", "end the line with a colon")
        _finished(parser)
        return FunctionDefinition(name.text, tuple(parameters), tuple(map(_line, statement.block)), name.at)

    def option(self, parser: Parser, statement: _SourceLine) -> None:
        name = parser.name("the name of the option")
        parser.expect("(", f"write class {name.text}(Option):")
        parser.expect("Option", f"write class {name.text}(Option):")
        parser.expect(")", f"write class {name.text}(Option):")
        parser.expect(":", "end the line with a colon")
        _finished(parser)
        self._new(name.text, name.at)
        methods = dict[str, FunctionDefinition]()
        for inner in statement.block:
            within = Parser(inner.tokens)
            within.expect("def", "a class has methods: def answer(db, queries): and def predict(F):")
            method = self.function(within, inner)
            methods[method.name] = method
        for method in methods.values():
            if method.name not in ("answer", "predict"):
                raise wrong(method.at, f"{method.name} is no method of an option", "write answer and predict")
            if method.name == "answer" and method.body:
                raise wrong(
                    method.at, "the notation does not run the body of answer", "leave it empty, or write it in Python"
                )
        self.classes[name.text] = OptionDefinition(name.text, methods.get("predict"), name.at)

    def program(self) -> ChoiceProgram:
        for function in reversed(self.functions.values()):
            called = [line.value for line in function.body if getattr(line.value, "name", "") in self.makers]
            if called:
                maker = str(getattr(called[-1], "name", ""))
                entry = EntryPoint(function.name, self.makers[maker], maker)
                return ChoiceProgram(self.sets, self.functions, self.classes, self.makers, entry, tuple(self.notes))
        if len(self.makers) == 1:  # a program may end with its choice maker
            (maker,) = self.makers
            entry = EntryPoint(maker, self.makers[maker], maker)
            return ChoiceProgram(self.sets, self.functions, self.classes, self.makers, entry, tuple(self.notes))
        remedy = "end it with: def name(db, queries): answers = choice(db, queries)"
        raise BadInput("program", "has no function that calls a choice maker", remedy)


def _line(statement: _SourceLine) -> Assignment:
    if statement.block:
        raise wrong(statement.block[0].tokens[0].at, "is indented without reason", "align it with the line above")
    parser = Parser(statement.tokens)
    first = parser.next
    if parser.found("return"):
        name = ""
    else:
        name = parser.name("return, or a name").text
        parser.expect("=", "write name = …, or return …")
    value = parser.sum()
    _finished(parser)
    return Assignment(name, value, first.at)


def _set(parser: Parser) -> tuple[tuple[str, ...], bool]:
    """Names of one or more words between braces, and whether dots stand for more."""
    parser.expect("{", "write {one, another}")
    found, words, more = list[str](), list[str](), False
    while True:
        token = parser.take()
        if token.kind == "end":
            raise wrong(token.at, "the set is never closed", "close it with }")
        if token.text in (",", "}") and token.kind == "sign":
            if words:
                found.append(" ".join(words))
            words = []
            if token.text == "}":
                return tuple(found), more
        elif token.kind == "dots":
            more = True
        elif token.kind in ("name", "number") or token.text == "-":
            words.append(token.text)
        else:
            raise wrong(token.at, f"{shown(token)} is no name of a set's element", "write names, separated by commas")


def _maker(parser: Parser) -> MakerDefinition:
    at = parser.take().at
    form = f"{MAKERS[0]} among {{…}} informed by {{…}} trained on name"
    parser.expect("among", f"write {form}")
    options, _ = _set(parser)
    informed_by: tuple[str, ...] = ()
    if parser.found("informed"):
        parser.expect("by", f"write {form}")
        informed_by, _ = _set(parser)
    parser.expect("trained", f"write {form}")
    parser.expect("on", f"write {form}")
    if parser.next.text == "{":
        return MakerDefinition(options, informed_by, _set(parser), at)
    return MakerDefinition(options, informed_by, parser.name("the name of a set of databases").text, at)


def _finished(parser: Parser) -> None:
    if parser.next.kind != "end":
        raise wrong(parser.next.at, f"{shown(parser.next)} follows a complete line", "leave it out, or begin a new line")
