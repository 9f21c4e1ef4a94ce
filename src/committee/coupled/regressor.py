"""The coupled ensemble as a regressor, for one target or several."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from committee._typing import FloatArray
from committee._validation import fit_context
from committee.coupled.cell_uncertainty import CellIntervals
from committee.coupled.chunked_rows import rows_of
from committee.coupled.ensemble import CoupledEnsemble
from committee.coupled.rows import Rows, regression_rows
from committee.distributed import ScoreMixin, lazy_rows


def _target_axes(model: Any) -> tuple[int, ...]:
    return () if model._vector else (model._n_targets,)


class TargetsMixin(ScoreMixin, RegressorMixin):
    """A regressor of one target or several; its predictions are shaped like y."""

    _vector: bool
    dual_coef_: FloatArray

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return f, (N, T)."""

    @lazy_rows(tail=_target_axes)
    def predict(self, X: Any) -> FloatArray:
        """Return f.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        f : array of shape (N,) or (N, T)
        """
        f = self._scores(X)
        return f[:, 0] if self._vector else f

    def __sklearn_tags__(self) -> Any:
        """Take several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class CoupledKernelRegressor(CellIntervals, TargetsMixin, CoupledEnsemble):
    """Kernel submodels on disjoint subsets, trained jointly so that they agree.

        min  1/2 sum_j sum_{n in D_j} s_n (f_j(x_n) - y_n)^2 + alpha/2 sum_j ||a_j||^2
             + nu/2 sum_{j ~ k} ||f_j(X_c) - f_k(X_c)||^2

        f(x) = sum_j w_j f_j(x),    f_j(x) = a_j' k(S_j, x)

    Submodel j fits the targets of its own subset D_j with kernels on the points of
    S_j = (D_{j-1}, D_j, D_{j+1}), and is coupled with its two neighbours on points
    X_c that need no targets; s are the sample weights, or ones. At a fixed size of
    the subsets, time and memory grow linearly with the number of rows. There is no
    intercept: centre y.

    With `subsets="cells"` the subsets are the cells of a tree of balanced splits, a member
    knows its own region, and a row asks its own cell and, near a border, that behind it:

        min  sum_c [ sum_n s_n (f_c(x_n) - y_n)^2 + alpha ||f_c||^2 ]
             + nu sum_b (f_c(b) - f_d(b))^2,     f(x) = mean y + sum_c g_c(x) f_c(x)

    over points b on the border of cells c and d, with weights g continuous in x. With a
    trend t this is for y - t, and f has t added. Kernel, gamma, alpha and nu are chosen by
    leave-one-out unless given.

    Parameters
    ----------
    n_members : int, default=8
        q. One is the individual regularisation network, without coupling. Cells are
        as many as `max_cell` makes.
    subsets : {"random", "cells"}, default="random"
    max_cell : int, default=1000
        Rows in a cell at most; time to fit grows with its square, time to predict with it.
    metric : {"learned"}, optional
        For cells: learn in which directions the target moves, and let splits and
        kernels look at those; a second or two, on 2,000 rows. Where leave-one-out does
        not fall, the metric stays Euclidean.
    trend : bool, optional
        For cells: fit them to what a smooth trend over all rows leaves, a kernel machine on
        up to 300 points. None takes it where the leave-one-out error falls by two per cent
        or more, of 1,000 rows at least.
    gate : {"bcm", "grbcm"}, optional
        Combine members by their precision at x, as a Bayesian committee machine of Gaussian
        processes that are not coupled. With "grbcm" every member knows some rows of all
        regions as well, which makes it safe; "bcm" has none. Every member is asked about
        every row: an error that is often smaller, for predictions that are a hundred times
        slower.
    kernel : {"rbf", "linear", "polynomial", "laplacian", "exponential", "matern32", \
    "matern52"} or callable, optional
        A callable gets two arrays of points and returns their Gram block; it may
        be indefinite for random subsets. None takes "rbf", for cells whichever of "exponential",
        "matern32", "matern52" and "rbf" has the least leave-one-out error.
    gamma : float, optional
        Of the kernel: exp(-gamma ||x - z||^2). None takes one over the median of
        the squared distances, for cells what leave-one-out chooses.
    degree : float, default=3
    coef0 : float, default=1.0
        Of the polynomial, (gamma x'z + coef0)^degree.
    alpha : float, optional
        The ridge on the coefficients, 1 unless given; for cells that on ||f||^2, chosen
        by leave-one-out.
    coupling : float, optional
        nu, 1 unless given; for cells chosen by leave-one-out. Zero is the uncoupled
        ensemble. Negative values make submodels disagree; where the problem is no
        longer convex the error states the limit.
    coupling_set : {"train", "box"}, default="train"
        Draw X_c from the training rows, or uniformly from the box that they fill.
        `X_coupling` at fit takes its place.
    n_coupling : float or int, optional
        Number of coupling points, a float as a fraction of the training rows: 0.1 unless
        given. For cells, points on the borders of each, or a fraction of `max_cell`: 32.
    topology : {"ring", "chain"}, default="ring"
        A chain lacks the coupling of the last submodel with the first.
    overlap : bool, default=True
        False builds each submodel on its own subset alone, S_j = D_j (eq. 4).
    solver : {"direct", "cg"}, default="direct"
        Block Cholesky, or conjugate gradients with a third of its memory.
    allow_indefinite : bool, default=False
        Solve the equations also beyond the limit of a negative coupling, by block LU:
        what they give is a stationary point, not a minimum, and a warning has the limit.
        Only with `solver="direct"`.
    tol : float, default=1e-10
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=10000
        Of conjugate gradients.
    combiner : combiner or str, optional
        The second layer, `SimplexWeights()` unless given. Several targets share
        one weight for each member.
    weigh_on : {"train", "held-out"} or float, default="train"
        The rows to weigh on: the training rows, for each member those outside its
        subset, or a fraction of the rows that is split off. A member trained on one
        training row in q, so these flatter it little; the guide compares the two.
    n_weighing : int, optional
        Weigh on so many of these rows, drawn at random: max(1000, 2 q) unless given.
    precision : {"auto", "double"}, default="auto"
        Of cells. "auto" takes factors in single precision where their condition allows
        it, which moves predictions by a thousandth of the targets' spread at most, and
        predicts from some of a cell's points where these give the same function up to a
        twentieth of the leave-one-out error. "double" does neither.
    n_jobs : int, optional
        Threads for cells; the answer does not depend on it.
    random_state : int, RandomState or None
        Decides the subsets and everything drawn; for cells only the rows that all members
        of `gate="grbcm"` know.

    Attributes
    ----------
    subsets_ : list of arrays of row numbers
        D_j; not of Dask collections. With `gate="grbcm"` each has the rows that all know.
    members_ : list of KernelMember
        Each with `rows` (S_j), `coef` (a_j) and `predict(X)`, shaped like y.
    weights_ : array of shape (M,)
    support_members_ : array
        Members with a nonzero weight; the others cost nothing to predict.
    coupling_points_ : array of shape (n_c, n_features)
        X_c.
    dual_coef_ : array of shape (n_support, T)
        The ensemble as one expansion over the training rows `dual_rows_`.
    dual_rows_ : array of row numbers
    kernel_ : Kernel
        With the gamma that was used.
    combiner_ : combiner or None
        The fitted combiner.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for the direct solver.
    converged_ : bool
    n_features_in_ : int
    cells_ : CellModel, PartitionedModel or CommitteeMachine
        Of cells and gates only, and then in place of members, weights and dual coefficients:
        tree, points and coefficients of the cells. Those of Dask collections stay on the
        workers if they are more than 64 MB; `gather()` brings them here.
    alpha_, coupling_ : float
        Of cells and gates only, as what follows: what was given or chosen.
    trend_ : bool
        Whether cells are fitted around a trend.
    noise_ : float or array of shape (T,)
        The variance of a target around f.
    metric_ : array of shape (n_features, n_features) or None
        Distances are those of x'M x.
    loo_error_ : float
        Mean squared error of leave-one-out, on up to some 5,000 rows, with a gate 1,000.

    References
    ----------
    Hamers, Suykens and De Moor, Coupled transductive ensemble learning of kernel
    models (2003), with the corrections of the guide.
    Park and Apley, Patchwork kriging for large-scale Gaussian process regression (2018).
    Tresp, A Bayesian committee machine (2000). Liu, Cai, Wang and Ong, Generalized robust
    Bayesian committee machine for large-scale Gaussian process regression (2018).

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

    In cells, with everything chosen by leave-one-out:

    >>> cells = CoupledKernelRegressor(subsets="cells", max_cell=50).fit(X, y)
    >>> len(cells.subsets_), bool(cells.loo_error_ < 0.02)
    (4, True)
    """

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
        """Train the submodels together and weigh them.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            Dask collections are for `subsets="cells"`: rows go once to the worker of
            their cells, which are fitted there; the answer is that of memory.
        y : array-like of shape (N,) or (N, T), or a Dask collection
        sample_weight : array-like of shape (N,), optional, or a Dask collection
        X_coupling : array-like of shape (n_c, n_features), optional
            Points on which the submodels shall agree; the inputs to be predicted
            make the fit transductive. A Dask collection is computed. In a pipeline
            request it with `set_fit_request(X_coupling=True)` and transform it with the pipeline's
            `transform_input=["X_coupling"]`.
        subsets : sequence of n_members lists of row numbers, optional
            D_j, in the order of the ring or chain, instead of random ones; disjoint,
            rows in none are not used. They are numbers of rows of this X: a
            search by cross-validation cannot use them for its folds.

        Returns
        -------
        self
        """
        rows = rows_of(self, regression_rows, X, y, sample_weight)
        self._vector = rows.vector
        if self._in_cells:
            training, counted = self._train_cells(rows, X_coupling, subsets)
            self._keep_residuals(training, counted)
            return self
        assert isinstance(rows, Rows)
        self._train(self._prepare(rows, X_coupling, subsets))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return f, and of cells its standard deviation on request.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.
        return_std : bool, default=False
            Return also the standard deviation of f at each row, of the Gaussian process
            that one cell is; near borders it is not too small. That of a target has the
            variance `noise_` more. The cells that are asked are factorised again.

        Returns
        -------
        f : array of shape (N,) or (N, T)
        std : array of the same shape
            Only with `return_std`.
        """
        f: FloatArray = super().predict(X)
        return (f, self._std(X)) if return_std else f

    @property
    def noise_(self) -> Any:
        """The variance of a target around f, of cells; one for each of several targets."""
        noise = self._variance.noise
        return float(noise[0]) if self._vector else noise

    def _scores(self, X: Any) -> FloatArray:
        """Return sum_j w_j f_j by one expansion over the points that count, (N, T)."""
        return self._expansion(self._check_X(X))

    def _predictions(self, outputs: FloatArray) -> FloatArray:
        """Return (N T, M): every target is a row of its own."""
        # (N, M, T) -> (N, T, M) -> (N T, M)
        return np.moveaxis(outputs, 1, 2).reshape(-1, outputs.shape[1])

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        return outputs[:, :, 0] if self._vector else outputs
