"""The plain mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from committee._typing import FloatArray
from committee.combiners.base import Combiner
from committee.votes import Votes


class Average(Combiner):
    """Give every member the same weight (chapter 4.2, eq. 4.1).

        w_m = 1 / M

    It has no parameters to learn and so nothing to overfit: the baseline that
    every other combiner must beat.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        All members.

    Examples
    --------
    >>> from committee import Average
    >>> Average().fit([[1.0, 3.0]], [2.0]).combine([[1.0, 3.0]]).tolist()
    [2.0]
    """

    needs_rows: ClassVar[bool] = False
    takes_chunks: ClassVar[bool] = True

    def _weigh(self, problem: Votes) -> FloatArray:
        return np.full(problem.n_members, 1.0 / problem.n_members)
