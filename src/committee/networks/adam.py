"""Adam with decoupled weight decay, in few passes over the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.networks.layout import Tensor

#: Decay of the moments, and what keeps the root above zero: those of the paper.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Steps of Adam (Kingma and Ba 2015) with decoupled decay (Loshchilov, Hutter 2019).

        m <- b1 m + (1 - b1) g,       v <- b2 v + (1 - b2) g^2
        theta <- theta (1 - lr decay) - lr mhat / (sqrt(vhat) + eps)
        mhat = m / (1 - b1^t),        vhat = v / (1 - b2^t)

    Kept are m / (1 - b1) and v / (1 - b2): then every moment takes one product and one
    sum, and all scalars go into the last step.

    Parameters
    ----------
    theta : array of weights
    learning_rate, decay : float
    decayed : array that broadcasts to theta
        1 where weights decay, 0 elsewhere.
    """

    def __init__(
        self, theta: Tensor, *, learning_rate: float, decay: float, decayed: Tensor
    ) -> None:
        self.m, self.v = np.zeros_like(theta), np.zeros_like(theta)
        self.step = np.empty_like(theta)
        self.learning_rate = learning_rate
        self.shrink = None
        if decay:
            self.shrink = (1.0 - learning_rate * decay * decayed).astype(theta.dtype)
        self.t = 0

    def update(self, theta: Tensor, g: Tensor) -> None:
        """Change theta by one step; g is used up."""
        self.t += 1
        m, v, step = self.m, self.v, self.step
        first = (1 - _BETA_1) / (1 - _BETA_1**self.t)
        root = np.sqrt((1 - _BETA_2) / (1 - _BETA_2**self.t))
        m *= _BETA_1
        m += g
        g *= g
        v *= _BETA_2
        v += g
        np.sqrt(v, out=step)
        step += float(_EPSILON / root)
        np.divide(m, step, out=step)
        step *= float(self.learning_rate * first / root)
        if self.shrink is not None:
            theta *= self.shrink
        theta -= step

    def keep(self, members: Any) -> None:
        """Go on with some of the members."""
        self.m, self.v = self.m[members], self.v[members]
        self.step = np.empty_like(self.m)
