"""How the pages become a site: `sphinx-build -c docs . docs/_build/html`, without a network.

The source folder is the root of the checkout, so that docs/, proofs/ and the benchmarks' tables link to each other as
they do in the repository, and nothing is copied.
"""

import re
import sys
from pathlib import Path
from typing import Any

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


# Docstrings are plain sentences with code between backticks; a sign outside of these is no markup.
_CODE_OR_SIGN = re.compile(r"(``.+?``|`[^`]+`|^\s*(?:>>>|\.\.\.).*?$)|([*_|])", re.DOTALL | re.MULTILINE)
_ARRAY_LIKE = re.compile(r"[~\w.]*Buffer \| .*?NestedSequence\[complex \| bytes \| str\]")


def as_it_stands(app: Sphinx, what: str, name: str, found: object, options: Any, lines: list[str]) -> None:
    """Escape what stands outside of code, in place."""
    text = _CODE_OR_SIGN.sub(lambda match: match[1] or "\\" + match[2], "\n".join(lines))
    lines[:] = text.split("\n")


def shorter(app: Sphinx, what: str, name: str, found: object, options: Any, signature: Any, returns: Any) -> Any:
    """NumPy's ArrayLike under its own name instead of all that it stands for."""
    return signature and _ARRAY_LIKE.sub("ArrayLike", signature), returns


def setup(app: Sphinx) -> None:
    app.add_lexer("functions", TextLexer)  # the lists at the end of the proofs
    app.connect("autodoc-process-docstring", as_it_stands)
    app.connect("autodoc-process-signature", shorter)
