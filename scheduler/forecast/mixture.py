"""A run time as a mixture of Laplace kernels around atoms, in log seconds: what it says, and what to forecast.

The figure of a forecast p for a run time t is min(p, t) / max(p, t) = exp(-|log p - log t|), so its expectation under a
Laplace kernel of width s at distance d has a closed form: (exp(-d) - s exp(-d / s)) / (1 - s²), and (1 + d) exp(-d) / 2
for s = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.history import Floats

WIDTHS = np.array([0.02, 0.25, 1.0])
"""Log seconds: the same again, about the same, of that order."""
SHARPNESS = (1.0, 0.7, 1.5)
"""The learned weights, raised to these powers: as they are, less sure of themselves, and surer."""
EVEN = 0.6
"""The same of the fixed weights: older jobs count nearly as much as the last ones."""
MIXTURES = np.array([
    [0.9, 0, 0, 0.1, 0], [0.5, 0, 0, 0, 0.5], [0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]
])  # fmt: skip
"""What may serve: shares of the learned weights with each `SHARPNESS`, of `features.PRIOR`, and of these made even."""


class Pairs:
    """What all mixtures over the same atoms share: the kernels of each atom, seen from each other."""

    def __init__(self, x: Floats) -> None:
        self.x = x
        self._later = x[:, :, None] >= x[:, None, :]
        distances = np.abs(x[:, :, None] - x[:, None, :]).astype(np.float32)
        self._fades = [np.exp(distances * np.float32(-1 / width)) for width in WIDTHS]
        self._figures = [
            figure_of(distances, self._fades[-1], fade, float(width))
            for fade, width in zip(self._fades, WIDTHS, strict=True)
        ]

    def expected(self, weights: Floats) -> Floats:
        """(jobs, atoms): the expected figure of forecasting each atom, for weights (jobs, atoms, widths)."""
        return _summed(self._figures, weights)

    def cumulated(self, weights: Floats) -> Floats:
        """(jobs, atoms): the probability of at most each atom."""
        return _summed([np.where(self._later, 1 - fade / 2, fade / 2) for fade in self._fades], weights)


@dataclass(frozen=True, slots=True)
class Mixtures:
    """`weights` (jobs, atoms, widths) with sum 1 per job; `real` (jobs, atoms), which of the atoms exist; `limit`
    (jobs, 1), the largest value."""

    pairs: Pairs
    weights: Floats
    real: NDArray[np.bool_]
    limit: Floats

    @property
    def x(self) -> Floats:
        return self.pairs.x

    def below(self, value: Floats) -> Floats:
        """(jobs,): the probability of less than one value per job."""
        apart = (value[:, None] - self.x)[:, :, None]
        tail = np.exp(-np.abs(apart) / WIDTHS) / 2
        return np.asarray((np.where(apart < 0, tail, 1 - tail) * self.weights).sum(axis=(1, 2)))

    def quantiles(self, levels: Floats) -> Floats:
        """(jobs, levels): quantiles for levels (jobs, levels), between the atoms by straight lines."""
        cumulated = self.pairs.cumulated(self.weights)
        values = np.empty(levels.shape)
        for row, real in enumerate(self.real):
            order = np.argsort(self.x[row, real], kind="stable")
            x = self.x[row, real][order]
            # Equal atoms differ in the last digit of their sum.
            heights = np.maximum.accumulate(cumulated[row, real][order])
            end = min(max(x[-1] + 3, 1), self.limit[row, 0])
            values[row] = np.interp(levels[row], [0.0, *heights, 1.0], [0.0, *x, end])
        return np.minimum(values, self.limit)


def _summed(matrices: Sequence[NDArray[np.float32]], weights: Floats) -> Floats:
    columns = weights.astype(np.float32)
    total = sum(matrix @ columns[:, :, number, None] for number, matrix in enumerate(matrices))
    return np.asarray(total, float)[:, :, 0]


def figure_of(
    distance: NDArray[np.float32], plain: NDArray[np.float32], fade: NDArray[np.float32], width: float
) -> NDArray[np.float32]:
    """The expected figure at a distance from the middle of a kernel; `plain` is exp(-d), `fade` exp(-d / width)."""
    if width == 1:
        return np.asarray((1 + distance) * plain / 2)
    return np.asarray((plain - np.float32(width) * fade) / np.float32(1 - width * width))


def sharpened(weights: Floats, power: float) -> Floats:
    """(jobs, atoms, widths): the weights of atoms raised to a power; how an atom divides among its widths stays."""
    if power == 1:
        return weights
    of_atom = weights.sum(axis=2, keepdims=True)
    powers = np.where(of_atom > 0, of_atom, 1) ** power * (of_atom > 0)
    scaled = weights * (powers / np.where(of_atom > 0, of_atom, 1))
    return np.asarray(scaled / powers.sum(axis=1, keepdims=True))


def densities(distance: Floats) -> Floats:
    """(…, widths): densities of a value at a distance from the middles of kernels."""
    return np.asarray(np.exp(-distance[..., None] / WIDTHS) / (2 * WIDTHS) + 1e-6)
