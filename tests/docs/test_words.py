"""The words that are looked for by `make lint`, and the texts that are looked at."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "check_words.py"
spec = importlib.util.spec_from_file_location("check_words", FILE)
assert spec is not None
assert spec.loader is not None
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)


def test_its_examples_are_so():
    assert doctest.testmod(words).failed == 0


@pytest.mark.parametrize(
    "text",
    [
        "It is a file unless said.",
        "A text that is none.",
        "a sample of so many rows",
        "The command is told of it.",
        "It is dropped without a word.",
        "one number a query",
        "a row a run",
    ],
)
def test_a_banned_phrase_is_found(text):
    assert len(list(words.banned(words.Prose(words.ROOT / "x.md", 1, text)))) == 1


@pytest.mark.parametrize("text", ["There is none.", "They cannot be told apart.", "so many rows that", "It runs a query."])
def test_ordinary_english_is_not(text):
    assert not list(words.banned(words.Prose(words.ROOT / "x.md", 1, text)))


def test_documents_docstrings_messages_and_templates_are_looked_at():
    assert {text.file.suffix for text in words.every_text()} == {".md", ".py", ".html"}
