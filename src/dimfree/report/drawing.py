"""How the pictures of a report become inline SVG. No column name is passed to the drawing library.

On a dark page the style sheet replaces the colours.
"""

import html
import re
from collections.abc import Sequence
from typing import Any

from dimfree.results.names import shown_name
from dimfree.results.plot import NAME_LENGTH, styled


def mark(place: int, kind: str = "name") -> str:
    """A placeholder for a name: some characters in names would end the process inside the drawing library."""
    return f"@{kind}{place}@"


def svg(chart: Any, names: Sequence[str]) -> str:
    """SVG for a page: without links and sizes that only a file needs; names are inserted, escaped.

    What a point tells (`description` in the picture) becomes its title, which browsers show under the pointer.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(styled(chart).to_dict())
    titled = re.sub(r'<(path)( [^>]*?)aria-label="(@name[^"]*)"([^>]*)/>', r"<\1\2\4><title>\3</title></\1>", drawn)
    bare = re.sub(r' (xmlns(:xlink)?|version|aria-[a-z]+|role)="[^"]*"', "", titled)
    shown = {"name": [html.escape(shown_name(name)) for name in names]}
    shown["label"] = [html.escape(shown_name(name, NAME_LENGTH)) for name in names]
    return re.sub(r"@(name|label)(\d+)@", lambda found: shown[found[1]][int(found[2])], bare)
