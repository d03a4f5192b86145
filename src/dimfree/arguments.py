"""Every argument of a release, once: its default, the calls that take it, and its option on the command line.

`dimfree mean`, `plan` and `tradeoff` make their options from this table; tests/contracts/test_doors.py compares it with
the signatures of the Python calls. `Request.checked` and `Options` check the values.
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


ARGUMENTS = {
    "epsilon": Argument(REQUIRED, "Total privacy loss; 1 is common.", float, DATA, doors=ALL),
    "delta": Argument(REQUIRED, "Total delta; choose it far below 1 / people.", float, DATA, doors=ALL),
    "objective": Argument(
        "auto",
        "relative: small error of each column relative to its own SD; total: least Euclidean error; auto: relative for "
        "a table with named columns and enough rows, else total.",
        str,
        DATA,
        doors=ALL,
    ),
    "covariance": Argument(
        None,
        "Publicly known variances (d) or covariance (d × d), never computed from DATA. Without it the variances are "
        "privately estimated.",
        Path | None,
        DATA,
        doors=ALL,
    ),
    "unit": Argument(
        None,
        "Privacy unit: rows with the same entry here (7 and 007 are two) are one person, who counts once, with "
        "their mean.",
        panel=DATA,
        metavar="COLUMN",
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "unit_rows": Argument(
        None,
        "With --unit: a person counts with the sum of their first K rows instead.",
        int | None,
        DATA,
        "K",
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "ledger": Argument(
        None,
        "Charge this ledger before any noise is drawn; dimfree ledger create makes one.",
        Path | None,
        DATA,
        "FILE",
        doors=TABLES,
    ),
    "device": Argument(
        None,
        "cuda, or cuda:1 and so on: compute on this GPU, with the same release to the last bit; cpu: do not.",
        panel=DATA,
        metavar="NAME",
        doors=(MEAN, ESTIMATOR),
    ),
    "columns": Argument(
        None,
        "Release these columns alone; the others are not read.",
        panel=TABLE,
        metavar="A,B,C",
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "exclude": Argument(
        None,
        "Leave these columns out, as in --exclude patient_id.",
        panel=TABLE,
        metavar="A,B",
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "bounds": Argument(
        None,
        "Publicly known ends of columns, never computed from DATA: an entry beyond counts as the bound.",
        panel=TABLE,
        metavar="A=LOW:HIGH,...",
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "norm": Argument(
        None,
        "Publicly known bound on the Euclidean length of every record, as of embeddings: longer ones are clipped.",
        float | None,
        TABLE,
        doors=(MEAN, MEANS, ESTIMATOR),
    ),
    "neighbours": Argument(
        "add-remove",
        "add-remove hides whether someone is in the table; replace-one makes the number of rows public.",
        str,
        RULES,
        doors=(MEAN, ESTIMATOR, SCALER),
    ),
    "shape": Argument(
        None, "auto, the default without --covariance: the variances are privately estimated.", panel=RULES, doors=ALL
    ),
    "basis": Argument(
        "auto",
        "Coordinates of the noise: auto (chosen within the budget), none, dct, or a file with a public orthonormal "
        "d × d matrix, axes in its rows. Sparse rows become dense in them: 8 bytes a coordinate.",
        str,
        RULES,
        "NAME",
        doors=(MEAN, ESTIMATOR, OPENDP),
    ),
    "on_missing": Argument(
        "raise",
        "Missing and non-finite entries: raise stops (outside the guarantee), drop gives their rows no weight, column "
        "averages each column over the people who have it.",
        str,
        RULES,
        doors=TABLES,
    ),
    "noise": Argument(None, kind=None, doors=TABLES),
    # fields of Options: the scaler takes those without a known covariance
    "core_sample": Argument("auto", kind=None, doors=(ESTIMATOR,)),
    "scale": Argument(
        "auto",
        "known, or learn: the covariance is known up to one factor. Groups that share estimated variances learn it.",
        str,
        RULES,
        doors=(ESTIMATOR,),
    ),
    "tails": Argument("heavy", "heavy or gaussian; heavy is the safe choice.", str, RULES, doors=(ESTIMATOR,)),
    "outliers": Argument(
        0.03, "Share of rows that may lie far from the rest.", float, RULES, doors=(ESTIMATOR, SCALER)
    ),
    "window": Argument(
        (1e-6, 1e6),
        "Without --covariance: the distance between two typical rows lies in here, in DATA's units.",
        tuple[float, float],
        RULES,
        "LOW HIGH",
        doors=(ESTIMATOR, SCALER),
    ),
    "failure_probability": Argument(
        0.01, "Accepted probability of refusing good data.", float, RULES, doors=(ESTIMATOR, SCALER)
    ),
}
