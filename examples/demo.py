"""Releases the mean image of scikit-learn's handwritten digits through the command line, as a stranger would.

Nothing is told to the command but the table and a budget. Writes demo-output/: the table, mean.csv, release.json
and report.html, a page for readers.
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
from sklearn.datasets import load_digits

import dimfree

EPSILON = 1.0
DELTA = 1e-6
EXTRA_OPTIONS: tuple[str, ...] = ()  # for instance ("--neighbours", "replace-one")
FOLDER = Path("demo-output")
SHOWN = 8  # coordinates in the summary
SHADES = " .:-=+*#%@"


def write_table() -> Path:
    """1797 people's handwriting, 64 pixels each, as a Parquet file."""
    digits = load_digits()
    data = FOLDER / "digits.parquet"
    FOLDER.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(zip(digits.feature_names, digits.data.T, strict=True))), data)
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
    names = release.columns or tuple(f"column {index}" for index in range(release.dimension))
    low, high = release.interval(0.95)
    table = Table("column", "private mean", "95 % of the noise within", title="the largest means")
    for index in np.argsort(-release.mean)[:SHOWN]:
        table.add_row(names[index], f"{release.mean[index]:.2f}", f"{low[index]:.2f} to {high[index]:.2f}")
    console.print(table)
    console.print("The private mean image:", *_image(release), sep="\n", markup=False, highlight=False)


def _image(release: dimfree.Release) -> list[str]:
    shade = np.clip(release.mean / 16 * len(SHADES), 0, len(SHADES) - 1).astype(int).reshape(8, 8)
    return ["".join(SHADES[pixel] * 2 for pixel in row) for row in shade]


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
