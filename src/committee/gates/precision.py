"""PrecisionGate: members that say how sure they are count by it (Bayesian committee)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray
from committee._validation import check_columns, check_predictions, fit_context
from committee.gates.base import Gate, usable
from committee.predictions import weighted_by_row
from committee.votes import Votes

#: The least standard deviation that is believed, as a share of that of y.
_LEAST_STD = 1e-6


class PrecisionGate(Gate):
    """Weights by the precisions that members give themselves, for regression.

        g_m(x) ~ 1 / (c_m s_m(x))^2,   c_m^2 = (1 + sum_n e_nm^2 / s_nm^2) / (1 + n_m)

    s_m(x) is the standard deviation that member m gives, e_nm its error on the n_m rows
    of the fit that it has not seen: c_m corrects members that are too sure of
    themselves, or not sure enough, and counts one row on which they are right about
    it. The sum is the mean of a product of experts, with any common power, and that of
    Tresp's Bayesian committee where the prior is flat: least squared error for errors
    that are independent and have mean zero.

    Parameters
    ----------
    calibrate : bool, default=True
        Whether to learn c_m, from standard deviations on rows that the members have
        not seen. With False all are one, as in the literature, and members are
        believed as they are: all must then mean the same by `s_m`, with the noise of
        y or without.

    Attributes
    ----------
    scales_ : array of shape (M,)
        c_m.

    References
    ----------
    V. Tresp, "A Bayesian committee machine", Neural Computation 12 (2000).
    Y. Cao and D. Fleet, "Generalized product of experts" (2014).
    M. Deisenroth and J. W. Ng, "Distributed Gaussian processes" (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from committee import PrecisionGate
    >>> gate = PrecisionGate(calibrate=False)
    >>> gate = gate.fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 2.0]], [0.0, 1.0])
    >>> gate.weights([[0.5]], std=[[0.5, 1.0]]).round(2).tolist()
    [[0.8, 0.2]]
    """

    needs_std: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {"calibrate": ["boolean"]}

    scales_: FloatArray

    def __init__(self, *, calibrate: bool = True) -> None:
        self.calibrate = calibrate

    @property
    def fits_on_std(self) -> bool:
        """Whether `fit` needs standard deviations on rows that members have not seen."""
        return self.calibrate

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        F: Any,
        y: Any,
        *,
        std: Any = None,
        held_out: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn how far to believe each member.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
            Only counted.
        F : array of shape (N, M)
            What the members predict for these rows, which they must not have seen.
        y : array of shape (N,)
        std : array of shape (N, M), optional
            Their standard deviations; needed with `calibrate`.
        held_out : bool array of shape (N, M), optional
            True where the member did not train on the row; elsewhere it abstains.
        sample_weight : array of shape (N,), optional
            Only ratios matter.

        Returns
        -------
        self
        """
        _, problem = self._checked_rows(X, F, y, held_out, sample_weight)
        if problem.n_classes is not None:
            raise ValueError(
                "PrecisionGate is for numbers: probabilities of classes have no standard "
                "deviation. Take SoftmaxGate or NeighbourGate."
            )
        if std is None:
            if self.calibrate:
                raise ValueError(
                    "PrecisionGate learns how far to believe members from their standard "
                    "deviations on rows that they have not seen: give std, of the shape "
                    "of F, or take PrecisionGate(calibrate=False)."
                )
            std = np.ones(problem.F.shape)
        S, problem = usable(_checked_std(std, problem.F.shape), problem)
        self._learn(S, problem)
        self.n_members_ = problem.n_members
        self._n_classes = None
        return self

    def weights(self, X: Any, F: Any = None, std: Any = None) -> FloatArray:
        """Return g(x), the weights of the members at every x.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
            Only counted.
        F : array of shape (N, M), optional
            Not looked at.
        std : array of shape (N, M)
            The members' standard deviations at these rows.

        Returns
        -------
        G : array of shape (N, M)
            Not negative; rows sum to one.
        """
        check_is_fitted(self)
        n_rows = len(self._inputs(X, reset=False))
        if std is None:
            raise ValueError(
                "PrecisionGate weighs members by their standard deviations at these "
                "rows: give std, weights(X, std=...)."
            )
        return self._weigh(_checked_std(std, (n_rows, self.n_members_)), None)

    def combine(self, X: Any, F: Any, std: Any = None) -> FloatArray:
        """Return sum_m g_m(x) f_m(x).

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M)
        std : array of shape (N, M)

        Returns
        -------
        f_ens : array of shape (N,)
        """
        F = check_predictions(F)
        return weighted_by_row(F, self.weights(X, F, std))

    def _learn(self, Z: FloatArray, problem: Votes) -> None:
        """Learn c from S, which is what this gate looks at instead of columns of X."""
        s, y = problem.row_weights, problem.y
        centred = y - np.average(y, weights=s)
        unit = float(np.abs(centred).max())  # squares of 1e200 are no numbers
        spread = unit and unit * np.sqrt(np.average((centred / unit) ** 2, weights=s))
        self._least_std = max(_LEAST_STD * float(spread), np.finfo(float).tiny)
        self.scales_ = np.ones(problem.n_members)
        if self.calibrate:
            E = (problem.F - y[:, None]) / np.maximum(Z, self._least_std)
            counted = np.broadcast_to((s / s.mean())[:, None], E.shape)
            if problem.held_out is not None:
                counted = counted * problem.held_out
            squares = (counted * E * E).sum(axis=0)
            self.scales_ = np.sqrt((1.0 + squares) / (1.0 + counted.sum(axis=0)))

    def _weigh(self, Z: FloatArray, F: FloatArray | None) -> FloatArray:
        """Return 1 / (c s)^2 as shares; in logarithms, which do not overflow."""
        log_s = np.log(self.scales_ * np.maximum(Z, self._least_std))
        return softmax(-2.0 * log_s, axis=1)  # type: ignore[no-any-return]

    def _inputs(self, X: Any, *, reset: bool) -> FloatArray:
        """Return no column of X: only its rows count, whatever is in them."""
        X = check_columns(self, X, reset=reset)
        return np.empty((X.shape[0], 0))


def _checked_std(std: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return S (N, M), finite and not negative."""
    S: FloatArray = check_array(std, dtype=np.float64, input_name="std")
    if S.shape != shape:
        raise ValueError(
            f"std must have shape {shape}, one standard deviation for each row and "
            f"member. Got shape {S.shape}."
        )
    if np.any(S < 0):
        raise ValueError(
            f"Standard deviations are not negative. Got {S.min():g} in std."
        )
    return S
