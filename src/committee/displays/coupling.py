"""What the coupling does: submodels before and after, and the error against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from committee._typing import FloatArray
from committee._validation import check_predictions, check_targets
from committee.coupled import CoupledKernelClassifier, CoupledKernelRegressor
from committee.displays.measures import error_name, error_of
from committee.displays.sources import predictions_of
from committee.displays.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    Display,
    legend_above,
    thin,
    thin_lines,
)
from committee.predictions import combine

#: Points of a submodel's curve; the picture does not show more.
_MOST_POINTS = 1000

KINDS = ("submodels", "error")


class CouplingDisplay(Display):
    """Submodels before and after coupling, and errors against the coupling nu.

        member error(nu)   = mean_j error(f_j)
        ensemble error(nu) = error(sum_j w_j f_j)

    Parameters
    ----------
    couplings : array of shape (n,)
        nu, rising.
    member_error, ensemble_error : arrays of shape (n,)
    chosen : float, optional
        The coupling of "after": the one of least ensemble error unless given.
    x : array of shape (N,), optional
        The one input, for the curves of the submodels.
    before, after : arrays of shape (N, M), optional
        Submodels at the coupling nearest to zero, and at `chosen`.
    ensemble : array of shape (N,), optional
        Their weighted sum at `chosen`.
    error_name : str, default="error"

    Attributes
    ----------
    couplings, member_error, ensemble_error, chosen, x, before, after, ensemble
        As given; curves in the order of x.

    Examples
    --------
    >>> from committee import CouplingDisplay
    >>> display = CouplingDisplay([0.0, 1.0], [0.5, 0.2], [0.4, 0.1])
    >>> display.chosen
    1.0
    >>> display.plot(kind="error").ax_.get_xlabel()
    'coupling'
    """

    def __init__(
        self,
        couplings: Any,
        member_error: Any,
        ensemble_error: Any,
        *,
        chosen: float | None = None,
        x: Any = None,
        before: Any = None,
        after: Any = None,
        ensemble: Any = None,
        error_name: str = "error",
    ) -> None:
        self.couplings: FloatArray = np.asarray(couplings, dtype=np.float64)
        self.member_error: FloatArray = np.asarray(member_error, dtype=np.float64)
        self.ensemble_error: FloatArray = np.asarray(ensemble_error, dtype=np.float64)
        least = self.couplings[self.ensemble_error.argmin()]
        self.chosen = float(least if chosen is None else chosen)
        self.error_name = error_name
        self.x = self.before = self.after = self.ensemble = None
        if x is not None:
            rising = np.argsort(x, kind="stable")
            self.x = np.asarray(x, dtype=np.float64)[rising]
            self.before = np.asarray(before)[rising]
            self.after = np.asarray(after)[rising]
            self.ensemble = np.asarray(ensemble)[rising]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        couplings: Sequence[float] = (0.0, 0.01, 0.1, 1.0, 10.0),
        X_coupling: Any = None,
        kind: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit copies of a coupled ensemble with several couplings and draw them.

        Parameters
        ----------
        estimator : CoupledKernelRegressor or CoupledKernelClassifier
            Its own coupling is "after" and joins `couplings`, and so does 0. All copies
            have the same subsets.
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
        X_test, y_test : arrays, optional
            Rows to draw and to measure the error on, those of the fit unless given.
        couplings : sequence of float
        X_coupling : array-like of shape (n_c, n_features), optional
            As for the estimator's `fit`.
        kind : {"submodels", "error"}, optional
            What to draw; see `plot`.
        ax : matplotlib Axes, optional
        **kwargs
            For the line of the ensemble.
        """
        if not isinstance(estimator, (CoupledKernelRegressor, CoupledKernelClassifier)):
            raise TypeError(
                "The coupling is one of CoupledKernelRegressor and "
                f"CoupledKernelClassifier. Got {type(estimator).__name__}."
            )
        own = float(estimator.coupling)
        tried = np.unique([0.0, own, *couplings])
        X_test, y_test = (X, y) if X_test is None else (X_test, y_test)
        copies = _fit_copies(estimator, tried, X, y, X_coupling)
        found = [predictions_of(copy, X_test, y_test) for copy in copies]
        rows = np.asarray(X_test)
        return cls.from_predictions(
            [F for F, _ in found],
            found[0][1],
            tried,
            [copy.weights_ for copy in copies],
            chosen=own,
            x=rows[:, 0] if rows.shape[1] == 1 and found[0][0].ndim == 2 else None,
            kind=kind,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        F: Sequence[Any],
        y: Any,
        couplings: Any,
        w: Any = None,
        *,
        chosen: float | None = None,
        x: Any = None,
        kind: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw submodels whose predictions at several couplings are given.

        Parameters
        ----------
        F : sequence of n arrays of shape (N, M) or (N, M, K)
            One for each coupling.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        couplings : array of shape (n,)
        w : sequence of n arrays of shape (M,), optional
            Weights, equal ones unless given.
        chosen : float, optional
            The coupling of "after", the one of least ensemble error unless given.
        x : array of shape (N,), optional
            The one input, where there is one.
        kind : {"submodels", "error"}, optional
            What to draw; see `plot`.
        ax : matplotlib Axes, optional
        **kwargs
            For the line of the ensemble.
        """
        nu = np.asarray(couplings, dtype=np.float64)
        if len(F) != len(nu):
            raise ValueError(
                f"F must hold predictions for each of the {len(nu)} couplings. Got "
                f"{len(F)}."
            )
        slabs = [check_predictions(slab) for slab in F]
        y = check_targets(slabs[0], y)
        M = slabs[0].shape[1]
        w = [np.full(M, 1.0 / M)] * len(slabs) if w is None else list(w)
        ensemble = [combine(slab, v) for slab, v in zip(slabs, w, strict=True)]
        error = np.array([error_of(f, y) for f in ensemble])
        at = int(error.argmin() if chosen is None else np.abs(nu - chosen).argmin())
        zero = int(np.abs(nu).argmin())
        display = cls(
            nu,
            [np.mean([error_of(s[:, m], y) for m in range(M)]) for s in slabs],
            error,
            chosen=nu[at],
            x=x,
            before=slabs[zero],
            after=slabs[at],
            ensemble=ensemble[at],
            error_name=error_name(slabs[0]),
        )
        return display.plot(ax, kind=kind, **kwargs)

    def plot(self, ax: Any = None, *, kind: str | None = None, **kwargs: Any) -> Self:
        """Draw the submodels on their input, or the errors against the coupling.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure unless given.
        kind : {"submodels", "error"}, optional
            "submodels" needs regression on one input, and is drawn unless given
            where there is one.
        **kwargs
            For the line of the ensemble, as in `Axes.plot`.

        Returns
        -------
        self
        """
        if kind is None:
            kind = "error" if self.x is None else "submodels"
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}. Got {kind!r}.")
        if kind == "submodels" and self.x is None:
            raise ValueError(
                "Submodels are drawn for regression on one input; use kind='error'."
            )
        self._kind = kind
        return super().plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the kind of picture that was given to `plot`."""
        plots = {"error": self._plot_error, "submodels": self._plot_submodels}
        plots[self._kind](ax, kwargs)
        legend_above(ax)

    def _plot_submodels(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw every submodel before and after, and the ensemble."""
        assert self.x is not None
        assert self.before is not None
        assert self.after is not None
        assert self.ensemble is not None
        kept = thin(len(self.x), _MOST_POINTS)
        x, sides = self.x[kept], (self.before[kept].T, self.after[kept].T)
        before, after = ([np.column_stack([x, f]) for f in side] for side in sides)
        thin_lines(ax, before, ORANGE, "submodels, uncoupled", linestyles="--")
        thin_lines(ax, after, BLUE, f"submodels, coupling {self.chosen:g}")
        style = {"color": BLACK, "lw": 1.6, "label": "ensemble"}
        ax.plot(self.x, self.ensemble, **{**style, **kwargs})
        ax.set(xlabel="input", ylabel="prediction")

    def _plot_error(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw both errors on a scale that has a place for zero."""
        size = np.abs(self.couplings[self.couplings != 0])
        ax.set_xscale("symlog", linthresh=float(size.min()) if len(size) else 1.0)
        mean = {"color": ORANGE, "ls": "--", "marker": "s", "label": "mean submodel"}
        ax.plot(self.couplings, self.member_error, ms=4, **mean)
        style: dict[str, Any] = {
            "color": BLUE,
            "lw": 2.0,
            "marker": "o",
            "ms": 5,
            "label": "ensemble",
        }
        ax.plot(self.couplings, self.ensemble_error, **{**style, **kwargs})
        ax.axvline(self.chosen, color=GREY, lw=1, ls=(0, (1, 2)), label="chosen")
        ax.set(xlabel="coupling", ylabel=self.error_name)


def _fit_copies(
    estimator: Any, couplings: FloatArray, X: Any, y: Any, X_coupling: Any
) -> list[Any]:
    """Return copies fitted with each coupling, all with the same draws."""
    seed = estimator.random_state
    if not isinstance(seed, (int, np.integer)):
        seed = int(np.random.default_rng().integers(2**31))
    return [
        clone(estimator)
        .set_params(coupling=float(nu), random_state=seed)
        .fit(X, y, X_coupling=X_coupling)
        for nu in couplings
    ]
