"""Releases the mean of scikit-learn's breast-cancer table through the command line, as a stranger would.

569 people, 30 measurements in their own units, from 0.004 to 880. Nothing is told to the command but the table and a
budget. Writes demo-output/: the table, mean.csv, release.json and report.html, a page for readers. The table is public,
so that the error may be printed at the end.
Run by `make demo`.
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
EXTRA_OPTIONS: tuple[str, ...] = ()  # for instance ("--neighbours", "replace-one")
FOLDER = Path("demo-output")
SHOWN = 10  # columns in the summary


def write_table() -> Path:
    """The measurements as a Parquet file with named columns."""
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


def summarise(record: Path) -> None:
    release = dimfree.Release.from_json(record.read_text(encoding="utf-8"))
    console = Console()
    console.print(release.guarantee.statement())
    if release.refused:
        console.print(f"Refused: {release.refusal}")
        return
    columns = release.to_frame("pyarrow").to_pylist()  # name, mean, noise, interval, noise / spread
    table = Table(
        "column", "private mean", "95% confidence interval", "noise / spread", title=f"the first {SHOWN} columns"
    )
    for row in columns[:SHOWN]:
        within, over = f"{row['ci_low']:.4g} to {row['ci_high']:.4g}", f"at most {row['noise_over_spread']:.2f}"
        known = np.isfinite(row["noise_over_spread"])
        table.add_row(row["name"], f"{row['mean']:.4g}", within, over if known else "not known")
    console.print(table)
    console.print("Intervals are for the population mean: sampling error, privacy noise and clipping bias together.")
    truth = load_breast_cancer().data  # not private: allowed here because the table is public
    off = (release.mean - truth.mean(axis=0)) / truth.std(axis=0)
    console.print(f"Over all {len(off)} columns the mean is off by {np.sqrt(np.mean(off**2)):.2f} spreads (r.m.s.).")


def main() -> int:
    data = write_table()
    mean, record, report = FOLDER / "mean.csv", FOLDER / "release.json", FOLDER / "report.html"
    for leftover in (mean, record, report):
        leftover.unlink(missing_ok=True)  # what is there afterwards was made by this run
    code = run_command_line(data, mean, record, report)
    if record.exists():
        summarise(record)
    print("Written: " + ", ".join(str(path) for path in (mean, record) if path.exists()))
    if report.exists():
        print(f"Open the report in a browser: {report}")
    return code


if __name__ == "__main__":
    sys.exit(main())
