"""What must be shown at scale, against its bars."""

from collections.abc import Sequence

from benchmarks.record import table
from benchmarks.speed.scale_running import Found

BARS = {"known": 12.0, "auto": 40.0}  # streamed means, stage 0 aside
PARQUET_BAR, CSR_BAR, DASK_BAR = 1.5, 60.0, 1.5  # GiB, seconds, local streamed releases


_WAYS = [
    "File: read by the workers, as `--scheduler` does. Array: chunks that tasks of the caller's own copy out of a",
    "memory map, anew on every pass.",
]


def rest(run: Found) -> float:
    """What a release takes beside stage 0."""
    return float(run["seconds"] - run["stage_0"])


def million(cells: Sequence[Found]) -> list[str]:
    return [line for found in cells for line in _million(found)]


def _million(found: Found) -> list[str]:
    if "skipped" in found:
        return [f"Skipped: {found['skipped']}."]
    mean, mapped = found["mean"]["seconds"], found["mapped"]["seconds"]
    lines = [
        f"n = {found['count']}, d = {found['dimension']}, .npy of {found['dtype']}, {found['gib']:.2f} GiB.",
        f"One streamed `mean(0)`: {mean:.2f} s (blocks of {found['mean']['block']} entries);"
        f" memory-mapped `np.mean`: {mapped:.2f} s.",
        "The bar of known is for the rest over the streamed mean, that of auto for all of the release.",
        "",
    ]
    rows = []
    for method, bar in BARS.items():
        run = found[method]
        if "failed" in run:
            rows.append([method, f"failed: {run['failed']}", *[""] * 6])
            continue
        ratio = rest(run) / mean
        judged = ratio if method == "known" else run["seconds"] / mean  # known: beside stage 0; auto: in all
        rows.append(
            [
                f"{method}{star(run)}",
                f"{run['seconds']:.1f} s",
                f"{run['stage_0']:.1f} s",
                f"{ratio:.1f}",
                f"{rest(run) / mapped:.1f}",
                f"{run['seconds'] / mean:.1f}",
                f"{run['peak_gib']:.2f} GiB",
                _verdict(judged, bar, found),
            ]
        )
    header = ["release", "in all", "stage 0", "rest / streamed", "rest / mapped", "all / streamed", "peak", "bar"]
    return lines + table(header, rows)


def parquet(cells: Sequence[Found]) -> list[str]:
    rows = [
        [found["name"], found["skipped"], "", "", ""]
        if "skipped" in found
        else [
            f"{found['method']}, n = {found['count']}, d = {found['dimension']}, {found['gib']:.2f} GiB",
            f"{found['seconds']:.1f} s",
            f"{found['peak_gib']:.2f} GiB",
            str(found["exit"]),
            _verdict(found["peak_gib"], PARQUET_BAR, found),
        ]
        for found in cells
    ]
    return table(["`dimfree mean`", "seconds", "peak", "exit code", "bar (GiB)"], rows)


def csr(cells: Sequence[Found]) -> list[str]:
    rows = []
    for found in cells:
        if "skipped" in found or "failed" in found:
            rows.append([found.get("skipped") or found["failed"], "", "", "", "", ""])
            continue
        shape, seconds = " × ".join(map(str, found["shape"])), found["seconds"]
        name = f"{found['table']}{star(found)}"
        figures = [f"{found['stage_0']:.1f} s", f"{found['drawing']:.1f} s", f"{found['peak_gib']:.2f} GiB"]
        rows.append([f"{name}, {shape}", f"{seconds:.1f} s", *figures, _verdict(seconds, CSR_BAR, found)])
    return table(["auto", "seconds", "of these stage 0", "of these noise", "peak", "bar (s)"], rows)


def dask(cells: Sequence[Found]) -> list[str]:
    rows = []
    for found in cells:
        if "skipped" in found:
            return [f"Skipped: {found['skipped']}."]
        rows += [
            _paired(found, method, way, pair["local"], pair[way])
            for method, pair in found["pairs"].items()
            for way in ("file", "array")
        ]
    header = ["release", "partitions", "streamed", "LocalCluster(2 × 1)", "ratio", "the same bits", "bar"]
    return [*_WAYS, "", *table(header, rows)]


def _paired(found: Found, method: str, way: str, local: Found, distributed: Found) -> list[str]:
    failed = [run["failed"] for run in (local, distributed) if "failed" in run]
    if failed:
        return [method, way, f"failed: {failed[0]}", "", "", "", ""]
    ratio, same = distributed["seconds"] / local["seconds"], local["mean"] == distributed["mean"]
    seconds = [f"{run['seconds']:.1f} s" for run in (local, distributed)]
    verdict = _verdict(ratio, DASK_BAR, found)
    return [f"{method}{star(local)}", way, *seconds, f"{ratio:.2f}", "yes" if same else "NO", verdict]


def star(run: Found) -> str:
    return "*" if run.get("refused") else ""


def _verdict(value: float, bar: float, found: Found) -> str:
    if found.get("quick"):
        return f"≤ {bar:g}: too small a table to tell"
    return f"≤ {bar:g}: {'met' if value <= bar else 'MISSED'}"
