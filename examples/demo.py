"""Release the means of scikit-learn's breast-cancer table through the command line.

569 people, 30 measurements in their own units, from 0.004 to 880. The command gets the table and a budget only. It
writes demo-output/: the table, mean.csv, release.json and report.html. The table is public, so the error may be printed
at the end. Run by `make demo`.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

import dimfree

EPSILON = 2.0
DELTA = 1e-6
EXTRA_OPTIONS: tuple[str, ...] = ()  # for instance ("--neighbors", "replace-one")
FOLDER = Path("demo-output")
SHOWN = 10  # columns in the summary


def write_table() -> Path:
    """Write the measurements as a Parquet file with named columns."""
    people = load_breast_cancer()
    data = FOLDER / "people.parquet"
    FOLDER.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(zip(people.feature_names.tolist(), people.data.T, strict=True))), data)
    return data


def run_command_line(data: Path, mean: Path, record: Path, report: Path) -> int:
    arguments = ["mean", str(data), "--epsilon", f"{EPSILON:g}", "--delta", f"{DELTA:g}"]
    arguments += ["-o", str(mean), "--json", str(record), "--report", str(report)]
    arguments += ["--force", *EXTRA_OPTIONS]
    print("$ dimfree " + " ".join(arguments), flush=True)
    command = Path(sys.executable).with_name("dimfree")
    return subprocess.run([command, *arguments], check=False).returncode


def print_summary(record: Path) -> None:
    release = dimfree.Release.from_json(record.read_text(encoding="utf-8"))
    console = Console()
    console.print(release.guarantee.statement())
    if release.refused:
        console.print(f"Refused: {release.refusal}")
        return
    columns = release.to_frame("pyarrow").to_pylist()  # name, mean, noise, interval, noise / SD
    table = Table("column", "private mean", "95% confidence interval", "noise / SD", title=f"the first {SHOWN} columns")
    for row in columns[:SHOWN]:
        within, over = f"{row['ci_low']:.4g} to {row['ci_high']:.4g}", f"at most {row['noise_to_sd']:.2f}"
        known = np.isfinite(row["noise_to_sd"])
        table.add_row(row["name"], f"{row['mean']:.4g}", within, over if known else "not known")
    console.print(table)
    console.print("Intervals are for the population mean: sampling error, privacy noise and clipping bias together.")
    truth = load_breast_cancer().data  # not private: allowed here because the table is public
    errors = (release.mean - truth.mean(axis=0)) / truth.std(axis=0)
    console.print(f"Root mean square error over all {len(errors)} columns: {np.sqrt(np.mean(errors**2)):.2f} SDs.")


def main() -> int:
    data = write_table()
    mean, record, report = FOLDER / "mean.csv", FOLDER / "release.json", FOLDER / "report.html"
    for leftover in (mean, record, report):
        leftover.unlink(missing_ok=True)  # so that the files at the end are of this run
    code = run_command_line(data, mean, record, report)
    if record.exists():
        print_summary(record)
    print("Written: " + ", ".join(str(path) for path in (mean, record) if path.exists()))
    if report.exists():
        print(f"Open the report in a browser: {report}")
    return code


if __name__ == "__main__":
    sys.exit(main())
