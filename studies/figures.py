"""Pictures that the three texts print and that the library does not need."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.combiners import MCMCPruner
from committee.diagnostics.curves import roc
from committee.displays.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    legend_above,
    show_faint,
    thin,
)
from committee.losses import area_under_curve

#: Draws and points of a curve that are drawn, at most.
_MOST_DRAWS, _MOST_POINTS = 1500, 400


def draw_roc_curves(ax: Any, positive: BoolArray, f: FloatArray, score: Any) -> None:
    """Draw ROC curves of the members, thin, and of the committee, thick.

    Parameters
    ----------
    ax : matplotlib Axes
    positive : bool array of shape (N,)
    f : array of shape (N, M)
        Scores of the members for the positive class.
    score : array of shape (N,)
        Scores of the committee.
    """
    curves = [roc(positive, f_m) for f_m in np.ascontiguousarray(f.T)]
    areas = [np.trapezoid(tpr, fpr) for fpr, tpr in (c.T for c in curves)]
    label: str | None = f"{len(curves)} members: AUC {np.mean(areas):.3f} on average, "
    label = f"{label}{np.max(areas):.3f} at best"
    ax.plot([0, 1], [0, 1], ls=":", color=GREY, lw=1, label="chance")
    style = {"color": BLUE, "lw": 0.7, "alpha": max(0.06, 0.75 / len(curves) ** 0.5)}
    for curve in curves:
        x, y = curve[thin(len(curve), _MOST_POINTS)].T
        ax.plot(x, y, label=label, **style)
        label = None
    area = area_under_curve(positive, score)
    label = f"committee: AUC {area.value:.3f} ± {area.se:.3f}"
    ax.plot(*roc(positive, score).T, color=BLACK, lw=2.6, label=label)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    legend_above(ax)
    show_faint(ax.get_legend())


def principal_axes(cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two axes of largest variance, (2, a), and the variances along them.

        V = U diag(l) U',   l_1 >= l_2 >= ...

    The largest entry of an axis is positive.
    """
    # eigh sorts upwards: the two widest directions are the last two columns.
    variance, directions = np.linalg.eigh(cov)
    axes = directions[:, :-3:-1].T
    largest = np.abs(axes).argmax(axis=1)
    return axes * np.sign(axes[[0, 1], largest])[:, None], variance[:-3:-1]


def ellipse(variance: FloatArray, mass: float) -> FloatArray:
    """Return points around the given mass of a Gaussian in the plane, (2, n)."""
    # The squared radius is chi-square with two degrees of freedom.
    radius = np.sqrt(-2.0 * np.log1p(-mass))
    angle = np.linspace(0.0, 2 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(radius * np.sqrt(variance)[:, None] * circle)


def draw_posterior(ax: Any, sampler: MCMCPruner) -> None:
    """Draw EP's Gaussian as ellipses over exact draws, on its two widest axes.

    z = (u_1, u_2)'(w - mean)
    """
    step = sampler.posterior_
    draws = sampler.samples_.reshape(-1, len(step.active)) - step.weights[step.active]
    axes, variance = principal_axes(step.cov)
    z = draws @ axes.T
    shown = z[thin(len(z), _MOST_DRAWS)]
    style = {"s": 5, "color": GREY, "alpha": 0.35, "linewidths": 0, "rasterized": True}
    ax.scatter(*shown.T, label=f"{len(z)} exact draws", **style)
    ax.plot(*z.mean(axis=0), "x", color=BLACK, ms=9, mew=2, label="their mean")
    for mass, line in ((0.5, "--"), (0.95, "-")):
        label = f"EP, {mass:.0%} of its mass"
        ax.plot(*ellipse(variance, mass), line, color=VERMILION, lw=1.8, label=label)
    ax.plot(0.0, 0.0, "+", color=VERMILION, ms=11, mew=2, label="mean of EP")
    share = variance.sum() / np.trace(step.cov)
    ax.set_xlabel(f"first principal axis (both: {share:.0%} of the variance)")
    ax.set_ylabel("second principal axis")
    legend_above(ax)


def draw_held_out(ax: Any, held_out: BoolArray) -> None:
    """Draw which rows each member leaves out: rows across, members downwards.

    Rows that the first members leave out come first, so that parts of a split are blocks.

    Parameters
    ----------
    ax : matplotlib Axes
    held_out : bool array of shape (N, M)
    """
    order = np.lexsort((~held_out).T[::-1])
    ax.imshow(held_out[order].T, aspect="auto", interpolation="nearest", cmap="Blues")
    ax.set(xlabel="rows (dark: left out)", ylabel="member")
