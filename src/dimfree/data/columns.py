"""Check the names and types of columns: unknown names, identifiers, unsupported types. All of it is public."""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from dimfree._validate import quote
from dimfree._validate.column_names import could_be_a_cell
from dimfree.errors import IdentifierWarning, InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    from dimfree.data.schema import Schema

IF_MISSING = "If cells are missing, also pass missing='available-case' (--missing available-case) or 'complete-case'."
_SHOWN = 8  # names of a table in an error
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\-. ])?(id|ids|uuid|guid|key|pk)|index|idx|level_0|row|(row|line|record|serial)[_\-. ]?(id|index|idx|"
    r"no|num|number)|ssn|mrn|unnamed: 0)|.*[a-z](ID|Id)"
)
_NUMBERED = re.compile(
    r"(?i:.*[_\-. ](nr|number|code|zip|zipcode|postcode|barcode)|zip|zipcode|postcode|barcode)|.*[a-z](Nr|Number|Code)"
)


def require_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise an error unless exactly one column has each name; the error suggests similar names."""
    count = Counter(names)
    name = next((name for name in wanted if count[name] != 1), None)
    if name is None:
        return
    if count[name]:
        raise InvalidParameterError(
            f"There is more than one column named {quote(name)}. Give each column a name of its own."
        )
    lacks = "There is no column of that name" if could_be_a_cell(name) else f"There is no column named {quote(name)}"
    raise InvalidParameterError(f"{lacks}.{_suggest_names(names, name)}")


def describe_identifiers(names: Sequence[str]) -> str:
    """Return the subject of a sentence about identifiers; names are schema, hence public."""
    listed = ", ".join(map(repr, names[:_SHOWN])) + (" and others" if len(names) > _SHOWN else "")
    return f"{listed} {'looks like an identifier' if len(names) == 1 else 'look like identifiers'}"


def format_identifier_warning(names: Sequence[str]) -> str:
    it = "it" if len(names) == 1 else "them"
    return (
        f"{describe_identifiers(names)}, by name or as text. Releasing the mean of {it} costs all columns accuracy. "
        f"Leave {it} out with exclude= (--exclude), name the privacy IDs with privacy_unit= (--privacy-unit), "
        "or list the columns to release with columns= (--columns)."
    )


def warn_of_identifiers(
    names: Sequence[str] | None, schema: "Schema", texts: Sequence[str] = (), stacklevel: int = 3
) -> None:
    """Warn of columns that look like identifiers, before any budget is charged."""
    if suspects := schema.find_identifiers(names, texts):
        warnings.warn(format_identifier_warning(suspects), IdentifierWarning, stacklevel=stacklevel)


def is_identifier(name: str) -> bool:
    """Return whether a name is that of an ID, number or code; not names of quantities (price_index, smoker_no)."""
    return any(each.fullmatch(name.strip()) for each in (_IDENTIFIER, _NUMBERED))


def _suggest_names(names: Sequence[str], name: str) -> str:
    """Suggest names that are certainly public: none if one of them could be a cell of a record read as a header."""
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
    """Refuse a table with columns of unsupported types, by its schema alone; one error names all of them.

    `may_lack`: the supported columns whose types allow missing cells; None: types do not state it. `texts`: the
    supported columns whose cells are text and must be numbers. `strict`: missing cells are errors.
    """
    if name := next((name for name in names if name.startswith("__index_level_")), None):
        raise InvalidDataError(
            f"Column {name!r} is a pandas index, not data. Write the table with index=False. No budget was charged."
        )
    # only the first word of a type: the rest may list categories, which are entries
    kinds = [re.match(r"\w+", str(type_)) for type_ in types]
    wrong = {name: kind for name, kind, fits in zip(names, kinds, supported, strict=True) if not fits}
    if not wrong:
        return
    which = (
        f"Column {join_names(list(wrong))} has type"
        if len(wrong) == 1
        else f"Columns {join_names(list(wrong))} have types"
    )
    found = _join_words([kind[0] if kind else "unknown" for kind in wrong.values()])
    parts = [f"{which} {found}; only numeric and boolean columns are supported. {suggest_remedies(list(wrong))}"]
    if texts:
        parts.append(f"Stored as text: {join_names(texts)}; every cell must be a number.")
    if strict and may_lack is None:
        parts.append(IF_MISSING)
    elif strict and may_lack:
        columns = "columns" if len(may_lack) > 1 else "column"
        parts.append(f"{IF_MISSING} Their type allows it for {columns} {join_names(may_lack)}.")
    raise InvalidDataError(" ".join([*parts, "No budget was charged."]))


def suggest_remedies(names: Sequence[str]) -> str:
    it = "it" if len(names) == 1 else "them"
    return (
        f"Exclude {it} with exclude={list(names)} (--exclude), or convert {it} by a rule that does not depend on the "
        "table: a date to a number, a category to one 0/1 column per level of a public list. The levels that occur in "
        "the table are private."
    )


def join_names(names: Sequence[object]) -> str:
    return _join_words(list(map(repr, names)))


def _join_words(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last
