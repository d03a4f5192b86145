"""Noise that draws nothing and records every request."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class RecordingNoise:
    """Zeros for every Gaussian and Laplace, the given side for every coin, the true best for every choice.

    `asked` holds (kind, scale, size) in order; a coin is recorded as ("coin", numerator, denominator), a uniform draw
    as ("below", bound, size), a choice as ("noisy_top", scale, count). `scores` holds what was chosen from.
    """

    heads: bool = True
    private: bool = False
    asked: list[tuple[str, float, int]] = field(default_factory=list)
    scores: list[np.ndarray] = field(default_factory=list)

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        self.asked.append(("gaussian", stddev, size))
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> np.ndarray:
        self.asked.append(("laplace", scale, size))
        return np.zeros(size, dtype=np.int64)

    def noisy_top(self, scores: np.ndarray, count: int, scale: float) -> np.ndarray:
        self.asked.append(("noisy_top", scale, count))
        self.scores.append(np.array(scores))
        return np.argsort(-scores, kind="stable")[:count]

    def coin(self, numerator: int, denominator: int) -> bool:
        self.asked.append(("coin", numerator, denominator))
        return self.heads

    def below(self, bound: int, size: int) -> np.ndarray:
        self.asked.append(("below", bound, size))
        return np.zeros(size, dtype=np.int64)
