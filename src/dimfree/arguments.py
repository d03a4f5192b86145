"""Every argument of a release, once: its default, the calls that take it, and its option on the command line.

`dimfree mean`, `plan` and `tradeoff` make their options from this table; tests/contracts/test_arguments.py compares it
with the signatures of the Python calls. `Request.checked` and `Options` check the values.
"""

from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

REQUIRED = Parameter.empty

# panels of --help
DATA = "Budget and data"
TABLE = "The table: its columns and its text format"
BUDGET = "Privacy budget"
RECORDS = "The planned records (no table is read)"
RULES = "Settings, all chosen before looking at the data"
OUTPUT = "Output"

# release_mean, release_means, PrivateMean, PrivateStandardScaler and make_private_mean
MEAN, MEANS, ESTIMATOR, SCALER, OPENDP = "mean", "means", "estimator", "scaler", "opendp"
ALL = (MEAN, MEANS, ESTIMATOR, SCALER, OPENDP)
TABLES = ALL[:4]  # OpenDP's domain and metric describe its table
NAMED = ALL[:3]  # of tables whose columns may have names


@dataclass(frozen=True)
class Argument:
    """One argument: `kind` is the type of its option on the command line, None if there is none."""

    default: Any = None
    help: str = ""
    kind: Any = str | None
    panel: str | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    doors: tuple[str, ...] = ()
    positional: bool = False


def read_help(text: str) -> dict[str, str]:
    """Name → help, of lines that begin with a name; an indented line continues the one before it."""
    return {name: " ".join(words) for name, *words in map(str.split, text.strip().replace("\n ", " ").splitlines())}


_HELP = read_help("""
epsilon  Total privacy loss; 1 is common.
delta  Total delta; choose it far below 1 / people.
objective  relative: small error of each column relative to its own SD; total: least Euclidean error; auto: relative
    for a table with named columns and enough rows, else total.
covariance  Publicly known variances (d) or covariance (d × d), never computed from DATA. Without it the variances are
    privately estimated.
unit  Privacy unit: rows with the same entry here (7 and 007 are two) are one person, who counts once, with their
    mean.
unit_rows  With --unit: a person counts with the sum of their first K rows instead.
ledger  Charge this ledger before any noise is drawn; dimfree ledger create makes one.
device  cuda, or cuda:1 and so on: compute on this GPU, with the same release to the last bit; cpu: do not.
columns  Release these columns alone; the others are not read.
exclude  Leave these columns out, as in --exclude patient_id.
bounds  Publicly known ends of columns, never computed from DATA: an entry beyond counts as the bound.
norm  Publicly known bound on the Euclidean length of every record, as of embeddings: longer ones are clipped.
neighbours  add-remove hides whether someone is in the table; replace-one makes the number of rows public.
shape  auto, the default without --covariance: the variances are privately estimated.
basis  Coordinates of the noise: auto (chosen within the budget), none, dct, or a file with a public orthonormal d × d
    matrix, axes in its rows. Sparse rows become dense in them: 8 bytes a coordinate.
on_missing  Missing and non-finite entries: raise stops (outside the guarantee), drop gives their rows no weight,
    column averages each column over the people who have it.
scale  known, or learn: the covariance is known up to one factor. Groups that share estimated variances learn it.
tails  heavy or gaussian; heavy is the safe choice.
outliers  Share of rows that may lie far from the rest.
window  Without --covariance: the distance between two typical rows lies in here, in DATA's units.
failure_probability  Accepted probability of refusing good data.
""")
_ROWS: dict[str, tuple[Any, ...]] = {  # default, type and panel of the option, placeholder of its value, calls
    "epsilon": (REQUIRED, float, DATA, None, ALL),
    "delta": (REQUIRED, float, DATA, None, ALL),
    "objective": ("auto", str, DATA, None, ALL),
    "covariance": (None, Path | None, DATA, None, ALL),
    "unit": (None, str | None, DATA, "COLUMN", NAMED),
    "unit_rows": (None, int | None, DATA, "K", NAMED),
    "ledger": (None, Path | None, DATA, "FILE", TABLES),
    "device": (None, str | None, DATA, "NAME", (MEAN, ESTIMATOR)),
    "columns": (None, str | None, TABLE, "A,B,C", NAMED),
    "exclude": (None, str | None, TABLE, "A,B", NAMED),
    "bounds": (None, str | None, TABLE, "A=LOW:HIGH,...", NAMED),
    "norm": (None, float | None, TABLE, None, NAMED),
    "neighbours": ("add-remove", str, RULES, None, (MEAN, ESTIMATOR, SCALER)),
    "shape": (None, str | None, RULES, None, ALL),
    "basis": ("auto", str, RULES, "NAME", (MEAN, ESTIMATOR, OPENDP)),
    "on_missing": ("raise", str, RULES, None, TABLES),
    "noise": (None, None, None, None, TABLES),
    # fields of Options: the scaler takes those without a known covariance
    "core_sample": ("auto", None, None, None, (ESTIMATOR,)),
    "scale": ("auto", str, RULES, None, (ESTIMATOR,)),
    "tails": ("heavy", str, RULES, None, (ESTIMATOR,)),
    "outliers": (0.03, float, RULES, None, (ESTIMATOR, SCALER)),
    "window": ((1e-6, 1e6), tuple[float, float], RULES, "LOW HIGH", (ESTIMATOR, SCALER)),
    "failure_probability": (0.01, float, RULES, None, (ESTIMATOR, SCALER)),
}
ARGUMENTS = {
    name: Argument(default, _HELP.get(name, ""), kind, panel, metavar, doors=doors)
    for name, (default, kind, panel, metavar, doors) in _ROWS.items()
}
