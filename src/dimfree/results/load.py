"""`dimfree.load`: read a release file."""

from pathlib import Path

from dimfree._validate import check_path
from dimfree.errors import InvalidFileError
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release


def load(path: str | Path) -> Release | GroupMeans:
    """Read a release file that `to_json` or `dimfree mean --json` wrote.

    Parameters
    ----------
    path : str or Path
        A .json file.

    Returns
    -------
    Release or GroupMeans

    Raises
    ------
    InvalidFileError
        If the file cannot be read or is not a release file.
    """
    file = check_path("path", path)
    try:
        text = file.read_text(encoding="utf-8")
        return GroupMeans.from_json(text) if '"means"' in text[:40] else Release.from_json(text)
    except InvalidFileError as error:
        raise InvalidFileError(f"{str(file)!r}: {error}") from None
    except (OSError, ValueError):
        raise InvalidFileError(f"{str(file)!r} cannot be read: pass a file that dimfree mean --json wrote.") from None
