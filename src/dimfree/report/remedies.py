"""What to do after a refusal, by its reason. Reasons are public, and so are these texts."""

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.planning.predict import smallest_count
from dimfree.planning.question import Question
from dimfree.programs.run import NO_SCALE, OUT_OF_RANGE, TOO_FEW, UNSTABLE
from dimfree.release_groups import NO_SHAPE
from dimfree.results.release import Release

_MORE = "Add records, or agree on a larger epsilon; `dimfree plan` says which of the two would do, without any data."
_KNOWN = "State the spread of the columns if it is public (`covariance=`, `--covariance`): fewer records are needed."
_WIDER = 'Give a larger covariance, or `scale="learn"` (`--scale learn`), if the stated spread may be too small.'
_OUTLIERS = "Raise `outliers` if more records may lie far from the rest than the default allows."
_UNITS = "Check the units: a column in much larger units than the others decides which records count as far away."
_WINDOW = "Widen `window` (`--window LOW HIGH`) so that the distance between two typical records lies in it."
_CENTRE = "Subtract a public centre from every column first, and add it again afterwards."
_TAILS = "Limit columns with very large values to public bounds, or take their logarithm, before the release."

_BY_COLUMNS = (  # too few records for every column to be read by itself
    "Add records, or agree on a larger epsilon: `dimfree plan --objective relative` says which of the two would do.",
    "If many rows are incomplete, leave out the columns in which entries are missing: a row with a gap has no weight.",
    "Leave out columns that nobody needs: how many records are needed grows with the square root of their number.",
    "Take `objective='total'` (`--objective total`) if the widest columns are those that matter.",
    "Divide every column by a public guess of its spread and pass `shape=Isotropic(1.0)`, if you have such guesses.",
)

REMEDIES: dict[str, tuple[str, ...]] = {
    TOO_FEW: (_MORE, _KNOWN),
    UNSTABLE: (_MORE, _UNITS, _OUTLIERS, _WIDER, _CENTRE),
    NO_SCALE: (_WINDOW, _UNITS, _MORE),
    OUT_OF_RANGE: (_UNITS, _MORE, _CENTRE),
    NO_SHAPE: (_MORE, "Give the shape of all groups (`covariance=`, `--covariance`) if it is public."),
}
_ANY = (_MORE, _UNITS, _KNOWN)


def next_steps(release: Release) -> list[str]:
    """What makes a release more likely, the most helpful first."""
    if release.method == "columns" and release.refusal != OUT_OF_RANGE:
        return list(_BY_COLUMNS)
    return [*_needed(release), *REMEDIES.get(release.refusal or "", _ANY)]


def cost_of_refusal(release: Release) -> str:
    """Whether trying again is another release, and what this one has cost."""
    if not release.ledger.events:
        return (
            "This refusal cost nothing: the public number of records alone decided it, before any value was read. "
            "The whole budget is left."
        )
    return (
        "The budget of this release is spent although no mean was released, because the refusal itself depends on the "
        "records. Trying again is another release, and both count."
    )


def _needed(release: Release) -> list[str]:
    """How many records are needed; only where public numbers alone decide it."""
    count = release.parameters.get("count")
    if release.method != "auto" or release.refusal != TOO_FEW or not isinstance(count, int | float):
        return []
    question = Question(1, np.ones(release.dimension), release.ledger.budget, release.guarantee.neighbours)
    least = smallest_count(question)
    if not least:
        return ["At this budget no number of records is enough: agree on a larger epsilon."]
    counted = "There were" if release.guarantee.neighbours is Neighbours.REPLACE_ONE else "The noisy count was"
    return [f"{counted} {max(count, 0):.0f} records; at this budget and width about {least} are needed."]
