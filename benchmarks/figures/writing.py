"""The page of all figures, built from what lies in their folder, so that one figure can be made again by itself."""

from pathlib import Path
from typing import Any

from benchmarks.figures.drawing import Figure, picture
from benchmarks.record import provenance_lines, read_numbers, table, write_numbers

FOLDER = "figures"
METHOD = """\
Gaussian records about a mean ten times sqrt(tr Σ) from the origin; δ = 1e-6, add/remove; every estimator at the same
budget and given what `benchmarks.compare` gives it (Karwa-Vadhan and ball: σ; PLAN: σ and a radius ten times too
large).

- *Error:* the root of tr Σ/n, the sampling part in closed form, plus the square of the private part. That is the
  distance of the release from the sample mean of its own records; the median over the draws, a refusal being
  infinitely far off.
- *Records needed:* the n where this error comes down to α: bisection over a grid of four numbers to the octave, then a
  straight line between the last two on logarithmic scales. "> n" (a triangle): the largest table tried did not suffice.
- *Slopes:* least squares on logarithms, ± one standard error.

Noise is seeded: a simulation on public draws, nothing here is private."""


def write_figure(folder: Path, figure: Figure, run: dict[str, Any], tasks: list[dict[str, Any]]) -> None:
    """NAME.json.gz and NAME.svg, the picture drawn from what the first holds."""
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    data = {"run": run, **figure.as_dict(), "measurements": tasks}
    write_numbers(place / f"{figure.name}.json.gz", data)
    (place / f"{figure.name}.svg").write_text(picture(data))


def write_page(folder: Path) -> list[str]:
    """figures.md, of every figure in the folder."""
    found = [read_numbers(path) for path in sorted((folder / FOLDER).glob("*.json.gz"))]
    lines = page(found)
    (folder / "figures.md").write_text("\n".join(lines) + "\n")
    return lines


def page(figures: list[dict[str, Any]]) -> list[str]:
    lines = ["# The paper's claims as figures", "", METHOD]
    for figure in figures:
        lines += ["", f"## ({figure['letter']}) {figure['title']}", ""]
        lines += [f"![{figure['title']}]({FOLDER}/{figure['name']}.svg)", ""]
        lines += [f"*Claimed:* {figure['claim']}", "", f"*Measured:* {figure['found']}", ""]
        lines += [*table(figure["header"], figure["table"]), "", *provenance_lines(figure["run"])]
        lines += [f"The numbers behind: [{figure['name']}.json.gz]({FOLDER}/{figure['name']}.json.gz)."]
    return lines
