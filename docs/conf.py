"""Build the pages as a site: `sphinx-build -c docs . docs/_build/html`, without a network.

The source folder is the root of the checkout, so that docs/, proofs/ and the tables of the benchmarks link to each
other as in the repository.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from dimfree import __version__  # noqa: E402

project = "dimfree"
author = "the authors of dimfree"
copyright = author  # noqa: A001
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/[!d_]*/*.md",
    "docs/decisions/0*.md",
    "proofs/**.md",
    "benchmarks/results/*.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
]
exclude_patterns = ["docs/_build"]
nitpicky = False

myst_enable_extensions: list[str] = []
myst_heading_anchors = 3
default_role = "code"  # docstrings write code between single backticks
smartquotes = False  # they also write code without backticks

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "dimfree"
html_copy_source = False
html_show_sphinx = False
html_permalinks_icon = "#"
html_extra_path = ["front"]  # a page that leads from the root of the site to docs/index.html
html_theme_options = {"footer_icons": []}


# Docstrings are plain sentences with code between backticks; outside of code `*`, `_` and `|` are not markup.
_CODE_OR_SIGN = re.compile(r"(``.+?``|`[^`]+`|^\s*(?:>>>|\.\.\.).*?$)|([*_|])", re.DOTALL | re.MULTILINE)
_ARRAY_LIKE = re.compile(r"[~\w.]*Buffer \| .*?NestedSequence\[complex \| bytes \| str\]")


def escape_signs(app: Sphinx, what: str, name: str, found: object, options: Any, lines: list[str]) -> None:
    """Escape `*`, `_` and `|` outside of code, in place."""
    text = _CODE_OR_SIGN.sub(lambda match: match[1] or "\\" + match[2], "\n".join(lines))
    lines[:] = text.split("\n")


def shorten_signature(
    app: Sphinx, what: str, name: str, found: object, options: Any, signature: Any, returns: Any
) -> Any:
    """Write `ArrayLike` instead of the union that it abbreviates."""
    return signature and _ARRAY_LIKE.sub("ArrayLike", signature), returns


class CommandHelp(Directive):
    """Render the help text of every command."""

    def run(self) -> list[nodes.Node]:
        from typer.main import get_command
        from typer.testing import CliRunner

        from dimfree.cli import app

        def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
            children = getattr(command, "commands", {})
            return [each for name, child in children.items() for each in paths(child, (*path, name))] or [path]

        found: list[nodes.Node] = []
        for path in paths(get_command(app)):
            title = " ".join(("dimfree", *path))
            section = nodes.section(ids=[nodes.make_id(title)])
            text = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, [*path, "--help"]).output
            section += [nodes.title("", title), nodes.literal_block(text, text, language="text")]
            found.append(section)
        return found


def setup(app: Sphinx) -> None:
    app.add_directive("dimfree-help", CommandHelp)
    app.add_lexer("functions", TextLexer)  # the lists at the end of the proofs
    app.connect("autodoc-process-docstring", escape_signs)
    app.connect("autodoc-process-signature", shorten_signature)
