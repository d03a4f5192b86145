"""Every command's help shows an example, and every example parses; the tests of the commands run them."""

import shlex
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

import dimfree.cli

ROOT = typer.main.get_command(dimfree.cli.app)


def commands(command=ROOT, path=()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every command that does something, by the words that call it."""
    for name, each in getattr(command, "commands", {}).items():
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield (*path, name), each


COMMANDS = dict(commands())


def examples(text: str) -> list[list[str]]:
    """What stands behind `dimfree` in the examples of a help text; a redirection is the shell's affair."""
    lines = text.replace("\\\n", " ").splitlines()
    found = [shlex.split(line) for line in lines if line.startswith("  ") and line.strip().startswith("dimfree ")]
    return [words[1 : words.index(">")] if ">" in words else words[1:] for words in found]


EXAMPLES = [(path, words) for path, command in COMMANDS.items() for words in examples(command.help or "")]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_shows_an_example_of_itself(path):
    text = COMMANDS[path].help or ""
    assert "Example" in text
    assert any(words[: len(path)] == list(path) for words in examples(text)), "an example of another command only"
    page = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(dimfree.cli.app, [*path, "--help"]).output
    assert "Example" in page
    assert f"dimfree {' '.join(path)} " in page or f"dimfree {' '.join(path)}\n" in page.replace(" \n", "\n")


@pytest.mark.parametrize(("path", "words"), EXAMPLES, ids=[" ".join(words) for _, words in EXAMPLES])
def test_every_example_parses(path, words):
    """Commands and options exist, and values have the right type; nothing runs."""
    assert parsed(words).command in COMMANDS.values()


def parsed(words):
    command = ROOT
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    return command.make_context("dimfree", list(words))


@pytest.mark.parametrize("broken", ["dimfree mean x.csv --epsilonn 1 --delta 1e-6", "dimfree mean x.csv --epsilon 1"])
def test_an_example_that_is_wrong_is_found(broken):
    words = examples(f"Example:\n\n  {broken}\n")[0]
    with pytest.raises(Exception, match=r"(?i)no such option|missing parameter|missing option"):
        parsed(words)
