"""Measure ten quoted numbers again and compare them with the stored pages; exit 1 if one is more than 10% worse.

    python -m benchmarks.check

The draws and the seeded noise are those of the pages, so that every ratio is 1 if the estimators did not change.
"""

import statistics
import sys
from collections.abc import Iterator

from benchmarks.accuracy.field import EPSILON
from benchmarks.accuracy.ordinary import OrdinaryCell, measure
from benchmarks.accuracy.running import DELTA
from benchmarks.contestants import contestants_named
from benchmarks.pages import FOLDER
from benchmarks.record import read_numbers
from benchmarks.trials import Point, scored
from benchmarks.worlds import Synthetic

TRIALS = 3
WORST = 1.1
SIZE = (1000, 1000)  # d, n
TABLES = (("breast cancer", 1.0), ("breast cancer", 4.0), ("wine", 4.0), ("diabetes", 4.0), ("clinical 2000", 1.0))

Number = tuple[str, float, float]  # what, stored, measured


def field_numbers() -> Iterator[Number]:
    """Measure every spectrum at one size: the median error of the first draws."""
    page = read_numbers(FOLDER / "field.json.gz")
    for stored in page["cells"]:
        if (stored["dimension"], stored["count"]) == SIZE and stored["neighbors"] == "add-remove":
            point = Point(Synthetic(stored["spectrum"], SIZE[0]), SIZE[1], EPSILON, DELTA)
            (now,) = scored(point, contestants_named(["dimfree"]), TRIALS, page["run"]["seed"])
            then = next(score["errors"][:TRIALS] for score in stored["scores"] if score["name"] == "dimfree")
            name = f"field, {stored['spectrum']}: error"
            yield name, statistics.median(then), statistics.median(now.errors) if now.errors else float("inf")


def table_numbers() -> Iterator[Number]:
    """Measure ordinary tables: root mean square over the columns of error / SD, `objective="relative"`."""
    for stored in read_numbers(FOLDER / "ordinary.json.gz")["cells"]:
        if stored["section"] == "table" and (stored["world"], stored["epsilon"]) in TABLES:
            cell = OrdinaryCell("table", stored["world"], stored["epsilon"], stored["draws"], ("relative",))
            now = measure(stored["seed"], cell)["estimators"]["relative"]["z"]
            yield f"ordinary, {stored['name']}: error / SD", stored["estimators"]["relative"]["z"], now or float("inf")


def main() -> None:
    worst = 0.0
    for name, then, now in (*field_numbers(), *table_numbers()):
        print(f"{name}: {now:.4g}, stored {then:.4g}, ratio {now / then:.3f}", flush=True)
        worst = max(worst, now / then)
    sys.exit(worst > WORST)


if __name__ == "__main__":
    main()
