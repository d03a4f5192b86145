"""Which columns of a table are its coordinates: chosen by public names, once, before any record is read."""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from dimfree._validate import quoted
from dimfree._validate.column_names import could_be_a_cell
from dimfree.errors import InvalidParameter

_SHOWN = 8  # names of a table in an error
_INDEX = ("pandas", "Index")
_NEED = "Pass a column name, or a list of them, such as ['age', 'income']."
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\-. ])?(id|ids|uuid|guid|key|pk)|index|idx|level_0|row|(row|line|record|serial)[_\-. ]?(id|index|idx|"
    r"no|num|number)|ssn|mrn|unnamed: 0)|.*[a-z](ID|Id)"
)
_NUMBERED = re.compile(
    r"(?i:.*[_\-. ](nr|number|code|zip|zipcode|postcode|barcode)|zip|zipcode|postcode|barcode)|.*[a-z](Nr|Number|Code)"
)


class IdentifierWarning(UserWarning):
    """A column that is about to be averaged looks like an identifier."""


@dataclass(frozen=True)
class Selection:
    """The names that a caller gives: all public, none of them computed from records."""

    columns: tuple[str, ...] | None = None  # None: all columns
    exclude: tuple[str, ...] = ()

    @classmethod
    def checked(cls, columns: object = None, exclude: object = None) -> "Selection":
        """Of the parameters `columns` and `exclude`; None says nothing."""
        kept = None if columns is None else _names("columns", columns)
        left = () if exclude is None else _names("exclude", exclude)
        return cls(kept, left)

    @property
    def is_all(self) -> bool:
        return self.columns is None and not self.exclude

    def places(self, names: Sequence[str] | None, apart: Sequence[int] = ()) -> list[int]:
        """Where the coordinates stand, in the order of the table; columns that are `apart` hold keys."""
        if names is None:
            raise InvalidParameter(
                "The table has no column names, so that none can be chosen by name: leave columns and exclude "
                "(--columns, --exclude) out, or write it with names."
            )
        require_names(names, (*(self.columns or ()), *self.exclude))
        wanted = set(names if self.columns is None else self.columns) - set(self.exclude)
        found = [at for at, name in enumerate(names) if name in wanted and at not in apart]
        if not found:
            raise InvalidParameter("columns and exclude (--columns, --exclude) leave no column: keep at least one.")
        return found

    def then(self, later: "Selection") -> "Selection":
        """The choice of both, one after the other; `later` names columns that this one has kept."""
        if later.is_all:
            return self
        kept, left = self.columns if later.columns is None else later.columns, (*self.exclude, *later.exclude)
        if kept is None:
            return Selection(None, tuple(dict.fromkeys(left)))
        return Selection(tuple(name for name in kept if name not in left))

    def once_more(self, key: object) -> dict[str, list[str] | None]:
        """The same choice for a table that was chosen already and has lost this column of keys."""
        left = {*self.exclude, key}
        kept = None if self.columns is None else [name for name in self.columns if name not in left]
        return {"columns": kept, "exclude": None}

    def identifiers(self, names: Sequence[str] | None, texts: Sequence[str] = ()) -> list[str]:
        """The coordinates that look like identifiers and were not asked for by name. Public.

        By schema alone: those with such a name, and those that a file with declared types stores as text. Whether
        numbers are whole says nothing: one missing entry may have made fractions of them.
        """
        told, text = set(self.columns or ()), set(texts)
        return [name for name in names or () if name not in told and (name in text or _is_identifier(name))]


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
    selection: Selection,
    texts: Sequence[str] = (),
    stacklevel: int = 3,
) -> None:
    """A Python warning, before anything is spent."""
    if suspects := selection.identifiers(names, texts):
        warnings.warn(identifier_words(suspects), IdentifierWarning, stacklevel=stacklevel)


def _is_identifier(name: str) -> bool:
    """An id, or a number or code that is a label; not what a quantity may be called, too (price_index, smoker_no)."""
    return any(each.fullmatch(name.strip()) for each in (_IDENTIFIER, _NUMBERED))


def _names(parameter: str, given: object) -> tuple[str, ...]:
    """One name, a list of names, or pandas' Index of them; a column of records by mistake is not looked at."""
    given = [given] if isinstance(given, str) else given
    kind = (type(given).__module__.partition(".")[0], type(given).__name__)
    if not isinstance(given, list | tuple) and kind != _INDEX:
        raise InvalidParameter(f"Expected {parameter} to be a list of names, got {type(given).__name__}. {_NEED}")
    names: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]
    is_list = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not is_list or not (names or parameter == "exclude"):
        raise InvalidParameter(f"Expected {parameter} to be one or more names, each once. {_NEED}")
    return tuple(map(str, names))


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
