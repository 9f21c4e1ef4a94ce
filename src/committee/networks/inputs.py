"""From rows to what networks are trained on, and their weights back in units of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.networks.layout import Tensor
from committee.networks.losses import CrossEntropy, Loss, SquaredError
from committee.networks.rows import Problem


@dataclass(frozen=True)
class Scaling:
    """Columns are trained on as (x - mean) / scale; scale is one for constant columns."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, A: FloatArray) -> Scaling:
        """Return mean and standard deviation of the columns of A (N, d)."""
        # Divided by the largest first: a square must not overflow.
        top = np.abs(A).max(axis=0)
        top[top == 0] = 1.0
        unit = A / top
        mean, scale = unit.mean(axis=0), unit.std(axis=0)
        # What is left of a constant is rounding.
        scale[scale <= 1e-13 * np.sqrt(len(A))] = 1.0
        return cls(mean * top, scale * top)

    def apply(self, A: FloatArray) -> FloatArray:
        """Return the standardised columns."""
        return (A - self.mean) / self.scale


@dataclass(frozen=True)
class Prepared:
    """A problem, and what undoes its units.

    Attributes
    ----------
    problem : Problem
    inputs : Scaling
        Of the columns, behind an embedding.
    targets : Scaling or None
        None for classes.
    """

    problem: Problem
    inputs: Scaling
    targets: Scaling | None

    @property
    def n_columns(self) -> int:
        """d, behind an embedding."""
        return int(self.problem.X.shape[1]) - 1

    @property
    def n_outputs(self) -> int:
        """1, or K classes."""
        return int(self.problem.Y.shape[1])

    def in_units_of_rows(
        self, matrices: list[Tensor]
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return coefficients (in, out) and intercepts (out,) of one plain network.

            x'W + b of standardised x  =  x'(W / scale) + b - (mean / scale)'W

        and the last layer times the scale of the targets, plus their mean.
        """
        coefs = [np.asarray(W[:-1], dtype=np.float64) for W in matrices]
        intercepts = [np.asarray(W[-1], dtype=np.float64) for W in matrices]
        intercepts[0] = (
            intercepts[0] - (self.inputs.mean / self.inputs.scale) @ coefs[0]
        )
        coefs[0] = coefs[0] / self.inputs.scale[:, None]
        if self.targets is not None:
            coefs[-1] = coefs[-1] * self.targets.scale
            intercepts[-1] = intercepts[-1] * self.targets.scale + self.targets.mean
        return coefs, intercepts


def prepare(
    Z: FloatArray, y: Any, n_classes: int | None, s: FloatArray | None
) -> Prepared:
    """Standardise rows Z (N, d) and their targets, by the rows with a weight."""
    counted = slice(None) if s is None else s > 0
    inputs = Scaling.of(Z[counted])
    X = np.ones((len(Z), Z.shape[1] + 1), dtype=np.float32)
    X[:, :-1] = inputs.apply(Z)
    targets: Scaling | None = None
    loss: Loss = CrossEntropy()
    if n_classes is None:
        targets = Scaling.of(y[counted, None])
        Y = targets.apply(y[:, None]).astype(np.float32)
        # Of variance one, some are one apart from the mean; or they are all alike, and
        # so is what a network is to predict.
        if np.abs(Y[counted]).max() < 0.5:
            targets = replace(targets, scale=np.zeros(1))
        loss = SquaredError()
    else:
        Y = np.eye(n_classes, dtype=np.float32)[y]
    weights = None
    if s is not None:
        weights = (s / s[counted].mean()).astype(np.float32)
    return Prepared(Problem(X, Y, weights, loss), inputs, targets)
