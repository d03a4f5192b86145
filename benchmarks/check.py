"""Measure ten quoted numbers again and compare them with the stored pages; exit 1 if one is more than 10% worse.

    python -m benchmarks.check

The draws and the seeded noise are those of the pages, so that without a change of the estimators every ratio is 1.
"""

import statistics
import sys
from collections.abc import Iterator

from benchmarks.accuracy.field_cells import field_cells
from benchmarks.accuracy.ordinary_cells import OrdinaryCell
from benchmarks.accuracy.ordinary_measuring import measure
from benchmarks.accuracy.running import FULL
from benchmarks.contestants import CONTESTANTS
from benchmarks.pages import FOLDER
from benchmarks.record import read_numbers
from benchmarks.trials import scored

TRIALS = 3
WORST = 1.1
OURS = [contestant for contestant in CONTESTANTS if contestant.name == "dimfree"]
TABLES = (("breast cancer", 1.0), ("breast cancer", 4.0), ("wine", 4.0), ("diabetes", 4.0), ("clinical 2000", 1.0))


def field_numbers() -> Iterator[tuple[str, float, float]]:
    """(number, stored, measured) of every spectrum at 1000 × 1000: the median error of the first draws."""
    page = read_numbers(FOLDER / "field.json.gz")
    stored = {(cell["spectrum"], cell["dimension"], cell["count"]): cell["scores"] for cell in page["cells"]}
    for cell in field_cells(FULL):
        key = (cell.spectrum, cell.dimension, cell.count)
        if key[1:] != (1000, 1000) or key not in stored:
            continue
        known = {score["name"]: score["errors"][:TRIALS] for score in stored.pop(key)}
        for score in scored(cell.point, OURS, TRIALS, page["run"]["seed"]):
            then, now = (statistics.median(errors) for errors in (known[score.name], score.errors))
            yield f"field, {cell.name}: error of {score.name}", then, now


def table_numbers() -> Iterator[tuple[str, float, float]]:
    """The same of ordinary tables: root mean square over the columns of error / SD, `objective="relative"`."""
    page = read_numbers(FOLDER / "ordinary.json.gz")
    for stored in page["cells"]:
        if stored["section"] == "table" and (stored["world"], stored["epsilon"]) in TABLES:
            cell = OrdinaryCell(
                "table", stored["world"], stored["epsilon"], stored["draws"], ("relative",), stored["seed"]
            )
            now = measure(cell)["estimators"]["relative"]["z"]
            yield f"ordinary, {stored['name']}: error / SD", stored["estimators"]["relative"]["z"], now


def main() -> None:
    worst = 0.0
    for name, then, now in (*field_numbers(), *table_numbers()):
        print(f"{name}: {now:.4g}, stored {then:.4g}, ratio {now / then:.3f}", flush=True)
        worst = max(worst, now / then)
    sys.exit(worst > WORST)


if __name__ == "__main__":
    main()
