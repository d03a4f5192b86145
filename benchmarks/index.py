"""One page with the state of every target: `benchmarks/results/index.md`, made of the numbers behind the other pages.

    python -m benchmarks.index [--out FOLDER]

A target is a line of what was asked, the page that measures it, and words that its verdicts there begin with.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED, Verdict, combined
from benchmarks.pages import FOLDER, INDEX, NOT_MEASURED_HERE, Page, stored
from benchmarks.record import table


@dataclass(frozen=True)
class Target:
    """What was asked; where its verdicts are; all of those whose words begin or end so."""

    asked: str
    page: str
    begins: tuple[str, ...]

    def found(self, page: Page | None) -> list[Verdict]:
        verdicts = page.verdicts if page else ()
        return [each for words in self.begins for each in verdicts if each["target"].startswith(words)]


_RATIO = "recentred: noise_ratio ≤"
_BARS = (  # the first list: what the library must never fall behind
    Target(
        "known Σ, noise ratio, d = 1000: 2.3, 1.35, 1.08, 1.04",
        "known",
        tuple(
            f"{_RATIO} {b} at n = {n}, d = 1000," for b, n in ((2.3, 500), (1.35, 1000), (1.08, 4000), (1.04, 16_000))
        ),
    ),
    Target(
        "known Σ, noise ratio, d = 10 000: 2.4, 1.2, 1.06",
        "known",
        tuple(f"{_RATIO} {b} at n = {n}, d = 10000," for b, n in ((2.4, 1000), (1.2, 4000), (1.06, 16_000))),
    ),
    Target(
        "unknown scale: error/floor ≤ 1.35 (n = 1000), 1.08 (4000)",
        "known",
        ("recentred, unknown scale: error_over_floor",),
    ),
    Target(
        "unknown diagonal: error/floor ≤ 3.3, 1.3, 1.15 (d = 1000), 1.9 (d = 10 000)",
        "unknown",
        tuple(f"auto: error_over_floor ≤ {b} " for b in (3.3, 1.3, 1.15, 1.9)),
    ),
    Target("S1, d = 10 000: ≤ 2 × np at n = 1250, Σ known", "known", ("recentred: error_over_np",)),
    Target("S1, d = 10 000: ≤ 2 × np at n = 4500, nothing known", "unknown", ("auto: error_over_np",)),
    Target("dimension-free: error at d = 100 000 ≤ 1.5 × that at d = 100", "known", ("recentred: error grows",)),
    Target("contaminated, heavy, skewed; Σ known: no refusal, ≤ 1.5 ×", "known", ("recentred, robust defaults:",)),
    Target(
        "contaminated, heavy, skewed; nothing known: no refusal, ≤ 1.5 ×",
        "unknown",
        ("auto: error_over_floor ≤ 1.5 ", "auto: pass ≥ 1.0"),
    ),
    Target("probability of an answer ≥ 0.99, Σ known", "known", ("recentred: pass", "recentred, replace-one: pass")),
    Target(
        "probability of an answer ≥ 0.99, nothing known", "unknown", ("auto: pass ≥ 0.99", "auto, replace-one: pass")
    ),
    Target(
        "real tables, ε = 2: kg_chr22 ≤ 0.85, pbmc3k ≤ 0.65, mice ≤ 1.4, MNIST ≤ 1.1 × spherical oracle",
        "real",
        ("kg_chr22", "pbmc3k", "mice_snps", "MNIST"),
    ),
)
_ROUTES = ("told nothing, total", "told σ, total", "told nothing, relative", "n or ε found")
_KINDS = ("interval()", "interval(include_sampling=True)", "interval(simultaneous=True)", "confidence_ball()",
          "confidence_box()")  # fmt: skip
_RAISED = (  # the second list
    Target(
        "z-rms, breast cancer raw units, ε = 1 / 4: ≤ 0.13 / 0.05",
        "ordinary",
        ("breast cancer, ε = 1: z-rms", "breast cancer, ε = 4: z-rms"),
    ),
    Target(
        "ahead of means between bounds (exact, × 2, × 10), breast cancer, ε = 1",
        "ordinary",
        ("breast cancer, ε = 1: relative is ahead",),
    ),
    Target("other tables of mixed units: z-rms", "ordinary", ("wine", "diabetes", "iris", "clinical", "decades")),
    Target(
        "error over hindsight oracle, laws of few columns, n ≥ 2000: ≤ 2, median ≤ 1.4",
        "ordinary",
        ("total, laws, n ≥ 2000: error", "total, laws, n ≥ 2000: median"),
    ),
    Target(
        "coverage of 95 % intervals of these records ≥ 0.93 in every cell",
        "ordinary",
        ("total, laws, n ≥ 2000: intervals", "total, laws, n ≥ 2000: balls"),
    ),
    Target(
        "never refused by the data, d ≤ 5", "ordinary", ("laws, d = 1: total refuses", "laws, d = 5: total refuses")
    ),
    Target("smallest n, nothing known: an answer in 99 % at n = 240", "few", ("n = 240, d = 30",)),
    Target("S1, S2, S5, 1000 × 1000: error/floor ≤ 1.4", "few", ("n = 1000, d = 1000: error / floor ≤ 1.4",)),
    Target("S1, 1000 × 10⁴: error/floor ≤ 3", "few", ("n = 1000, d = 10000:",)),
    Target("S1, 1000 × 10⁵: error ≤ 0.5", "few", ("n = 1000, d = 100000:",)),
    Target("figure (d): slope in d ≤ 0.25", "figures", ("figure (d)",)),
    Target("10⁶ × 500 .npy over one streamed mean: auto ≤ 15, known ≤ 7", "speed", ("npy: ",)),
    Target("4000 × 20 000 over (X @ X.T + 60 X.mean(0)) ≤ 2", "speed", ("wide: ",)),
    Target("300 000 × 200 in memory ≤ 1.5 s + 25 X.mean(0)", "speed", ("memory: ",)),
    Target("stated noise within 15 % of the measured one", "few", ("measured noise",)),
    Target("ahead of every peer that was told no more", "field", ("dimfree",)),
    Target("error within 15 % of what plan predicts", "planned", tuple(f"{route}: error within" for route in _ROUTES)),
    Target(
        "what privacy adds within 15 % of what plan predicts",
        "planned",
        tuple(f"{route}: what privacy adds within" for route in _ROUTES),
    ),
    Target("answered as often as plan says, less 0.01", "planned", ("share of answers",)),
    Target(
        "every kind of error bar at 95 % covers ≥ 0.93 in every cell",
        "coverage",
        tuple(f"{kind}: covers ≥ 0.93 in every cell" for kind in _KINDS),
    ),
    Target(
        "every kind of error bar at 95 % covers ≥ 0.93 for every way to release",
        "coverage",
        tuple(f"{kind}: covers ≥ 0.93 for every way" for kind in _KINDS),
    ),
)
LISTS = {"Bars that stay": _BARS, "Raised bars": _RAISED}


def lines(folder: Path = FOLDER) -> list[str]:
    pages = stored(folder)
    found = [
        "# The state of every target",
        "",
        "Written by `python -m benchmarks.index` from the numbers behind the other pages.",
        "",
    ]
    found += [
        f"{MET}: the whole 95 % interval is on the right side of the bar. {MISSED}: one cell's is on the wrong side.",
        f"{OPEN}: so few draws leave it open. {UNTRIED}: no stored page tells. Each page",
        "names the commit that measured it.",
        "",
    ]
    for title, targets in LISTS.items():
        header = ("target", "figure, 95 % interval", "draws", "page", "state")
        found += [f"## {title}", "", *table(header, [_row(each, pages.get(each.page)) for each in targets]), ""]
    return [*found, "## Pages", "", *table(("page", "commit", "command"), _pages(pages, folder))]


def _row(target: Target, page: Page | None) -> list[str]:
    verdicts = target.found(page)
    tried = [each for each in verdicts if each["state"] != UNTRIED]
    figures = "; ".join(dict.fromkeys(each["figure"] for each in tried))
    draws = ", ".join(dict.fromkeys(str(each["draws"]) for each in tried))
    link = f"[{target.page}]({target.page}.md)" if page else ""
    return [target.asked, figures, draws, link, _state(tried, len(verdicts))]


def _state(tried: Sequence[Verdict], wanted: int) -> str:
    if not tried:
        return UNTRIED
    missing = f", {wanted - len(tried)} of {wanted} {UNTRIED}" if len(tried) < wanted else ""
    return combined(tried) + missing


def _pages(pages: dict[str, Page], folder: Path) -> list[list[str]]:
    rows = [[f"[{p.name}]({p.name}.md)", p.runs[0].get("commit", "not recorded"), _command(p)] for p in pages.values()]
    others = sorted(path.stem for path in folder.glob("*.md") if path.stem not in pages and path.stem != INDEX)
    return rows + [[f"[{name}]({name}.md)", "not recorded", ""] for name in others if name in NOT_MEASURED_HERE]


def _command(page: Page) -> str:
    """A bar would end a column of the table."""
    return "`" + page.runs[0]["command"].replace("|", "\\|") + "`"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder with the pages, and of index.md")
    folder = parser.parse_args(arguments).out
    text = "\n".join(lines(folder)) + "\n"
    (folder / f"{INDEX}.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
