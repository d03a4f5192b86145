"""Every command's help shows an example; every example parses, and the cheap ones run as they stand."""

import shlex
from collections.abc import Iterator

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import dimfree.cli
from dimfree.noise import SeededNoise
from dimfree.release import release_mean

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


def shown(words: list[str]) -> str:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(dimfree.cli.app, words).output


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_shows_an_example_of_itself(path):
    text = COMMANDS[path].help or ""
    assert "Example" in text
    assert any(words[: len(path)] == list(path) for words in examples(text)), "an example of another command only"
    page = shown([*path, "--help"])
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


def run(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return CliRunner().invoke(dimfree.cli.app, words)


def example_of(name: str, *having: str) -> list[str]:
    return next(words for path, words in EXAMPLES if path == (name,) and set(having) <= set(words))


def test_the_example_of_compose_runs(tmp_path, monkeypatch):
    X = np.random.default_rng(42).normal(size=(500, 2))
    for seed, name in enumerate(("first.json", "second.json")):
        release = release_mean(X, epsilon=2.0, delta=1e-6, covariance=np.ones(2), noise=SeededNoise(seed))
        (tmp_path / name).write_text(release.to_json(), encoding="utf-8")
    done = run(example_of("compose"), tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    assert "2 release(s) about the same people" in done.stdout


def test_the_example_of_plan_runs(tmp_path, monkeypatch):
    done = run(example_of("plan", "--n"), tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("error (found)\t")


@pytest.mark.slow
@pytest.mark.parametrize("words", [example_of("plan", "--accuracy"), example_of("tradeoff")], ids=["plan", "tradeoff"])
def test_longer_examples_run(words, tmp_path, monkeypatch):
    if "--chart" in words:
        pytest.importorskip("altair")
    done = run(words, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
