"""ROC curves of the members and of the committee."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import rankdata

from committee._typing import BoolArray, FloatArray
from committee._validation import check_predictions, check_targets
from committee.diagnostics.curves import roc
from committee.displays.sources import (
    classes_of,
    gate_weights_of,
    is_log_pool,
    predictions_of,
    weights_of,
)
from committee.displays.style import (
    BLACK,
    BLUE,
    GREY,
    Display,
    legend_inside,
    literal,
    thin,
    thin_lines,
)
from committee.predictions import combine

#: Points of a member's curve; the picture does not show more.
_MOST_POINTS = 400


class RocCommitteeDisplay(Display):
    """ROC curves: thin lines for the members, a thick one for the committee.

        AUC = mean over pairs (i, j) of [s_i > s_j] + 1/2 [s_i = s_j]
        se^2 = var_i(V_i) / n_1 + var_j(V_j) / n_0,    V the means over the other kind

    with i running over positive rows and j over the others (DeLong). It makes no
    assumption about how scores are distributed.

    Parameters
    ----------
    fpr, tpr : arrays of shape (n,)
        The committee's curve.
    auc, auc_se : float
        Its area and the standard error.
    member_curves : list of arrays of shape (n_m, 2), optional
        Pairs of fpr and tpr for each member.
    member_auc : array of shape (M,), optional
    pos_label : label, default=1
        The class that is positive.

    Attributes
    ----------
    fpr, tpr, auc, auc_se, member_curves, member_auc, pos_label
        As given.

    References
    ----------
    E. DeLong, D. DeLong, D. Clarke-Pearson. Comparing the areas under two or more
    correlated receiver operating characteristic curves. Biometrics 44(3), 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RocCommitteeDisplay
    >>> p = np.array([[0.2, 0.4], [0.6, 0.3], [0.5, 0.6], [0.9, 0.8]])
    >>> F = np.stack([1 - p, p], axis=2)
    >>> display = RocCommitteeDisplay.from_predictions(F, [0, 0, 1, 1])
    >>> display.auc, display.member_auc.tolist()
    (1.0, [0.75, 1.0])
    """

    def __init__(
        self,
        fpr: Any,
        tpr: Any,
        auc: float,
        auc_se: float,
        *,
        member_curves: Any = (),
        member_auc: Any = (),
        pos_label: Any = 1,
    ) -> None:
        self.fpr: FloatArray = np.asarray(fpr, dtype=np.float64)
        self.tpr: FloatArray = np.asarray(tpr, dtype=np.float64)
        self.auc, self.auc_se = auc, auc_se
        self.member_curves = list(member_curves)
        self.member_auc: FloatArray = np.asarray(member_auc, dtype=np.float64)
        self.pos_label = pos_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of a fitted committee, or of a list of classifiers.

        Members' curves are those of their values where the estimator has a
        `member_decision_function`, as coupled ones do: of a hard vote there would be one
        point. The committee's curve is that of its weighted votes.

        Parameters
        ----------
        estimator : committee of classifiers, or list of fitted classifiers
        X : array-like of shape (N, n_features)
            Rows that the members did not see.
        y : array-like of shape (N,)
            Their labels.
        pos_label : label, optional
            The second of two classes unless given; more classes need it.
        ax : matplotlib Axes, optional
        **kwargs
            For the committee's line.
        """
        F, codes = predictions_of(estimator, X, y)
        classes = np.asarray(classes_of(estimator)).tolist()
        G = gate_weights_of(estimator, X)
        w = weights_of(estimator) if G is None else G
        f = None
        if hasattr(estimator, "member_decision_function"):
            f = estimator.member_decision_function(X)
            f = np.stack([-f, f], axis=2) if f.ndim == 2 else f
        p = None
        if is_log_pool(estimator):  # p is no sum of F
            p = estimator.predict_proba(X)
        return cls._compute(F, codes, w, classes, pos_label, f, p).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        F: Any,
        y: Any,
        w: Any = None,
        *,
        pos_label: int | None = None,
        member_scores: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of members whose probabilities or votes are given.

        Parameters
        ----------
        F : array of shape (N, M, K)
        y : array of shape (N,)
            Class codes 0..K-1.
        w : array of shape (M,), optional
            Weights of the committee, equal ones unless given.
        pos_label : int, optional
            Code of the positive class: 1 for two classes unless given.
        member_scores : array of shape (N, M, K), optional
            Values that the votes F were made of, for the members' curves; F unless
            given.
        ax : matplotlib Axes, optional
        **kwargs
            For the committee's line.
        """
        F = check_predictions(F)
        codes, classes = check_targets(F, y), list(range(F.shape[-1]))
        f = None if member_scores is None else check_predictions(member_scores)
        return cls._compute(F, codes, w, classes, pos_label, f).plot(ax, **kwargs)

    @classmethod
    def _compute(
        cls,
        F: FloatArray,
        codes: Any,
        w: Any,
        classes: Any,
        pos_label: Any,
        f: FloatArray | None = None,
        p: FloatArray | None = None,
    ) -> Self:
        """Return the display of one class against the rest, not drawn yet.

        f are the values of the members, shaped like F, where votes are not, and p,
        (N, K), those of the committee, where its weighted sums are not.
        """
        f = F if f is None else f
        if f.shape != F.shape:
            raise ValueError(
                f"member_scores must have the shape of F, {F.shape}. Got {f.shape}."
            )
        if F.ndim != 3:
            raise ValueError(
                "A ROC curve is one of classes: F of shape (N, M, K). Got shape "
                f"{F.shape}."
            )
        if pos_label is None:
            if len(classes) != 2:
                raise ValueError(
                    f"With the {len(classes)} classes {classes[:10]} one must be "
                    "named as positive: pass pos_label."
                )
            pos_label = classes[1]
        if pos_label not in classes:
            raise ValueError(
                f"pos_label must be one of the classes {classes}. Got {pos_label!r}."
            )
        k = classes.index(pos_label)
        positive = codes == k
        if positive.all() or not positive.any():
            raise ValueError(
                "A ROC curve needs rows of the positive class and of another one. Got "
                f"{int(positive.sum())} positive rows of {len(positive)}."
            )
        w = np.full(F.shape[1], 1.0 / F.shape[1]) if w is None else w
        score = combine(F[..., k], w) if p is None else p[:, k]
        fpr, tpr = roc(positive, score).T
        auc, se = delong(positive, score)
        members = [roc(positive, s) for s in np.ascontiguousarray(f[..., k].T)]
        return cls(
            fpr,
            tpr,
            auc,
            se,
            member_curves=[curve[thin(len(curve), _MOST_POINTS)] for curve in members],
            member_auc=[np.trapezoid(tpr, fpr) for fpr, tpr in (c.T for c in members)],
            pos_label=pos_label,
        )

    def _figsize(self) -> tuple[float, float]:
        return 5.2, 5.0

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the members' curves, then the committee's over them."""
        ax.plot([0, 1], [0, 1], ls=":", color=GREY, lw=1, label="chance")
        M = len(self.member_curves)
        if M:
            best, mean = self.member_auc.max(), self.member_auc.mean()
            label = f"{M} members: AUC {mean:.3f} on average, {best:.3f} at best"
            thin_lines(ax, self.member_curves, BLUE, label)
        spread = "" if np.isnan(self.auc_se) else f" ± {self.auc_se:.3f}"
        label = f"committee: AUC {self.auc:.3f}{spread}"
        style = {"color": BLACK, "lw": 2.6, "label": label}
        ax.plot(self.fpr, self.tpr, **{**style, **kwargs})
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        kind = f"positive: {literal(self.pos_label)}"
        ax.set_xlabel(f"false positive rate ({kind})")
        ax.set_ylabel(f"true positive rate ({kind})")
        legend_inside(ax, "lower right")


def delong(positive: BoolArray, score: FloatArray) -> tuple[float, float]:
    """Return the area under the ROC curve and DeLong's standard error.

        AUC = mean_i V_i = mean_j V_j,    se^2 = var_i(V_i) / n_1 + var_j(V_j) / n_0

    V_i is the share of negative rows below the positive row i, V_j the share of positive
    rows above the negative row j, ties as halves. The error is nan for fewer than two
    rows of a kind.

    References
    ----------
    X. Sun, W. Xu. Fast implementation of DeLong's algorithm. IEEE Signal Processing
    Letters 21(11), 2014.
    """
    n1, n0 = int(positive.sum()), int((~positive).sum())
    rank = rankdata(score)
    # Sun and Xu: midranks among all, less those among one's own kind, count the
    # rows of the other kind that lie below, ties as halves.
    V1 = (rank[positive] - rankdata(score[positive])) / n0
    V0 = 1.0 - (rank[~positive] - rankdata(score[~positive])) / n1
    se = np.nan
    if min(n0, n1) > 1:
        se = float(np.sqrt(V1.var(ddof=1) / n1 + V0.var(ddof=1) / n0))
    return float(V1.mean()), se
