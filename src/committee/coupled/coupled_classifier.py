"""Hamers' coupled ensemble as a classifier: submodels that vote."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray
from committee._validation import StrOptions
from committee.coupled.coupled_kernel import CoupledKernel, Plan, unseen_rows
from committee.coupled.gram import in_blocks
from committee.coupled.kernel_machine import (
    KernelClassifierMixin,
    both_sides,
    score_axes,
)
from committee.coupled.rows import Rows
from committee.coupled.system import leave_one_out
from committee.distributed.collections import lazy_rows
from committee.probabilities import fit_slope


def _member_score_axes(model: CoupledKernelClassifier) -> tuple[int, ...]:
    return (len(model.members_), *score_axes(model))


@dataclass(eq=False, repr=False)
class CoupledKernelClassifier(KernelClassifierMixin, CoupledKernel):
    """Hamers' coupled ensemble for classes: coupled kernel submodels that vote.

    It reproduces the paper. For predictions use `CellKernelClassifier`, which chooses
    its settings from the data.

        hard:  s_k(x) = sum_j w_j [k = argmax_l f_jl(x)]
        soft:  s_k(x) = sum_j w_j f_jk(x)

    The submodels are trained as in `CoupledKernelRegressor` on targets +-1: one target
    for two classes (f_j0 = -f_j1), one-vs-rest for more. All targets share the
    factorisation.

    Parameters
    ----------
    n_members, kernel, gamma, alpha, coupling, coupling_set, n_coupling, topology :
        As for `CoupledKernelRegressor`.
    overlap, solver, allow_indefinite, tol, max_iter, weigh_on, random_state :
        As for `CoupledKernelRegressor`.
    combiner : combiner or str, default=None
        Combiner that weighs the members; None means `SimplexWeights()`. It is fitted on
        one-hot votes, or on (1 + f) / 2 with voting="soft".
    voting : {"hard", "soft"}, default="hard"
        Whether to sum votes ("hard") or scores ("soft").

    Attributes
    ----------
    classes_ : array of shape (K,)
    slope_ : float
        Slope of p(k | x) ~ exp(slope s_k), fitted on the rows used to weigh the
        members. For each row, the member that was trained on it is left out.
    subsets_, members_, weights_, support_members_, coupling_points_, n_iter_ :
        As for `CoupledKernelRegressor`; members predict the scores f_jk.
    converged_, n_features_in_ :
        As for `CoupledKernelRegressor`; members predict the scores f_jk.

    See Also
    --------
    CellKernelClassifier : Recommended for predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import CoupledKernelClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = CoupledKernelClassifier(6, gamma=2.0, alpha=0.1, random_state=0)
    >>> model.fit(X[:200], y[:200], X_coupling=X[200:]).score(X[200:], y[200:]) > 0.95
    True
    >>> model.predict_proba(X[200:201]).shape
    (1, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CoupledKernel._parameter_constraints,
        "voting": [StrOptions({"hard", "soft"})],
    }
    _has_slope = True

    _: KW_ONLY
    voting: str = "hard"

    def _finish(self, plan: Plan, weighed: Rows, outputs: FloatArray | None) -> None:
        """Fit the slope."""
        assert outputs is not None
        rows, scores = self._unseen_scores(plan, weighed, outputs)
        self.slope_ = fit_slope(scores, rows.y, rows.s)

    def _of_second(self, s: FloatArray) -> FloatArray:
        """Return sum_j w_j sign f_j, or for soft voting sum_j w_j f_j."""
        return s[:, 1] - s[:, 0] if self.voting == "hard" else s[:, 1]

    @lazy_rows(tail=_member_score_axes)
    def member_decision_function(self, X: Any) -> FloatArray:
        """Return the scores of every member: f_j for two classes, f_jk for more.

        With voting="hard", `member_predictions` returns the votes computed from them.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        f : array of shape (N, M) or (N, M, K)
        """
        X = self._check_X(X)
        f = in_blocks(X, self._n_members * self._n_targets, self._outputs)
        return f[:, :, 0] if len(self.classes_) == 2 else f

    def _scores(self, X: Any) -> FloatArray:
        """Return s_k of all rows; soft votes come from the collapsed expansion."""
        if self.voting == "soft":
            return super()._scores(X)
        X = self._check_X(X)
        support = self.support_members_
        w = self.weights_[support]
        return in_blocks(
            X,
            len(support) * len(self.classes_),
            lambda rows: _votes(both_sides(self._outputs(rows, support)), w),
        )

    def _unseen_scores(
        self, plan: Plan, weighed: Rows, outputs: FloatArray
    ) -> tuple[Rows, FloatArray]:
        """Return rows and their s_k by members that did not train on the target."""
        if self.n_members == 1:
            # One member was trained on every row: its own outputs are too large.
            rows, f = leave_one_out(
                plan.gram, plan.rows.Y, alpha=self.alpha, coupling=0.0
            )
            one = np.ones((len(rows), 1))
            return plan.rows.take(rows), self._voted(both_sides(f), one)
        support = self.support_members_
        f = both_sides(outputs[:, support])
        unseen = unseen_rows(plan.weighing, self.subsets_)[:, support]
        w = np.where(unseen, self.weights_[support], 0.0)
        unscored = w.sum(axis=1) <= 0
        # No row has members of positive weight that did not train on it: take all.
        if unscored.all():
            w[:] = self.weights_[support]
            unscored[:] = False
        f, w = f[~unscored], w[~unscored]
        # Scaled to the scores of the whole ensemble, to which the slope is applied.
        w *= self.weights_.sum() / w.sum(axis=1, keepdims=True)
        return weighed.take(np.flatnonzero(~unscored)), self._voted(f, w)

    def _voted(self, f: FloatArray, w: FloatArray) -> FloatArray:
        """Return s_k of outputs (N, M, K) with weights (N, M)."""
        return _votes(f, w) if self.voting == "hard" else np.einsum("nm,nmk->nk", w, f)

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        """Return (N, M, K): one-hot votes, or (1 + f) / 2."""
        f = both_sides(outputs)
        if self.voting == "soft":
            return (1.0 + f) / 2.0
        chosen = f.argmax(axis=2)[:, :, None] == np.arange(f.shape[2])
        return np.asarray(chosen, dtype=np.float64)


def _votes(f: FloatArray, w: FloatArray) -> FloatArray:
    """Return sum_j w_j [k = argmax_l f_jl], (N, K); w is (M,) or (N, M)."""
    choice = f.argmax(axis=2)
    return np.stack(
        [np.sum(w * (choice == k), axis=1) for k in range(f.shape[2])], axis=1
    )
