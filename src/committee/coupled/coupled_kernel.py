"""Hamers' coupled ensemble: kernel submodels on disjoint subsets, trained together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import BoolArray, FloatArray, IntArray, RandomState
from committee._validation import (
    AT_LEAST_ONE,
    COUNT_OR_SHARE,
    Interval,
    StrOptions,
    check_size,
    fit_context,
)
from committee.combiner_names import as_combiner
from committee.coupled.gram import (
    GramBlocks,
    KernelMember,
    Layout,
    collapse,
    evaluate,
    member_outputs,
    threads_for,
)
from committee.coupled.kernel_machine import (
    RIDGE_CONSTRAINTS,
    KernelRegressorMixin,
    MemberMachine,
)
from committee.coupled.rows import (
    Rows,
    draw_coupling,
    draw_subsets,
    draw_weighing,
)
from committee.coupled.system import solve_coupled, solve_coupled_cg
from committee.diagnostics.correlation import scaled_error_correlation
from committee.distributed.collections import computed
from committee.kernels import Kernel, make_kernel
from committee.linalg import solve_simplex


class Plan(NamedTuple):
    """Checked rows and everything drawn; neither alpha nor the coupling changes it.

    `weighing` are the row numbers of the second layer.
    """

    rows: Rows
    gram: GramBlocks
    weighing: IntArray


@dataclass(eq=False, repr=False)
class CoupledKernel(MemberMachine):
    """Two layers: submodels that are trained together, and their weights."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RIDGE_CONSTRAINTS,
        "n_members": [AT_LEAST_ONE],
        "coupling": [Interval(Real, None, None, closed="neither")],
        "coupling_set": [StrOptions({"train", "centres", "box"})],
        "n_coupling": COUNT_OR_SHARE,
        "topology": [StrOptions({"ring", "chain"})],
        "overlap": ["boolean"],
        "solver": [StrOptions({"direct", "cg"})],
        "allow_indefinite": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [AT_LEAST_ONE],
        "combiner": "no_validation",  # as_combiner checks it
        "weigh_on": [StrOptions({"train", "held-out"})],
        "random_state": ["random_state"],
    }
    #: Whether the slope of a classifier needs the members' outputs.
    _has_slope: ClassVar[bool] = False
    _fitted_attribute = "weights_"

    kernel_: Kernel = field(init=False)
    subsets_: list[IntArray] = field(init=False)
    members_: list[KernelMember] = field(init=False)
    weights_: FloatArray = field(init=False)
    coupling_points_: FloatArray = field(init=False)
    combiner_: Any = field(init=False)
    dual_coef_: FloatArray = field(init=False)
    dual_rows_: IntArray = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)

    n_members: int = 8
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float | None = None
    alpha: float = 1.0
    coupling: float = 1.0
    coupling_set: str = "train"
    n_coupling: float = 0.1
    topology: str = "ring"
    overlap: bool = True
    solver: str = "direct"
    allow_indefinite: bool = False
    tol: float = 1e-10
    max_iter: int = 10_000
    combiner: Any = None
    weigh_on: str = "train"
    random_state: RandomState = None

    @property
    def support_members_(self) -> IntArray:
        """Indices of the members with a nonzero weight."""
        check_is_fitted(self, "weights_")
        return np.flatnonzero(self.weights_)

    @property
    def _n_members(self) -> int:
        """M."""
        return len(self.members_)

    @property
    def _n_targets(self) -> int:
        """T."""
        return int(self.dual_coef_.shape[1])

    def _predictions(self, outputs: FloatArray) -> FloatArray:
        """Return F for combiners, of the submodels' outputs (N, M, T)."""
        return self._member_view(outputs)

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
        """Train the submodels together, weigh them, and fit the slope of a classifier.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or (N, T) for regression
            Numbers, or labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        X_coupling : array-like of shape (n_c, n_features), default=None
            Points on which the submodels are coupled. Pass the rows to be predicted for
            a transductive fit. A Dask collection is computed. In a pipeline request it
            with `set_fit_request(X_coupling=True)` and transform it with the pipeline's
            `transform_input=["X_coupling"]`.
        subsets : sequence of n_members lists of row numbers, default=None
            Disjoint subsets D_j, in the order of the ring or chain, instead of random
            ones. Rows in none of them are not used. They refer to this X, so they
            cannot be used in cross-validation.

        Returns
        -------
        self
        """
        rows = self._target_rows(X, y, sample_weight)
        plan = self._prepare(rows, X_coupling, subsets)
        self._finish(plan, *self._train(plan))
        return self

    def _finish(self, plan: Plan, weighed: Rows, outputs: FloatArray | None) -> None:
        """Fit what follows both layers, given the rows of the second and outputs there."""

    def _prepare(
        self,
        table: Rows,
        X_coupling: Any,
        subsets: Any = None,
        *,
        keep: bool = False,
    ) -> Plan:
        """Draw everything that alpha and the coupling do not change."""
        X_coupling = self._check_coupling(X_coupling)
        rng = check_random_state(self.random_state)
        counted = table.counted()
        given = self._given_subsets(table, subsets, self.n_members)
        if given is not None:
            counted = np.sort(np.concatenate(given))
        self.kernel_ = make_kernel(self.kernel, table.X[counted], self.gamma)
        # Drawn also where subsets are given, so that later draws are the same.
        drawn = draw_subsets(counted, self.n_members, rng)
        self.subsets_ = drawn if given is None else given
        weighing = draw_weighing(counted, self.n_members, rng)
        if X_coupling is None:
            X_coupling = draw_coupling(
                table.X[counted], self.n_coupling, self.coupling_set, rng
            )
        self.coupling_points_ = X_coupling
        gram = GramBlocks(
            self.kernel_,
            table.X,
            self.subsets_,
            X_coupling,
            self._layout(),
            sample_weight=table.s,
            keep=keep,
        )
        return Plan(table, gram, weighing)

    def _train(self, plan: Plan) -> tuple[Rows, FloatArray | None]:
        """Train both layers; return the rows of the second and the outputs on them."""
        self._fitted = self._layout()
        weighed = plan.rows.take(plan.weighing)
        weighs = needs_rows(self.combiner, self.n_members)
        system: dict[str, Any] = {"alpha": self.alpha, "coupling": self.coupling}
        if self.solver == "cg":
            coef, self.n_iter_, self.converged_ = solve_coupled_cg(
                plan.gram, plan.rows.Y, **system, tol=self.tol, max_iter=self.max_iter
            )
        else:
            coef = solve_coupled(
                plan.gram, plan.rows.Y, **system, allow_indefinite=self.allow_indefinite
            )
            self.n_iter_, self.converged_ = 1, True
        vector = weighed.y.ndim == 1 and weighed.Y.shape[1] == 1
        self.members_ = [
            KernelMember(
                self.kernel_,
                plan.rows.X,
                plan.gram.support_rows(j),
                a[:, 0] if vector else a,
            )
            for j, a in enumerate(coef)
        ]
        F = outputs = None
        with threads_for(len(self.subsets_[0])):
            if weighs or self._has_slope:
                outputs = self._outputs(weighed.X)
            if weighs:
                F = self._predictions(outputs)  # type: ignore[arg-type]
            self.weights_ = self._weigh(F, weighed, plan.weighing)
        self.dual_rows_, self.dual_coef_ = collapse(self.members_, self.weights_)
        return weighed, outputs

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

    def _weigh(self, F: FloatArray | None, weighed: Rows, rows: IntArray) -> FloatArray:
        """Fit the second layer; return the weights, (M,).

        Parameters
        ----------
        F : array of shape (N, M), (N T, M) or (N, M, K), or None
            Predictions for the rows to weigh on; None where `needs_rows` is False.
        weighed : Rows
            These N rows.
        rows : array of shape (N,)
            Their numbers.
        """
        combiner = as_combiner(self.combiner, self.random_state)
        self.combiner_ = None if combiner is None else clone(combiner)
        if F is None:
            if self.combiner_ is None:
                return np.ones(1)
            # Only M matters to a combiner that needs no rows.
            one_row = np.zeros((1, self.n_members))
            return self.combiner_.fit(one_row, [0.0]).weights_  # type: ignore[no-any-return]
        repeats = len(F) // len(rows)  # a row of F for each target
        unseen = None
        if self.weigh_on == "held-out" and self.n_members > 1:
            unseen = np.repeat(unseen_rows(rows, self.subsets_), repeats, axis=0)
        weight = None if weighed.s is None else np.repeat(weighed.s, repeats)
        targets = weighed.y.reshape(-1)
        if self.combiner_ is None:
            correlation, _ = scaled_error_correlation(F, targets, unseen, weight)
            return solve_simplex(correlation)
        self.combiner_.fit(F, targets, held_out=unseen, sample_weight=weight)
        if getattr(self.combiner_, "floor_", None) is not None:
            raise ValueError(
                "A coupled ensemble sums the predictions of its members, and a log "
                "pool sums logarithms: use a combiner that averages, such as "
                "SimplexWeights."
            )
        if np.any(self.combiner_.offset):
            raise ValueError(
                "A coupled ensemble is a weighted sum of its members, and "
                f"{type(self.combiner_).__name__} adds an intercept: use a combiner "
                "without one, such as SimplexWeights."
            )
        return self.combiner_.weights_  # type: ignore[no-any-return]

    def _outputs(self, X: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """Return the outputs of the wanted members, default all, (N, len(wanted), T)."""
        if wanted is None:
            wanted = np.arange(self._n_members)
        return member_outputs(self.members_, X, self.subsets_, self._fitted, wanted)

    def _values(self, X: Any) -> FloatArray:
        """Return sum_j w_j f_j, (N, T), by one expansion over the points of all."""
        X = self._check_X(X)
        points = self.members_[0].X[self.dual_rows_]
        return evaluate(self.kernel_, X, points, self.dual_coef_)


def needs_rows(combiner: Any, n_members: int) -> bool:
    """Return whether the weights depend on predictions."""
    combiner = as_combiner(combiner)
    if combiner is None:
        return n_members > 1
    return bool(getattr(combiner, "needs_rows", True))


def unseen_rows(rows: IntArray, subsets: Sequence[IntArray]) -> BoolArray:
    """Return (n, M): True where the member was not trained on the row."""
    last = max(int(subset[-1]) for subset in (rows, *subsets))
    owner = np.empty(last + 1, dtype=np.intp)
    for j, subset in enumerate(subsets):
        owner[subset] = j
    unseen: BoolArray = owner[rows][:, None] != np.arange(len(subsets))
    return unseen


class CoupledKernelRegressor(KernelRegressorMixin, CoupledKernel):
    """Hamers' coupled ensemble: kernel submodels on disjoint subsets, trained jointly.

    It reproduces the paper and does not tune its settings. For predictions use
    `CellKernelRegressor`: it chooses kernel, width and regularisation, and has a
    smaller error in less time.

        min  1/2 sum_j sum_{n in D_j} s_n (f_j(x_n) - y_n)^2 + alpha/2 sum_j ||a_j||^2
             + nu/2 sum_{j ~ k} ||f_j(X_c) - f_k(X_c)||^2

        f(x) = sum_j w_j f_j(x),    f_j(x) = a_j' k(S_j, x)

    Submodel j fits the targets of its own subset D_j with kernels on the points of
    S_j = (D_{j-1}, D_j, D_{j+1}), and is coupled with its two neighbours on points
    X_c that need no targets; s are the sample weights, or ones. At a fixed size of
    the subsets, time and memory grow linearly with the number of rows. There is no
    intercept: centre y.

    Parameters
    ----------
    n_members : int, default=8
        Number q of submodels. One means a single regularisation network without
        coupling.
    kernel : str or callable, default="rbf"
        "rbf", "exponential", "matern32", "matern52", "linear" or a callable.
        A callable takes two arrays of points and returns their kernel matrix, which may
        be indefinite.
    gamma : float, default=None
        Kernel coefficient in exp(-gamma ||x - z||^2). None means 1 / the median of the
        squared distances.
    alpha : float, default=1.0
        Regularisation strength: factor of the squared coefficients.
    coupling : float, default=1.0
        Coupling strength nu. Zero leaves the submodels uncoupled; negative values make
        them disagree. If the problem is no longer convex, `fit` raises an error that
        states the limit.
    coupling_set : {"train", "centres", "box"}, default="train"
        How to choose X_c: random training rows, k-means centres of the training rows,
        or uniform points in their bounding box. `X_coupling`, passed to `fit`,
        overrides it.
    n_coupling : float or int, default=0.1
        Number of coupling points, or a fraction of the number of training rows.
    topology : {"ring", "chain"}, default="ring"
        In a ring the last submodel is coupled with the first, in a chain it is not.
    overlap : bool, default=True
        If False, each submodel uses only its own subset, S_j = D_j (eq. 4).
    solver : {"direct", "cg"}, default="direct"
        Block Cholesky, or conjugate gradients, which need a third of the memory.
    allow_indefinite : bool, default=False
        Whether to solve the equations beyond the limit of a negative coupling, by block
        LU. The solution is then a stationary point, not a minimum, and a warning states
        the limit. Only with `solver="direct"`.
    tol : float, default=1e-10
        Relative residual at which the conjugate gradient iterations stop.
    max_iter : int, default=10000
        Maximum number of conjugate gradient iterations.
    combiner : combiner or str, default=None
        Combiner that weighs the members; None means `SimplexWeights()`. With several
        targets, each member has one weight for all of them.
    weigh_on : {"train", "held-out"}, default="train"
        Rows to weigh the members on: at most max(1000, 2 q) training rows, or, for each
        member, those among them that are outside its subset. A member is trained on one
        row in q, so its errors on training rows are only slightly too small. The guide
        compares the two.
    random_state : int, RandomState instance or None, default=None
        Controls the subsets and all other random choices. Pass an int for reproducible
        results.

    Attributes
    ----------
    subsets_ : list of arrays of row numbers
        D_j.
    members_ : list of KernelMember
        Each with `rows` (S_j), `coef` (a_j) and `predict(X)`, shaped like y.
    weights_ : array of shape (M,)
    support_members_ : array
        Indices of the members with a nonzero weight. Only these are evaluated in
        `predict`.
    coupling_points_ : array of shape (n_c, n_features)
        X_c.
    dual_coef_ : array of shape (n_support, T)
        Coefficients of the ensemble as one expansion over the training rows
        `dual_rows_`.
    dual_rows_ : array of row numbers
    kernel_ : Kernel
        The kernel, with the value of gamma used.
    combiner_ : combiner or None
        The fitted combiner.
    n_iter_ : int
        Number of conjugate gradient iterations; 1 for the direct solver.
    converged_ : bool
    n_features_in_ : int

    See Also
    --------
    CellKernelRegressor : Recommended for predictions: it chooses its settings, predicts
        intervals, and takes many rows and Dask collections.

    References
    ----------
    Hamers, Suykens and De Moor, Coupled transductive ensemble learning of kernel
    models (2003), with the corrections of the guide.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CoupledKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    >>> X_new = np.linspace(-3, 3, 50)[:, None]
    >>> model = CoupledKernelRegressor(8, alpha=0.1, random_state=0)
    >>> model = model.fit(X, y, X_coupling=X_new)
    >>> bool(np.abs(model.predict(X_new) - np.sin(X_new[:, 0])).max() < 0.15)
    True
    """

    def _predictions(self, outputs: FloatArray) -> FloatArray:
        """Return (N T, M): every target is a row of its own."""
        # (N, M, T) -> (N, T, M) -> (N T, M)
        return np.moveaxis(outputs, 1, 2).reshape(-1, outputs.shape[1])
