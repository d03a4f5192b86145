"""The table of all arguments of a release: default, calls that take the argument, and option on the command line.

`dimfree mean` and `dimfree plan` make their options from this table; tests/contracts/test_arguments.py compares it
with the signatures of the Python calls. `Request.from_arguments` and `Options` check the values.
"""

from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

REQUIRED = Parameter.empty

# panels of --help
DATA = "Budget and data"
TABLE = "Columns and text format of the table"
BUDGET = "Privacy budget"
RECORDS = "Planned records (no table is read)"
RULES = "Settings; choose them before you look at the data"
OUTPUT = "Output"

# release_mean, release_group_means, PrivateMean, PrivateStandardScaler and make_private_mean
MEAN, MEANS, ESTIMATOR, SCALER, OPENDP = "mean", "means", "estimator", "scaler", "opendp"
ALL = (MEAN, MEANS, ESTIMATOR, SCALER, OPENDP)
TABLES = ALL[:4]  # OpenDP's domain and metric describe its table
NAMED = ALL[:3]  # of tables whose columns may have names


@dataclass(frozen=True)
class Argument:
    """One argument; `kind` is the type of its option, None if the command line has none."""

    default: Any = None
    help: str = ""
    kind: Any = str | None
    panel: str | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    doors: tuple[str, ...] = ()
    positional: bool = False


def read_help(text: str) -> dict[str, str]:
    """Read lines of a name and its help; an indented line continues the line before it."""
    return {name: " ".join(words) for name, *words in map(str.split, text.strip().replace("\n ", " ").splitlines())}


_HELP = read_help("""
epsilon  Total epsilon of the privacy budget; 1 is common.
delta  Total delta of the privacy budget; far below 1 / number of people.
objective  relative: error of each column in its own SD; total: Euclidean error; or auto.
covariance  Publicly known variances (d) or covariance (d × d); else privately estimated.
privacy_unit  Column of privacy IDs: all rows with the same ID are one person.
max_contributions  With --privacy-unit: up to K rows per person, summed; else their mean.
ledger  Privacy ledger to charge before any noise is drawn (dimfree ledger create).
device  cuda, cuda:1 or cpu; the release is the same, bit for bit.
columns  Columns to release; the others are not read.
exclude  Columns to leave out.
bounds  Publicly known bounds of columns; values outside count as the bound.
norm  Publicly known bound on the length of every record, as of embeddings.
neighbors  add-remove, or replace-one (the number of records is public).
basis  Coordinates of the noise: auto, none, dct, or a file with an orthonormal matrix.
missing  raise (an error), complete-case (leave out rows) or available-case (per column).
scale  With --covariance: known, or learn (known up to one factor).
tails  heavy (the safe choice) or gaussian.
outliers  Share of records that may lie anywhere, below 0.3.
window  Without --covariance: range of the distance between two typical records.
failure_probability  Accepted probability of refusing good data.
""")
_ROWS: dict[str, tuple[Any, ...]] = {  # default, type and panel of the option, placeholder of its value, calls
    "epsilon": (REQUIRED, float, DATA, None, ALL),
    "delta": (REQUIRED, float, DATA, None, ALL),
    "objective": ("auto", str, DATA, "NAME", ALL),
    "covariance": (None, Path | None, DATA, None, ALL),
    "privacy_unit": (None, str | None, DATA, "COLUMN", NAMED),
    "max_contributions": (None, int | None, DATA, "K", NAMED),
    "ledger": (None, Path | None, DATA, "FILE", TABLES),
    "device": (None, str | None, DATA, "NAME", (MEAN, ESTIMATOR)),
    "columns": (None, str | None, TABLE, "A,B,C", NAMED),
    "exclude": (None, str | None, TABLE, "A,B", NAMED),
    "bounds": (None, str | None, TABLE, "A=LOW:HIGH,...", NAMED),
    "norm": (None, float | None, TABLE, None, NAMED),
    "neighbors": ("add-remove", str, RULES, "NAME", (MEAN, ESTIMATOR, SCALER)),
    "basis": ("auto", str, RULES, "NAME", (MEAN, ESTIMATOR, OPENDP)),
    "missing": ("raise", str, RULES, "NAME", TABLES),
    "noise": (None, None, None, None, TABLES),
    # fields of Options: the scaler takes those without a known covariance
    "core_sample": ("auto", None, None, None, (ESTIMATOR,)),
    "scale": ("auto", str, RULES, "NAME", (ESTIMATOR,)),
    "tails": ("heavy", str, RULES, "NAME", (ESTIMATOR,)),
    "outliers": (0.03, float, RULES, None, (ESTIMATOR, SCALER)),
    "window": ((1e-6, 1e6), tuple[float, float], RULES, "LOW HIGH", (ESTIMATOR, SCALER)),
    "failure_probability": (0.01, float, RULES, None, (ESTIMATOR, SCALER)),
}
ARGUMENTS = {
    name: Argument(default, _HELP.get(name, ""), kind, panel, metavar, doors=doors)
    for name, (default, kind, panel, metavar, doors) in _ROWS.items()
}
