"""The coupled ensemble as a classifier: votes, and probabilities by a link."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, RandomState
from committee._validation import StrOptions, fit_context
from committee.coupled.cell_uncertainty import CellSets
from committee.coupled.chunked_rows import rows_of
from committee.coupled.ensemble import CoupledEnsemble
from committee.coupled.expansion import in_blocks
from committee.coupled.kernel_loo import leave_one_out
from committee.coupled.link import (
    LinkMixin,
    both_sides,
    refuse_one_class,
    score_axes,
)
from committee.coupled.rows import Plan, Rows, label_rows
from committee.distributed import lazy_rows
from committee.probabilities import fit_slope

#: Weighing on rows that members have trained on.
_SEEN = ("train", "held-out")


def _member_score_axes(model: CoupledKernelClassifier) -> tuple[int, ...]:
    return (model._n_machines, *score_axes(model))


class CoupledKernelClassifier(CellSets, LinkMixin, CoupledEnsemble):
    """Coupled kernel submodels that vote, one machine for each class and member.

        hard:  s_k(x) = sum_j w_j [k = argmax_l f_jl(x)]
        soft:  s_k(x) = sum_j w_j f_jk(x)

    The submodels are those of `CoupledKernelRegressor` with targets +-1: one target
    for two classes, f_j0 = -f_j1; for more, one against the rest, all of which share
    the factorisation. With `subsets="cells"` they are those of its cells, and the slope
    is fitted on leave-one-out values.

    Parameters
    ----------
    n_members, subsets, max_cell, metric, trend, gate, \
    kernel, gamma, degree, coef0, alpha, coupling, \
    coupling_set, n_coupling, topology, overlap, solver, allow_indefinite, tol, max_iter, \
    weigh_on, n_weighing, precision, n_jobs, random_state :
        As for `CoupledKernelRegressor`.
    combiner : combiner or str, optional
        The second layer, `SimplexWeights()` unless given. It sees one-hot votes, or
        for soft voting (1 + f) / 2.
    voting : {"hard", "soft"}, default="hard"
        Of random subsets; values of cells are always added up.

    Attributes
    ----------
    classes_ : array of shape (K,)
    slope_ : float
        Of the link p(k | x) ~ exp(slope s_k), fitted on the rows that weighed the
        members, each row without the member that trained on it.
    subsets_, members_, weights_, support_members_, coupling_points_ :
        As for `CoupledKernelRegressor`; members predict the values f_jk.
    n_iter_, converged_, n_features_in_, cells_, alpha_, coupling_, loo_error_ :
        As for `CoupledKernelRegressor`.

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

    _parameter_constraints = {  # noqa: RUF012
        **CoupledEnsemble._parameter_constraints,
        "voting": [StrOptions({"hard", "soft"})],
    }
    _links = True

    def __init__(
        self,
        n_members: int = 8,
        *,
        subsets: str = "random",
        max_cell: int = 1000,
        metric: str | None = None,
        trend: bool | None = None,
        gate: str | None = None,
        kernel: Any = None,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        alpha: float | None = None,
        coupling: float | None = None,
        coupling_set: str = "train",
        n_coupling: float | None = None,
        topology: str = "ring",
        overlap: bool = True,
        solver: str = "direct",
        allow_indefinite: bool = False,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        combiner: Any = None,
        weigh_on: str | float = "train",
        n_weighing: int | None = None,
        precision: str = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        voting: str = "hard",
    ) -> None:
        super().__init__(
            n_members,
            subsets=subsets,
            max_cell=max_cell,
            metric=metric,
            trend=trend,
            gate=gate,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            alpha=alpha,
            coupling=coupling,
            coupling_set=coupling_set,
            n_coupling=n_coupling,
            topology=topology,
            overlap=overlap,
            solver=solver,
            allow_indefinite=allow_indefinite,
            tol=tol,
            max_iter=max_iter,
            combiner=combiner,
            weigh_on=weigh_on,
            n_weighing=n_weighing,
            precision=precision,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.voting = voting

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_coupling: Any = None,
        subsets: Any = None,
    ) -> Self:
        """Train the submodels together, weigh their votes and fit the link.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            As for `CoupledKernelRegressor`.
        y : array-like of shape (N,), or a Dask collection
            Labels of any type.
        sample_weight : array-like of shape (N,), optional, or a Dask collection
        X_coupling : array-like of shape (n_c, n_features), optional
            As for `CoupledKernelRegressor`.
        subsets : sequence of n_members lists of row numbers, optional
            As for `CoupledKernelRegressor`.

        Returns
        -------
        self
        """
        rows = rows_of(self, label_rows, X, y, sample_weight)
        self.classes_ = rows.classes()
        coded = rows.coded(self.classes_)
        if self._in_cells:
            training, counted = self._train_cells(coded, X_coupling, subsets)
            if subsets is not None:
                self._refuse_one_class(coded)
            known = counted.take(training.left_out.rows)
            scores = both_sides(training.left_out.f)
            if len(scores):
                self.slope_ = fit_slope(scores, known.y, known.s)
            else:  # rows that repeat fill every cell: they are each other's test
                scores = both_sides(training.model.predict(counted.X))
                self.slope_ = fit_slope(scores, counted.y, counted.s)
            self._keep_scores(training, known, self.slope_)
            return self
        assert isinstance(coded, Rows)
        plan = self._prepare(coded, X_coupling, subsets)
        if subsets is not None:
            self._refuse_one_class(coded)
        weighed, outputs = self._train(plan)
        assert outputs is not None
        rows, scores = self._unseen_scores(plan, weighed, outputs)
        self.slope_ = fit_slope(scores, rows.y, rows.s)
        return self

    def _refuse_one_class(self, coded: Any) -> None:
        """Refuse subsets that were given and have one class."""
        used = np.unique(coded.y[np.concatenate(self.subsets_)])
        refuse_one_class(self.classes_[used])

    @lazy_rows(tail=score_axes)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores s_k; for two classes sum_j w_j sign f_j, or sum_j w_j f_j.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        s : array of shape (N,) or (N, K)
        """
        s = self._scores(X)
        if len(self.classes_) > 2:
            return s
        hard = self.voting == "hard" and not self._in_cells
        return s[:, 1] - s[:, 0] if hard else s[:, 1]

    @lazy_rows(tail=_member_score_axes)
    def member_decision_function(self, X: Any) -> FloatArray:
        """Return the values of every member, f_j for two classes, else f_jk.

        `member_predictions` has votes where voting is hard; these are what they are the
        signs of.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        f : array of shape (N, M) or (N, M, K)
        """
        X = self._check_X(X)
        wanted = np.arange(self._n_machines)
        f = in_blocks(
            X,
            len(wanted) * self._n_targets,
            lambda rows: self._outputs(rows, wanted),
        )
        return f[:, :, 0] if len(self.classes_) == 2 else f

    def _scores(self, X: Any) -> FloatArray:
        """Return s_k of all rows; soft votes come from the collapsed expansion."""
        X = self._check_X(X)
        if self.voting == "soft" or hasattr(self, "cells_"):
            return both_sides(self._expansion(X))
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
        if self.n_members == 1 and self.weigh_on in _SEEN:
            # One member has trained on every row: its own outputs are too sure.
            rows, f = leave_one_out(
                plan.gram, plan.rows.Y, alpha=self._option("alpha"), coupling=0.0
            )
            one = np.ones((len(rows), 1))
            return plan.rows.take(rows), self._voted(both_sides(f), one)
        support = self.support_members_
        f = both_sides(outputs[:, support])
        unseen = self._unseen(plan.drawn.weighing)[:, support]
        w = np.where(unseen, self.weights_[support], 0.0)
        unscored = w.sum(axis=1) <= 0
        # No row has members of positive weight that did not train on it: take all.
        if unscored.all():
            w[:] = self.weights_[support]
            unscored[:] = False
        f, w = f[~unscored], w[~unscored]
        # Scores of the same size as those of the whole ensemble, whose slope it is.
        w *= self.weights_.sum() / w.sum(axis=1, keepdims=True)
        return weighed.take(np.flatnonzero(~unscored)), self._voted(f, w)

    def _voted(self, f: FloatArray, w: FloatArray) -> FloatArray:
        """Return s_k of outputs (N, M, K) with weights (N, M)."""
        return _votes(f, w) if self.voting == "hard" else np.einsum("nm,nmk->nk", w, f)

    def _predictions(self, outputs: FloatArray) -> FloatArray:
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
