"""Comparison: errors of every estimator, as JSON, as a table, and as records for a chart."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dimfree._validate import quoted
from dimfree.errors import InvalidFile, InvalidParameter

FORMAT = 1
AXES = ("n", "d", "epsilon", "spectrum")
WARNING = "A simulation on public data with seeded noise: nothing here is private."


@dataclass(frozen=True, kw_only=True)
class Score:
    """One estimator at one point of the axis: an error for each trial that was answered."""

    name: str
    told: str
    private: bool
    at: float | str
    world: str
    n: int
    epsilon: float
    errors: tuple[float, ...]
    refusals: int
    seconds: float  # of one trial
    remark: str  # why it could not take part; empty where it could

    @property
    def quartiles(self) -> tuple[float, float, float] | None:
        """(lower quartile, median, upper quartile) of the answered trials; None where there is none."""
        if not self.errors:
            return None
        low, middle, high = np.quantile(self.errors, [0.25, 0.5, 0.75])
        return float(low), float(middle), float(high)

    @property
    def typical(self) -> float:
        """The median over all trials; a refusal counts as an infinite error."""
        return float(np.median([*self.errors, *[math.inf] * self.refusals])) if not self.remark else math.inf

    @property
    def words(self) -> str:
        """The median error for a table, or why there is none."""
        if self.remark or self.quartiles is None:
            return self.remark or "refused"
        trials = len(self.errors) + self.refusals
        share = f" ({self.refusals} of {trials} refused)" if self.refusals else ""
        return f"{self.quartiles[1]:.3g}{share}"


@dataclass(frozen=True)
class Comparison:
    """All scores, with the promise and the seed they were made under. `compare` returns one.

    Attributes
    ----------
    axis : {"n", "d", "epsilon", "spectrum"}
        What varies.
    scores : tuple of Score
        One for each estimator and point of the axis.
    delta : float
        Budget of each release.
    neighbours : str
        The neighbouring relation.
    trials, seed : int
        As given to `compare`.
    """

    axis: str
    scores: tuple[Score, ...]
    delta: float
    neighbours: str
    trials: int
    seed: int

    @property
    def points(self) -> list[float | str]:
        """The values of the axis."""
        return list(dict.fromkeys(score.at for score in self.scores))

    @property
    def names(self) -> list[str]:
        """The names of the estimators."""
        return list(dict.fromkeys(score.name for score in self.scores))

    def score(self, name: str, at: float | str) -> Score:
        """The score of one estimator at one point of the axis.

        Parameters
        ----------
        name : str
            One of `names`.
        at : float or str
            One of `points`.

        Returns
        -------
        Score
        """
        wanted = (name, at) if isinstance(name, str) and isinstance(at, str | int | float) else None
        for score in self.scores:
            if (score.name, score.at) == wanted:
                return score
        raise InvalidParameter(f"Expected name={quoted(name)} and at={quoted(at)} to be in names and points.")

    def header(self) -> tuple[str, ...]:
        """Titles of the columns of `rows`.

        Returns
        -------
        tuple of str
        """
        return ("estimator", "was told", *(f"{self.axis} = {_short(at)}" for at in self.points))

    def rows(self) -> list[tuple[str, ...]]:
        """A table of text, one line for each estimator: the median error at each point, or why there is none.

        Returns
        -------
        list of tuple of str
        """
        return [(name, self._told(name), *(self.score(name, at).words for at in self.points)) for name in self.names]

    def _told(self, name: str) -> str:
        score = self.score(name, self.points[0])
        return score.told if score.private else f"{score.told} (not private)"

    def conditions(self) -> tuple[str, str]:
        """What all estimators had in common, in two sentences: the promise and the samples.

        Returns
        -------
        tuple of str
        """
        first = self.scores[0]
        shared = [] if self.axis == "epsilon" else [f"epsilon = {first.epsilon:g}"]
        shared += [f"delta = {self.delta:g}", self.neighbours]
        drawn = [first.world] if self.axis in ("n", "epsilon") else []
        drawn += [f"n = {first.n}"] if self.axis != "n" else []
        drawn += [draws(self.trials), f"seed {self.seed}"]
        return f"Everybody promises {', '.join(shared)}.", f"Median Euclidean error; {', '.join(drawn)}."

    def to_json(self) -> str:
        """The comparison as JSON text.

        Returns
        -------
        str
        """
        return json.dumps({"format": FORMAT, "warning": WARNING, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Comparison":
        """The comparison that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text.

        Returns
        -------
        Comparison

        Raises
        ------
        InvalidFile
            If the text is anything else.
        """
        try:
            data = json.loads(text)
            if data.pop("format") != FORMAT or data.pop("warning") != WARNING:
                raise ValueError
            scores = tuple(Score(**{**each, "errors": tuple(each["errors"])}) for each in data.pop("scores"))
            return cls(scores=scores, **data)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidFile("Expected the text that Comparison.to_json of this version writes.") from None

    def to_markdown(self) -> str:
        """The comparison as a Markdown table.

        Returns
        -------
        str
        """
        lines = [self.header(), ("---",) * len(self.header()), *self.rows()]
        table = ["| " + " | ".join(cells) + " |" for cells in lines]
        return "\n".join([*self.conditions(), "", *table, "", WARNING]) + "\n"

    def figures(self) -> list[dict[str, Any]]:
        """One record for each score that has a median, for a chart.

        Returns
        -------
        list of dict
        """
        return [
            {
                "estimator": score.name,
                "told": score.told,
                "private": score.private,
                self.axis: score.at,
                "error": quartiles[1],
                "low": quartiles[0],
                "high": quartiles[2],
            }
            for score in self.scores
            if (quartiles := score.quartiles) is not None
        ]


def draws(trials: int) -> str:
    return "1 draw" if trials == 1 else f"{trials} draws"


def _short(at: float | str) -> str:
    return at if isinstance(at, str) else f"{at:g}"
