"""What --help shows of flags, and the completion of commands by a shell."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dimfree.cli import app

COMMANDS = ([], ["mean"], ["plan"], ["tradeoff"], ["report"], ["audit"], ["ledger"], ["ledger", "show"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_flag_asks_for_a_value(command):
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert "--help" in done.stdout
    assert "<bool>" not in done.stdout


def complete(words: str) -> list[str]:
    asked = {"_DIMFREE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    command = [sys.executable, "-c", "from dimfree.cli import main; main()"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_shell_completes_commands_and_options():
    assert complete("dimfree re") == ["report"]
    assert complete("dimfree mean --obj") == ["--objective"]
