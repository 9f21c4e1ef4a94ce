"""What networks minimise: squared errors or log-loss, and a term that couples members."""

from __future__ import annotations

import numpy as np

from committee.networks.layout import Tensor

#: Probabilities below this have its logarithm.
_FLOOR = 1e-30


class SquaredError:
    """The loss of a row, 1/2 (f - y)^2, of targets Y (N, 1)."""

    def predictions(self, out: Tensor) -> Tensor:
        """Return f, the outputs as they are."""
        return out

    def gradient(self, out: Tensor, Y: Tensor, coupling: float = 0.0) -> Tensor:
        """Return the gradient in the outputs (M, B, 1), in their place.

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
        """Return p, in the place of the outputs."""
        out -= out.max(axis=2, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=2, keepdims=True)
        return out

    def gradient(self, out: Tensor, Y: Tensor, coupling: float = 0.0) -> Tensor:
        """Return the gradient in the outputs (M, B, K), in their place.

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
