"""Names and types of columns: which are there, look like identifiers, or cannot be read. All of it is public."""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from dimfree._validate import quoted
from dimfree._validate.column_names import could_be_a_cell
from dimfree.errors import InvalidParameter, InvalidRecords

if TYPE_CHECKING:
    from dimfree.data.schema import Schema

IF_MISSING = "If cells are missing, also pass on_missing='column' (--on-missing column) or 'drop'."
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
    """The subject of a sentence about identifiers: names are schema, hence public."""
    listed = ", ".join(map(repr, names[:_SHOWN])) + (" and others" if len(names) > _SHOWN else "")
    return f"{listed} {'looks like an identifier' if len(names) == 1 else 'look like identifiers'}"


def identifier_words(names: Sequence[str]) -> str:
    it = "it" if len(names) == 1 else "them"
    return (
        f"{looks_like(names)}, by name or as text, and the mean of {it} would be released with the others, at "
        f"the cost of some accuracy for all. Leave {it} out with exclude= (--exclude), name the column of persons with "
        "unit= (--unit), or list what you want with columns= (--columns)."
    )


def warn_of_identifiers(
    names: Sequence[str] | None, schema: "Schema", texts: Sequence[str] = (), stacklevel: int = 3
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


def refuse_types(
    names: Sequence[str],
    types: Sequence[object],
    supported: Sequence[bool],
    *,
    may_lack: Sequence[str] | None = None,
    texts: Sequence[str] = (),
    strict: bool = True,
) -> None:
    """Refuse a table with columns of unsupported types: one error names all of them. By schema alone.

    `may_lack`: the supported columns that may have missing cells by their types; None: types do not state it. `texts`:
    the supported columns whose cells are text and have to be numbers. `strict`: missing cells are errors.
    """
    if name := next((name for name in names if name.startswith("__index_level_")), None):
        raise InvalidRecords(f"Column {name!r} is a pandas index, not a coordinate: write the table with index=False.")
    # the first word of a type: what follows may be the categories, and these are entries
    kinds = [re.match(r"\w+", str(type_)) for type_ in types]
    wrong = {name: kind for name, kind, fits in zip(names, kinds, supported, strict=True) if not fits}
    if not wrong:
        return
    which = f"Column {joined(list(wrong))} has type" if len(wrong) == 1 else f"Columns {joined(list(wrong))} have types"
    found = _sentence([kind[0] if kind else "unknown" for kind in wrong.values()])
    parts = [f"{which} {found}; only numeric and boolean columns are supported. {remedies(list(wrong))}"]
    if texts:
        parts.append(f"Stored as text: {joined(texts)}; every cell has to be a number.")
    if strict and may_lack is None:
        parts.append(IF_MISSING)
    elif strict and may_lack:
        remedy = "pass on_missing='column' (--on-missing column) or 'drop' if they do."
        columns = "Columns" if len(may_lack) > 1 else "Column"
        parts.append(f"{columns} {joined(may_lack)} may have missing cells by type: {remedy}")
    raise InvalidRecords(" ".join([*parts, "No budget was charged."]))


def remedies(names: Sequence[str]) -> str:
    it = "it" if len(names) == 1 else "them"
    return (
        f"Exclude {it} with exclude={list(names)} (--exclude), or convert {it} by a rule that does not depend on the "
        "table: a date to a number, a category to one 0/1 column for each level of a list that is publicly known. "
        "Levels that occur in the table are private."
    )


def joined(names: Sequence[object]) -> str:
    return _sentence(list(map(repr, names)))


def _sentence(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last
