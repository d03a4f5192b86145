"""(b) The paper's example: ten standard deviations 1, the others 1/d. Records needed for a fixed accuracy against d."""

from dataclasses import asdict, dataclass

from benchmarks.figures.drawing import Figure
from benchmarks.figures.searching import Results, Search, needed_row, needed_words, slope_along_d, slope_words
from benchmarks.figures.spots import Task

SPECTRUM, EPSILON, ACCURACY = "S1", 1.0, 0.5
OURS = ("dimfree known", "dimfree")
PEERS = ("Karwa-Vadhan", "ball", "PLAN")
QUADRATIC = {"ball": 16_000}  # records at most: its time grows with their square
LARGER = 8 / 3  # tables for the others, whose memory is the table's


@dataclass(frozen=True)
class Plan:
    dimensions: tuple[int, ...]
    accuracy: float
    most_entries: int
    most_records: int
    draws: int
    large: int = 3000  # from this d on one draw
    names: tuple[str, ...] = (*OURS, *PEERS)


PLANS = {
    "full": Plan((30, 100, 300, 1000, 3000, 10_000), ACCURACY, 60_000_000, 64_000, 3),
    "quick": Plan((30, 100, 300), ACCURACY, 2_000_000, 16_000, 1),
    "tiny": Plan((12, 15), 3.0, 20_000, 600, 1, names=("dimfree known", "ball")),
}


def searches(size: str, name: str) -> list[Search]:
    plan = PLANS[size]
    most = min(plan.most_records, QUADRATIC.get(name, plan.most_records))
    entries = plan.most_entries if name in OURS else round(LARGER * plan.most_entries)
    return [
        Search(SPECTRUM, d, EPSILON, name, plan.accuracy, entries, most, plan.draws if d < plan.large else 1)
        for d in plan.dimensions
    ]


def tasks(size: str) -> list[Task]:
    return [search for name in PLANS[size].names for search in searches(size, name)]


def figure(size: str, results: Results) -> Figure:
    plan = PLANS[size]
    each = {name: searches(size, name) for name in plan.names}
    slopes = {name: slope_along_d(of, results) for name, of in each.items()}
    return Figure(
        letter="b",
        name="b_example",
        title=f"Records needed for error {plan.accuracy:g}: ten σ = 1, the others 1/d; ε = {EPSILON:g}, δ = 1e-6",
        claim=(
            "For k standard deviations of 1 and the others 1/d the folklore needs k/α² + sqrt(dk)/(αε) + sqrt(d)/ε "
            "records, PLAN k/α² + k/(αε) + sqrt(d)/ε, ours with Σ known k/α² + k/(αε), whatever d."
        ),
        found=_sentence(plan, each, results),
        x="columns d",
        y=f"records needed for error {plan.accuracy:g}",
        rows=[needed_row(name, s.dimension, results[s]) for name, of in each.items() for s in of],
        header=["estimator", *(f"d = {d}" for d in plan.dimensions), "slope"],
        table=[[name, *(needed_words(results[s]) for s in of), slope_words(of, results)] for name, of in each.items()],
        numbers={"slopes": {name: None if line is None else asdict(line) for name, line in slopes.items()}},
    )


def _sentence(plan: Plan, each: dict[str, list[Search]], results: Results) -> str:
    ends = {name: [needed_words(results[of[at]]) for at in (0, -1)] for name, of in each.items()}
    listed = "; ".join(
        f"{name} from {first} to {last} (slope {slope_words(each[name], results)})"
        for name, (first, last) in ends.items()
    )
    first = each[plan.names[0]][0]
    return (
        f"Fixed α = {plan.accuracy:g}, for which the sample mean needs {first.sampling:.0f} records. From d = "
        f"{plan.dimensions[0]} to {plan.dimensions[-1]}: {listed}. {_verdict(each, results)}"
    )


def _verdict(each: dict[str, list[Search]], results: Results) -> str:
    counts = [results[s]["records"] for s in each[OURS[0]]]
    if None in counts:
        return "The claim for ours was not met: at some d the search came to its end."
    line = slope_along_d(each[OURS[0]], results)
    spread = f"Ours with Σ known varies by a factor {max(counts) / min(counts):.2f} over all d"
    if line is None or line.error is None:
        return f"{spread}: too few points to call it flat."
    flat = "no growth is seen" if line.slope <= 2 * line.error else "NOT flat, it grows slowly"
    return f"{spread}: {flat} (0 is claimed)."
