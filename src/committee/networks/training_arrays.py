"""Rows and targets as networks are trained on them: standardised, with a loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.networks.layers import Tensor

#: Smallest probability in a logarithm.
_FLOOR = 1e-30


class SquaredError:
    """The loss of a row, 1/2 (f - y)^2, of targets Y (N, 1)."""

    def predictions(self, out: Tensor) -> Tensor:
        """Return f, the outputs unchanged."""
        return out

    def gradient(self, out: Tensor, Y: Tensor, coupling: float = 0.0) -> Tensor:
        """Return the gradient in the outputs (M, B, 1); overwrites them.

            sum_k 1/2 (f_k - y)^2 + nu/2 sum_k (f_k - f_bar)^2
            d/df_k = (f_k - y) + nu (f_k - f_bar)

        A coupling nu > 0 makes members agree, nu < 0 makes them disagree: negative
        correlation learning with lambda = -nu / 2.
        """
        if coupling:
            apart = out - out.mean(axis=0)
            apart *= coupling
            out -= Y
            out += apart
        else:
            out -= Y
        return out

    def values(self, f: Tensor, Y: Tensor) -> Tensor:
        """Return the loss of predictions (M, B, 1) on each row, (M, B)."""
        error = f[:, :, 0] - Y[:, :, 0]
        error *= error
        error *= 0.5
        return error


class CrossEntropy:
    """The loss of a row, -log p_y with p = softmax(out), of one-hot targets (N, K)."""

    def predictions(self, out: Tensor) -> Tensor:
        """Return p; overwrites the outputs."""
        out -= out.max(axis=2, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=2, keepdims=True)
        return out

    def gradient(self, out: Tensor, Y: Tensor, coupling: float = 0.0) -> Tensor:
        """Return the gradient in the outputs (M, B, K); overwrites them.

        sum_k -log p_ky + nu/2 sum_k ||p_k - p_bar||^2
        d/dout_k = (p_k - y) + nu p_k * (u_k - p_k'u_k),    u_k = p_k - p_bar
        """
        p = self.predictions(out)
        if coupling:
            u = p - p.mean(axis=0)
            u -= np.sum(p * u, axis=2, keepdims=True)
            u *= p
            u *= coupling
            p -= Y
            p += u
        else:
            p -= Y
        return p

    def values(self, f: Tensor, Y: Tensor) -> Tensor:
        """Return the loss of probabilities (M, B, K) on each row, (M, B)."""
        p: Tensor = np.sum(f * Y, axis=2)
        np.maximum(p, _FLOOR, out=p)
        np.log(p, out=p)
        np.negative(p, out=p)
        return p


Loss = SquaredError | CrossEntropy


@dataclass(frozen=True)
class Scaling:
    """Standardisation (x - mean) / scale; the scale of a constant column is one."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, A: FloatArray) -> Scaling:
        """Return mean and standard deviation of the columns of A (N, d)."""
        # Divide by the largest value first, so that squares do not overflow.
        top = np.abs(A).max(axis=0)
        top[top == 0] = 1.0
        unit = A / top
        mean, scale = unit.mean(axis=0), unit.std(axis=0)
        # A constant column has a standard deviation of rounding errors.
        scale[scale <= 1e-13 * np.sqrt(len(A))] = 1.0
        return cls(mean * top, scale * top)

    def apply(self, A: FloatArray) -> FloatArray:
        """Return the standardised columns."""
        return (A - self.mean) / self.scale


@dataclass(frozen=True)
class TrainingArrays:
    """Inputs, targets and weights as networks take them, and how to undo the scaling.

    Attributes
    ----------
    X : array of shape (N, d + 1)
        Standardised, with a last column of ones.
    Y : array of shape (N, out)
        Standardised numbers, or one-hot classes.
    s : array of shape (N,) or None
        Weights of the rows, with mean one.
    loss : SquaredError or CrossEntropy
    inputs : Scaling
        Scaling of the columns.
    targets : Scaling or None
        Scaling of the targets; None for classes.
    """

    X: Tensor
    Y: Tensor
    s: Tensor | None
    loss: Loss
    inputs: Scaling
    targets: Scaling | None

    def in_units_of_rows(
        self, matrices: list[Tensor]
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return coefficients (in, out) and intercepts (out,) of one plain network.

            x'W + b of standardised x  =  x'(W / scale) + b - (mean / scale)'W

        The last layer is multiplied by the scale of the targets, and their mean added.
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


def standardise(
    Z: FloatArray, y: Any, n_classes: int | None, s: FloatArray | None
) -> TrainingArrays:
    """Standardise rows Z (N, d) and targets y (N,).

    Means and standard deviations are computed from the rows with a positive weight s.
    """
    counted = slice(None) if s is None else s > 0
    inputs = Scaling.of(Z[counted])
    X = np.ones((len(Z), Z.shape[1] + 1), dtype=np.float32)
    X[:, :-1] = inputs.apply(Z)
    targets: Scaling | None = None
    loss: Loss = CrossEntropy()
    if n_classes is None:
        targets = Scaling.of(y[counted, None])
        Y = targets.apply(y[:, None]).astype(np.float32)
        # Standardised targets have variance one, so some are at least one from the
        # mean, unless all are equal: then the network predicts a constant.
        if np.abs(Y[counted]).max() < 0.5:
            targets = replace(targets, scale=np.zeros(1))
        loss = SquaredError()
    else:
        Y = np.eye(n_classes, dtype=np.float32)[y]
    weights = None
    if s is not None:
        weights = (s / s[counted].mean()).astype(np.float32)
    return TrainingArrays(X, Y, weights, loss, inputs, targets)
