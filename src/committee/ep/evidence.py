"""The evidence sequence: which members, and how strongly, by marginal likelihood.

After Tipping and Faul (2003) and Chen 3.5, 3.6, with one objective throughout:

    J(alpha) = log Z(alpha) - price x (number of members)
"""

from __future__ import annotations

from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee._validation import check_sample_weight
from committee.ep.arrays import check_group, check_rows, check_targets, signed_scale
from committee.ep.likelihood import GaussianLikelihood, Likelihood, ProbitLikelihood
from committee.ep.loo import Loss
from committee.ep.probit_rows import ProbitRows, SweptRows
from committee.ep.sequence import Callback, EvidenceSequence, PrintedSequence, Rule, run
from committee.ep.targets import Moments, TargetRows, Targets, row_moments
from committee.path import Path

#: Default of the log evidence that a member has to bring: half of the log 2
#: that its prior gains by being one-sided. At 0 every member with u > 0 stays.
PRICE = 0.5 * float(np.log(2.0))


Sequence = Literal["fast", "printed"]


class SequenceOptions(TypedDict, total=False):
    """SequenceOptions of the sequence.

    Parameters
    ----------
    sequence : {"fast", "printed"}, default="fast"
        Many moves at once that raise log Z less the price, or one at a time as Chen,
        Tino and Yao print it, without a price (see `PrintedSequence`).
    truncated : bool, default=True
        False for ARD: no truncation, weights of any sign.
    price : float, optional
        Log evidence that a member has to bring; default: half of log 2 with truncation
        and 0 without.
    max_members : int, optional
        The largest committee; the sequence fills it and goes on re-estimating.
    max_iter : int, default=200
        Most steps.
    tol : float, default=1e-4
        Two steps in a row that raise the objective by less than `tol` per row end
        the sequence.
    callback : callable, optional
        Called with each PathStep as it is made.
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}, optional
        Settle the step that this rule prefers: on the way moments agree to a
        hundredth of a standard deviation only, and on separable rows not even that.
    """

    sequence: Sequence
    truncated: bool
    price: float | None
    max_members: int | None
    max_iter: int
    tol: float
    callback: Callback | None
    rule: Rule | None


def classification_path(
    S: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: int = 1,
    **options: Unpack[SequenceOptions],
) -> Path:
    """Raise log Z - price x size of probit votes, from no member upwards.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   p(y_n | w) = Phi(w'S_n)

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows S_n = y_n F_n, y_n = -1 or 1; 0 where a member abstains. For K
        classes the K - 1 rows F[n, :, y_n] - F[n, :, k] of a case follow each other.
    sample_weight : array of shape (N,), optional
        Row weights, as powers of the terms.
    group : int
        Consecutive rows that make one case and share its weight; the case is wrong
        if one of them is.
    **options
        See `SequenceOptions`.

    Returns
    -------
    Path
        At least one step: if no member is worth its price, the best single one.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import classification_path, preferred
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((300, 20)) < 0.7, 1.0, -1.0)
    >>> S[:, 10:] = S[:, :10]
    >>> step = preferred(classification_path(S).steps, "min-loo")
    >>> step.size <= 10, bool((step.weights >= 0).all())
    (True, True)
    """
    S = check_rows(S, "S")
    weight = check_sample_weight(sample_weight, S)
    check_group(group, len(S))
    S, scale = signed_scale(S)
    return votes_path(ProbitRows(S, weight, group), unit=1.0 / scale, **options)


def votes_path(
    rows: SweptRows,
    *,
    unit: FloatArray | None = None,
    **options: Unpack[SequenceOptions],
) -> Path:
    """Run `classification_path` on `ProbitRows`, `ChunkedProbitRows` or `RecordedRows`.

    `unit` of shape (M,) is the factor from weights of these rows to the weights that
    are reported.
    """
    with one_thread():
        return _path(ProbitLikelihood(rows, unit=unit), options)


def regression_path(
    F: ArrayLike,
    y: ArrayLike,
    *,
    noise: float | None = None,
    sample_weight: ArrayLike | None = None,
    loss: Loss | None = None,
    **options: Unpack[SequenceOptions],
) -> Path:
    """Raise log Z - price x size under Gaussian noise, from no member upwards.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   y_n = w'F_n + N(0, noise)

    Parameters
    ----------
    F : array of shape (N, M)
        Predictions.
    y : array of shape (N,)
        Targets.
    noise : float, optional
        Noise variance. Default: learned along the path.
    sample_weight : array of shape (N,), optional
        Row weights.
    loss : callable, optional
        Maps the N leave-one-out predictions to the losses of the cases, N or N / K of
        them. Default: squared error.
    **options
        See `SequenceOptions`.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import preferred, regression_path
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 4)) * [0.3, 0.3, 3.0, 3.0]
    >>> preferred(regression_path(F, y).steps).active
    array([0, 1])
    """
    F, y = check_targets(F, y)
    weight = check_sample_weight(sample_weight, F)
    with one_thread():
        moments = row_moments(F, y, weight)
    rows = Targets(F, y, weight, loss)
    return moments_path(moments, rows=rows, noise=noise, **options)


def moments_path(
    moments: Moments,
    *,
    rows: TargetRows | None = None,
    noise: float | None = None,
    **options: Unpack[SequenceOptions],
) -> Path:
    """Run `regression_path` from moments, whose G must be positive semi-definite.

    `rows` are `Targets` or `ChunkedTargets`, to leave out one by one; without them the
    leave-one-out error is the generalised cross-validation of the moments.
    """
    likelihood = GaussianLikelihood(
        moments,
        None if noise is None else noise / moments.y_scale / moments.y_scale,
        rows=rows,
        truncated=options.get("truncated", True),
    )
    with one_thread():
        return _path(likelihood, options)


def _path(likelihood: Likelihood, options: SequenceOptions) -> Path:
    most, tol = options.get("max_members"), options.get("tol", 1e-4)
    if most is not None and most < 1:
        raise ValueError(f"max_members must be at least 1. Got {most}.")
    room = len(likelihood.unit) if most is None else most
    return run(
        _sequence(likelihood, options, room, tol),
        max_iter=options.get("max_iter", 200),
        tol=tol,
        callback=options.get("callback"),
        rule=options.get("rule"),
    )


def _sequence(
    likelihood: Likelihood, options: SequenceOptions, room: int, tol: float
) -> EvidenceSequence:
    """Return the control loop that the options ask for."""
    truncated, price = options.get("truncated", True), options.get("price")
    if options.get("sequence", "fast") == "fast":
        if price is None:
            price = PRICE if truncated else 0.0
        return EvidenceSequence(likelihood, truncated=truncated, price=price, room=room)
    if price is not None or not truncated:
        raise ValueError(
            "sequence='printed' has truncated weights and no price; leave out "
            "'truncated' and 'price', or take sequence='fast'."
        )
    return PrintedSequence(likelihood, room=room, least=tol * likelihood.n_rows)
