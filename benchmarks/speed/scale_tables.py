"""The results of the benchmark of scale for people."""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.record import table
from benchmarks.speed.scale_bars import BARS, csr, dask, million, parquet, rest, star
from benchmarks.speed.scale_files import SPECTRUM
from benchmarks.speed.scale_running import Found

_FITTED_FROM = 10_000  # records: the core's sample is full there, and the rest is linear


def growth(cells: Sequence[Found]) -> list[str]:
    rows = []
    for found in cells:
        size = [str(found["count"]), str(found["dimension"])]
        if "skipped" in found:
            rows.append([*size, found["skipped"], *[""] * 7])
            continue
        mean = found["mean"]["seconds"]
        row = [*size, f"{mean:.3g} s", f"{found['mapped']['seconds']:.3g} s"]
        for method in BARS:
            row += _figures(found[method], mean, found["mapped"]["seconds"])
        rows.append(row)
    header = ["n", "d", "streamed mean", "mapped mean"]
    for method in BARS:
        header += [method, "stage 0", "rest / streamed, mapped", "peak"]
    lines = [f"Tables of {SPECTRUM} in float32. Rest: in all less stage 0. *: refused.", "", *table(header, rows), ""]
    return lines + [line for method in BARS for line in _exponents(cells, method)]


def _figures(run: Found, mean: float, mapped: float) -> list[str]:
    if "failed" in run:
        return ["failed", "", "", ""]
    ratios = f"{rest(run) / mean:.1f}, {rest(run) / mapped:.1f}"
    return [f"{run['seconds']:.3g} s{star(run)}", f"{run['stage_0']:.3g} s", ratios, f"{run['peak_gib']:.2f} GiB"]


def _exponents(cells: Sequence[Found], method: str) -> list[str]:
    """a and b of rest ∝ n^a d^b, by least squares over tables of many records."""
    used = [cell for cell in cells if method in cell and "seconds" in cell[method] and cell["count"] >= _FITTED_FROM]
    used = [cell for cell in used if not cell[method]["refused"]]
    if len({cell["count"] for cell in used}) < 2 or len({cell["dimension"] for cell in used}) < 2 or len(used) < 4:
        return [f"{method}: too few sizes for exponents."]
    sizes = np.log([[cell["count"], cell["dimension"], np.e] for cell in used])
    a, b, _ = np.linalg.lstsq(sizes, np.log([rest(cell[method]) for cell in used]), rcond=None)[0]
    return [f"{method}: beside stage 0 the time grows like n^{a:.2f} · d^{b:.2f} (n ≥ {_FITTED_FROM})."]


def core(cells: Sequence[Found]) -> list[str]:
    lines = []
    for found in cells:
        if "skipped" in found:
            return [f"Skipped: {found['skipped']}."]
        mean = found["mean"]["seconds"]
        done = [(m, run) for m, run in zip(found["samples"], found["runs"], strict=True) if "seconds" in run]
        rows = [
            [str(m), f"{run['stage_0']:.2f} s{star(run)}", f"{run['stage_0'] / mean:.1f}", f"{rest(run) / mean:.1f}"]
            for m, run in done
        ]
        title = f"known, n = {found['count']}, d = {found['dimension']}; streamed mean {mean:.3g} s."
        lines += [title, "", *table(["core_sample", "stage 0", "stage 0 / streamed", "rest / streamed"], rows), ""]
        if len(done) > 1:
            powers = [_power(done, figure) for figure in (lambda run: run["stage_0"], rest)]
            lines.append(f"Over the last two sizes: stage 0 like m₀^{powers[0]:.2f}, the rest like m₀^{powers[1]:.2f}.")
    return lines


def _power(done: Sequence[tuple[int, Found]], figure: Callable[[Found], float]) -> float:
    (m, run), (m_last, run_last) = done[-2:]
    return float(np.log(figure(run_last) / figure(run)) / np.log(m_last / m))


def peers(cells: Sequence[Found]) -> list[str]:
    lines = []
    for found in cells:
        if "skipped" in found:
            return [f"Skipped: {found['skipped']}."]
        mean = found["mean"]["seconds"]
        runs = {name: run for name, run in found["runs"].items() if "seconds" in run}
        base = runs["dimfree"]["seconds"]
        rows = [
            [
                f"{name}{star(run)}",
                f"{run['seconds']:.2f} s",
                f"{run['seconds'] / mean:.1f}",
                f"{run['seconds'] / base:.2f}",
                f"{run['peak_gib']:.2f} GiB",
            ]
            for name, run in runs.items()
        ]
        lines += [f"n = {found['count']}, d = {found['dimension']}, in memory; streamed mean {mean:.3g} s.", ""]
        lines += table(["estimator", "seconds", "/ streamed mean", "/ dimfree", "peak, the table included"], rows)
    return lines


def noise(cells: Sequence[Found]) -> list[str]:
    rows = [
        [
            f"{found['method']}{star(found)}",
            str(found["count"]),
            str(found["dimension"]),
            f"{found['vector']:.3g} s",
            f"{found['drawing']:.2f} s",
            f"{found['seconds']:.2f} s",
            f"{found['drawing'] / found['seconds']:.1%}",
        ]
        for found in cells
        if "seconds" in found
    ]
    return table(["release", "n", "d", "one vector", "noise in all", "release", "share"], rows)


TITLES: dict[str, tuple[str, Callable[[Sequence[Found]], list[str]]]] = {
    "million": ("A .npy file larger than its blocks: against one streamed mean", million),
    "parquet": ("Memory over a Parquet file, at the command line", parquet),
    "csr": ("Genes in cells, sparse", csr),
    "dask": ("Two Dask workers against one process", dask),
    "growth": ("Time and memory over n and d", growth),
    "core": ("Stage 0 over the size of its sample", core),
    "peers": ("Peers on the same table", peers),
    "noise": ("What of a release is noise", noise),
}
