"""Draw the pictures of explanation/how-it-works.md: `python docs/pictures.py` writes docs/pictures/*.svg.

Every point is simulated with a fixed seed. Colors are middle tones on no background, so that they can be read on a
light and on a dark page. tests/docs/test_docs.py compares the files with what is drawn here.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "pictures"
GREY, BLUE, ORANGE, GREEN = "#7d8590", "#3d8bfd", "#e8710a", "#1f9d6b"
STYLE = 'font-family="system-ui, sans-serif" font-size="14"'

Points = NDArray[np.float64]


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {STYLE}>'
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>"]) + "\n"


def dot(point: Points, color: str, radius: float = 4, hollow: bool = False) -> str:
    fill = f'fill="none" stroke="{color}" stroke-width="1.5"' if hollow else f'fill="{color}"'
    return f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius:.1f}" {fill}/>'


def ellipse(center: Points, wide: float, high: float, color: str, dashed: bool = False, tint: float = 0.0) -> str:
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<ellipse cx="{center[0]:.1f}" cy="{center[1]:.1f}" rx="{wide:.1f}" ry="{high:.1f}" fill="{color}" '
        f'fill-opacity="{tint}" stroke="{color}" stroke-width="2"{dashes}/>'
    )


def line(start: Points, end: Points, color: str, width: float = 1.0) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width}"/>'


def cross(point: Points, color: str, size: float = 8) -> str:
    over, down = np.array([size, 0]), np.array([0, size])
    return line(point - over, point + over, color, 3) + line(point - down, point + down, color, 3)


def words(x: float, y: float, text: str, color: str = GREY, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>'


def friends() -> str:
    """Draw the friends of a record, all within the radius; a record with few friends gets little or no weight."""
    rng = np.random.default_rng(3)
    crowd = np.array([250, 165]) + rng.normal(size=(26, 2)) * [48, 38]
    strangers = np.array([[520.0, 60.0], [575.0, 250.0], [70.0, 290.0]])
    chosen, radius = crowd[np.argmin(np.linalg.norm(crowd - [235, 150], axis=1))], 105.0
    near = [point for point in crowd if 0 < np.linalg.norm(point - chosen) <= radius]
    parts = [ellipse(chosen, radius, radius, BLUE, dashed=True, tint=0.08)]
    parts += [line(chosen, point, BLUE) for point in near]
    parts += [dot(point, GREY) for point in crowd] + [dot(point, ORANGE, 5, hollow=True) for point in strangers]
    parts += [dot(chosen, BLUE, 6), words(chosen[0], 24, f"{len(near)} friends within the radius", BLUE, "middle")]
    parts += [words(508, 92, "no friends:", ORANGE), words(508, 110, "no weight", ORANGE)]
    return svg(660, 320, "Friends of one record: all others within a radius", parts)


def stages() -> str:
    """Draw refinement steps: each clips around the last released center; a smaller ball needs less noise."""
    rng = np.random.default_rng(5)
    cloud, truth = rng.normal(size=(60, 2)) * 26, np.zeros(2)
    centers = np.array([[26.0, -20.0], [-9.0, 8.0], [2.0, -2.0]])
    parts = []
    for place, (radius, noise) in enumerate([(128.0, 33.0), (76.0, 13.0), (58.0, 5.0)]):
        middle = np.array([145 + 240 * place, 160])
        before = middle + (centers[place - 1] if place else truth)
        parts += [words(middle[0], 24, ("stable core", "step 1", "step 2")[place], GREY, "middle")]
        if place:
            parts += [ellipse(before, radius, radius, BLUE, dashed=True, tint=0.06)]
        for point in cloud + middle:
            clipping = float(np.linalg.norm(point - before))
            if place and clipping > radius:
                edge = before + (point - before) * radius / clipping
                parts += [line(point, edge, ORANGE), dot(point, ORANGE, 3, hollow=True), dot(edge, ORANGE, 3)]
            else:
                parts += [dot(point, GREY, 3)]
        parts += [ellipse(middle + centers[place], noise, noise, GREEN, tint=0.25)]
        parts += [cross(middle + centers[place], GREEN)]
    parts += [words(30, 312, "green: released center and its noise", GREEN)]
    parts += [words(320, 312, "orange: clipped to the ball", ORANGE), words(540, 312, "blue: the ball", BLUE)]
    return svg(770, 325, "Refinement steps: each clips to a smaller ball around the last released center", parts)


def shape() -> str:
    """Draw the SDs of columns, and noise of the same cost that is spherical or follows their roots."""
    spread = 1 / np.arange(1.0, 25.0)
    # Per unit of budget: the sphere costs its radius sqrt(tr Σ) in every column; following the roots, σ^½ each,
    # costs tr(Σ^½) as its sum of squares.
    spherical = np.full(24, np.sqrt(np.square(spread).sum()))
    following = np.sqrt(spread * spread.sum())
    tall, left, bottom = 150.0, 70, 230
    parts = [line(np.array([left - 10, bottom]), np.array([left + 24 * 25, bottom]), GREY)]
    for column in range(24):
        x = left + 25 * column
        parts += [f'<rect x="{x}" y="{bottom - tall * spread[column]:.1f}" width="14" '
                  f'height="{tall * spread[column]:.1f}" fill="{GREY}" fill-opacity="0.55"/>']  # fmt: skip
        for noise, color in ((spherical, ORANGE), (following, BLUE)):
            height = bottom - 0.28 * tall * noise[column]
            parts += [line(np.array([x - 3, height]), np.array([x + 17, height]), color, 3)]
    total = [np.sqrt(np.square(noise).sum()) for noise in (spherical, following)]
    parts += [words(left, 262, "24 columns, from the largest SD to the smallest")]
    parts += [words(200, 40, "gray: SD of a column")]
    parts += [words(200, 64, "orange: spherical noise, the same for all columns", ORANGE)]
    parts += [words(200, 88, "blue: noise that follows the SDs, same guarantee", BLUE)]
    parts += [words(200, 112, f"in total {total[0] / total[1]:.1f} times less, with 24 columns", BLUE)]
    return svg(690, 275, "Spherical noise against noise that follows the SDs", parts)


def coordinates() -> str:
    """Draw the SDs of the same records on their columns and in cosine waves, and noise of one cost for each."""
    size, step, tall, bottom = 24, 13, 52.0, 215
    place, wave = np.arange(size), np.arange(size)[:, None]
    together = 0.9 ** np.abs(place - wave)  # covariance: every column varies alike, neighbors go together
    waves = np.cos(np.pi * wave * (2 * place + 1) / (2 * size))
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    parts, total = [], []
    for left, spread, color in (
        (30, np.sqrt(np.diag(together)), ORANGE),
        (390, np.sqrt(np.diag(waves @ together @ waves.T)), BLUE),
    ):
        noise = np.sqrt(spread * spread.sum())
        total += [np.sqrt(np.square(noise).sum())]
        parts += [line(np.array([left - 8, bottom]), np.array([left + size * step, bottom]), GREY)]
        for column in range(size):
            x, high = left + step * column, tall * spread[column]
            parts += [f'<rect x="{x}" y="{bottom - high:.1f}" width="8" height="{high:.1f}" '
                      f'fill="{GREY}" fill-opacity="0.55"/>']  # fmt: skip
            above = bottom - 0.28 * tall * noise[column]
            parts += [line(np.array([x - 2, above]), np.array([x + 10, above]), color, 3)]
    parts += [words(30, 20, "on the columns: equal SDs"), words(390, 20, "in waves over the columns: few large SDs")]
    parts += [
        words(30, 242, "gray: SD; line: noise SD"),
        words(390, 242, "from the slowest wave to the fastest"),
    ]
    parts += [words(500, 100, f"in total {total[0] / total[1]:.1f} times", BLUE), words(500, 118, "less noise", BLUE)]
    return svg(720, 255, "The noise of one signal on its columns, and along cosine waves", parts)


def groups() -> str:
    """Means of simulated patients in four wards, as `plot` draws them."""
    import pandas as pd

    from dimfree import release_group_means
    from dimfree.results.tables import encode_picture
    from dimfree.testing import SeededNoise

    rng, patients = np.random.default_rng(0), 8000
    typical = {"cardiology": (63, 5.1), "surgery": (52, 4.2), "geriatrics": (81, 8.3), "pediatrics": (8, 2.9)}
    ward = rng.choice(list(typical), patients)
    age = [rng.normal(typical[each][0], 6) for each in ward]
    visits = pd.DataFrame({"ward": ward, "age": age, "stay (days)": [rng.gamma(2, typical[w][1] / 2) for w in ward]})
    budget = {"epsilon": 1.0, "delta": 1e-6, "noise": SeededNoise(7)}
    means = release_group_means(visits, by="ward", groups=list(typical), **budget)
    return encode_picture(means.plot(), ".svg").decode()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for draw in (friends, stages, shape, coordinates, groups):
        (FOLDER / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
