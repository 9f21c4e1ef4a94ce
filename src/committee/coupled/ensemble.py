"""What coupled regressors and classifiers share: subsets, coupling points, two layers."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import BoolArray, FloatArray, IntArray, RandomState
from committee._validation import HasMethods, Interval, StrOptions
from committee.combiner_names import as_combiner
from committee.coupled.expansion import (
    KernelMember,
    collapse,
    evaluate,
    in_blocks,
    member_outputs,
)
from committee.coupled.gram import Layout, threads_for
from committee.coupled.in_cells import InCells
from committee.coupled.rows import Drawn, Options, Plan, Rows
from committee.coupled.sampling import (
    check_subsets,
    draw_coupling,
    draw_subsets,
    draw_weighing,
    kernel_rows,
    split_rows,
)
from committee.diagnostics.correlation import scaled_error_correlation
from committee.distributed import computed, lazy_rows
from committee.kernels import KERNELS, Kernel, check_size, make_kernel
from committee.linalg import solve_simplex

#: What every kernel machine here takes: a kernel and a ridge.
RIDGE_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "alpha": [Interval(Real, 0, None, closed="neither")],
}


def _member_axes(model: CoupledEnsemble) -> tuple[int, ...]:
    one_row = np.zeros((1, model._n_machines, model._n_targets))
    return model._member_view(one_row).shape[1:]


class CoupledEnsemble(InCells, BaseEstimator):
    """Base of the coupled estimators: a first layer of submodels, a second of weights."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RIDGE_CONSTRAINTS,
        "kernel": [*RIDGE_CONSTRAINTS["kernel"], None],
        "alpha": [*RIDGE_CONSTRAINTS["alpha"], None],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "subsets": [StrOptions({"random", "cells"})],
        "max_cell": [Interval(Integral, 2, None, closed="left")],
        "metric": [StrOptions({"learned"}), None],
        "trend": ["boolean", None],
        "gate": [StrOptions({"bcm", "grbcm"}), None],
        "precision": [StrOptions({"auto", "double"})],
        "n_jobs": [Integral, None],
        "coupling": [Interval(Real, None, None, closed="neither"), None],
        "coupling_set": [StrOptions({"train", "box"})],
        "n_coupling": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "topology": [StrOptions({"ring", "chain"})],
        "overlap": ["boolean"],
        "solver": [StrOptions({"direct", "cg"})],
        "allow_indefinite": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "combiner": [HasMethods(["fit", "combine"]), str, None],
        "weigh_on": [
            StrOptions({"train", "held-out"}),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "n_weighing": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    #: Whether a link is fitted to the members' outputs.
    _links: ClassVar[bool] = False

    #: Files of versions without these options have no values of their own.
    allow_indefinite: bool = False
    subsets: str = "random"
    max_cell: int = 1000
    metric: str | None = None
    trend: bool | None = None
    gate: str | None = None
    precision: str = "auto"
    n_jobs: int | None = None

    kernel_: Kernel
    subsets_: list[IntArray]
    members_: list[KernelMember]
    weights_: FloatArray
    coupling_points_: FloatArray
    combiner_: Any
    dual_coef_: FloatArray
    dual_rows_: IntArray
    n_iter_: int
    converged_: bool

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
    ) -> None:
        self.n_members = n_members
        self.subsets = subsets
        self.max_cell = max_cell
        self.metric = metric
        self.trend = trend
        self.gate = gate
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.coupling = coupling
        self.coupling_set = coupling_set
        self.n_coupling = n_coupling
        self.topology = topology
        self.overlap = overlap
        self.solver = solver
        self.allow_indefinite = allow_indefinite
        self.tol = tol
        self.max_iter = max_iter
        self.combiner = combiner
        self.weigh_on = weigh_on
        self.n_weighing = n_weighing
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def support_members_(self) -> IntArray:
        """Members with a nonzero weight; only these cost anything to predict."""
        check_is_fitted(self, "weights_")
        return np.flatnonzero(self.weights_)

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return the ensemble's outputs, (N, T) or (N, K)."""

    @abstractmethod
    def _predictions(self, outputs: FloatArray) -> FloatArray:
        """Return F of the submodels' outputs, (N, M, T)."""

    def _prepare(
        self,
        table: Rows,
        X_coupling: Any,
        subsets: Any = None,
        *,
        keep: bool = False,
    ) -> Plan:
        """Draw everything that alpha and the coupling do not change."""
        # A fit that fails must not leave the weights of the one before.
        self.__dict__.pop("weights_", None)
        self.__dict__.pop("cells_", None)
        self._refuse_cell_options()
        X_coupling = self._check_coupling(X_coupling)
        rng = check_random_state(self.random_state)
        counted = table.counted()
        given = None
        if subsets is not None:
            given = check_subsets(subsets, self.n_members, table.n_rows, counted)
            self._refuse_fraction()
            counted = np.sort(np.concatenate(given))
        rows, split_off = split_rows(counted, self.weigh_on, self.n_members, rng)
        self.kernel_ = make_kernel(
            self._option("kernel"),
            table.take(kernel_rows(rows)).X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )
        # Always drawn: what is drawn later is then that of the same subsets drawn.
        drawn_subsets = draw_subsets(rows, self.n_members, rng)
        self.subsets_ = drawn_subsets if given is None else given
        weighing = draw_weighing(
            rows if split_off is None else split_off,
            self.n_weighing,
            self.n_members,
            rng,
        )
        if X_coupling is None:
            X_coupling = draw_coupling(
                table, rows, self._option("n_coupling"), self.coupling_set, rng
            )
        self.coupling_points_ = X_coupling
        drawn = Drawn(self.kernel_, self.subsets_, X_coupling, self._layout(), weighing)
        return table.plan(drawn, keep=keep)

    def _refuse_fraction(self) -> None:
        """Refuse to split rows off the subsets that were given."""
        fraction = not isinstance(self.weigh_on, str)
        if fraction:
            raise ValueError(
                f"weigh_on={self.weigh_on:g} splits rows off before subsets are drawn: "
                'with subsets at fit give "train" or "held-out".'
            )

    def _train(self, plan: Plan) -> tuple[Rows, FloatArray | None]:
        """Train both layers; return the rows of the second and the outputs on them."""
        self._fitted = self._layout()
        weighing = plan.drawn.weighing
        weighed = plan.rows.take(weighing)
        evaluates = self._needs_rows() or self._links
        options = Options(
            alpha=self._option("alpha"),
            coupling=self._option("coupling"),
            solver=self.solver,  # type: ignore[typeddict-item]
            tol=self.tol,
            max_iter=self.max_iter,
            allow_indefinite=self.allow_indefinite,
        )
        solution, outputs = plan.solve(weighed.X if evaluates else None, options)
        vector = weighed.y.ndim == 1 and weighed.Y.shape[1] == 1
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        X = plan.rows.X
        self.members_ = [
            KernelMember(
                self.kernel_, X, self._support_rows(j), a[:, 0] if vector else a
            )
            for j, a in enumerate(solution.coef)
        ]
        F = None
        if self._needs_rows():
            assert outputs is not None
            F = self._predictions(outputs)
        with threads_for(len(self.subsets_[0])):
            self.weights_ = self._weigh(F, weighed, weighing)
        self.dual_rows_, self.dual_coef_ = collapse(self.members_, self.weights_)
        return weighed, outputs

    def _support_rows(self, j: int) -> IntArray:
        """Return the row numbers of S_j."""
        return np.concatenate([self.subsets_[i] for i in self._fitted.support(j)])

    def _layout(self) -> Layout:
        return Layout(self.n_members, self.topology, self.overlap)  # type: ignore[arg-type]

    def _check_coupling(self, X_coupling: Any) -> FloatArray | None:
        """Return the given coupling points as an array as wide as X, or None."""
        if X_coupling is None:
            return None
        (X_coupling,) = computed(X_coupling)
        points = check_array(X_coupling, dtype=np.float64, input_name="X_coupling")
        check_size(points, "X_coupling")
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X_coupling must have the {self.n_features_in_} columns of X. Got "
                f"{points.shape[1]}."
            )
        validate_data(self, X_coupling, reset=False, skip_check_array=True)
        return points  # type: ignore[no-any-return]

    def _needs_rows(self) -> bool:
        """Return whether the second layer needs predictions."""
        combiner = as_combiner(self.combiner)
        if combiner is None:
            return self.n_members > 1
        return getattr(combiner, "needs_rows", True)

    def _weigh(self, F: FloatArray | None, weighed: Rows, rows: IntArray) -> FloatArray:
        """Fit the second layer on F of the rows to weigh on; return the weights."""
        M = self.n_members
        combiner = as_combiner(self.combiner, self.random_state)
        self.combiner_ = None if combiner is None else clone(combiner)
        if F is None:
            if self.combiner_ is None:
                return np.ones(1)
            # Only M matters to a combiner that needs no rows.
            weights: FloatArray = self.combiner_.fit(np.zeros((1, M)), [0.0]).weights_
            return weights
        repeats = len(F) // len(rows)  # one row of F for each target
        targets = weighed.y.reshape(-1)
        weight = None if weighed.s is None else np.repeat(weighed.s, repeats)
        held_out = None
        if self.weigh_on == "held-out" and M > 1:
            held_out = np.repeat(self._unseen(rows), repeats, axis=0)
        if self.combiner_ is None:
            C, _ = scaled_error_correlation(F, targets, held_out, weight)
            return solve_simplex(C)
        self.combiner_.fit(F, targets, held_out=held_out, sample_weight=weight)
        if getattr(self.combiner_, "floor_", None) is not None:
            raise ValueError(
                "A coupled ensemble adds up what its members predict, and a log pool their "
                "logarithms: take a combiner that averages, such as SimplexWeights."
            )
        return self.combiner_.weights_  # type: ignore[no-any-return]

    def _unseen(self, rows: IntArray) -> BoolArray:
        """Return (n, M): True where the member did not train on the row."""
        last = max(int(subset[-1]) for subset in (rows, *self.subsets_))
        owner = np.full(last + 1, -1)  # -1: rows that were split off
        for j, subset in enumerate(self.subsets_):
            owner[subset] = j
        unseen: BoolArray = owner[rows][:, None] != np.arange(len(self.subsets_))
        return unseen

    def _outputs(self, X: FloatArray, wanted: IntArray) -> FloatArray:
        """Return the outputs of the wanted members, (N, len(wanted), T)."""
        if hasattr(self, "cells_"):
            return self._all_cells(X)[:, wanted]
        return member_outputs(self.members_, X, self.subsets_, self._fitted, wanted)

    def _expansion(self, X: FloatArray) -> FloatArray:
        """Return sum_j w_j f_j, (N, T)."""
        if hasattr(self, "cells_"):
            return self.cells_.predict(self._turned(X), self.n_jobs)
        points = self.members_[0].X[self.dual_rows_]
        return evaluate(self.kernel_, X, points, self.dual_coef_)

    def _check_X(self, X: Any) -> FloatArray:
        """Return the rows to predict, once fitted."""
        check_is_fitted(self, ["weights_", "cells_"], all_or_any=any)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        check_size(X, "X")
        return X  # type: ignore[no-any-return]

    @lazy_rows(tail=_member_axes)
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every member.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.
        n_jobs : int, optional
            Not used: BLAS runs the threads.

        Returns
        -------
        F : array of shape (N, M) or (N, M, K)
            For several targets (N, M, T).
        """
        X = self._check_X(X)
        wanted = np.arange(self._n_machines)
        return in_blocks(
            X,
            len(wanted) * self._n_targets,
            lambda rows: self._member_view(self._outputs(rows, wanted)),
        )

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        """Return F as the user sees it."""
        return self._predictions(outputs)
