"""Names of columns: which of them are there, and which look like identifiers. Names are public."""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from dimfree._validate import quoted
from dimfree._validate.column_names import could_be_a_cell
from dimfree.errors import InvalidParameter

if TYPE_CHECKING:
    from dimfree.data.schema import Schema

_SHOWN = 8  # names of a table in an error
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\-. ])?(id|ids|uuid|guid|key|pk)|index|idx|level_0|row|(row|line|record|serial)[_\-. ]?(id|index|idx|"
    r"no|num|number)|ssn|mrn|unnamed: 0)|.*[a-z](ID|Id)"
)
_NUMBERED = re.compile(
    r"(?i:.*[_\-. ](nr|number|code|zip|zipcode|postcode|barcode)|zip|zipcode|postcode|barcode)|.*[a-z](Nr|Number|Code)"
)


class IdentifierWarning(UserWarning):
    """A column that is about to be averaged looks like an identifier."""


def require_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """An error unless one column has each name; it states names that are close to it, or a few of all."""
    count = Counter(names)
    name = next((name for name in wanted if count[name] != 1), None)
    if name is None:
        return
    if count[name]:
        raise InvalidParameter(f"There is more than one column named {quoted(name)}: give every column its own name.")
    told = "There is no column of that name" if could_be_a_cell(name) else f"There is no column named {quoted(name)}"
    raise InvalidParameter(f"{told}.{_known(names, name)}")


def looks_like(names: Sequence[str]) -> str:
    """Such columns by their names, which are schema, hence public."""
    listed = ", ".join(map(repr, names[:_SHOWN])) + (" and others" if len(names) > _SHOWN else "")
    return f"{listed} {'looks like an identifier' if len(names) == 1 else 'look like identifiers'}"


def identifier_words(names: Sequence[str]) -> str:
    """What to say about such columns."""
    it = "it" if len(names) == 1 else "them"
    return (
        f"{looks_like(names)}, by name or as text, and the mean of {it} would be released with the others, at "
        f"the cost of some accuracy for all. Leave {it} out with exclude= (--exclude), name the column of persons with "
        "unit= (--unit), or list what you want with columns= (--columns)."
    )


def warn_of_identifiers(
    names: Sequence[str] | None,
    schema: "Schema",
    texts: Sequence[str] = (),
    stacklevel: int = 3,
) -> None:
    """A Python warning, before anything is spent."""
    if suspects := schema.identifiers(names, texts):
        warnings.warn(identifier_words(suspects), IdentifierWarning, stacklevel=stacklevel)


def is_identifier(name: str) -> bool:
    """An id, or a number or code that is a label; not what a quantity may be called, too (price_index, smoker_no)."""
    return any(each.fullmatch(name.strip()) for each in (_IDENTIFIER, _NUMBERED))


def _known(names: Sequence[str], name: str) -> str:
    """Names that are public for sure: none where one of them could be a cell of a record taken for a header."""
    if any(map(could_be_a_cell, names)):
        return " Pass the names as the table has them."
    folded = {each.strip().casefold(): each for each in names}
    close = [folded[each] for each in get_close_matches(name.strip().casefold(), folded, n=3, cutoff=0.6)]
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f" The table has {', '.join(map(repr, names[:_SHOWN]))}{rest}."
