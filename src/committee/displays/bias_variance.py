"""Noise, bias and variance as bars: what a committee takes off, and what it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.displays.style import (
    BLUE,
    GREY,
    ORANGE,
    Display,
    check_names,
    legend_above,
)
from committee.training_sets import BiasVariance, Terms, bias_variance

_COLOURS = {"noise": GREY, "bias": ORANGE, "variance": BLUE}


class BiasVarianceDisplay(Display):
    """Stacked bars of the terms of the error, one for each model.

    Parameters
    ----------
    terms : list of Terms
        `committee` and `members` of what `bias_variance` returns.
    names : list of str

    Attributes
    ----------
    terms, names
        As given.

    Examples
    --------
    >>> from committee import BiasVarianceDisplay
    >>> from committee.training_sets import Terms
    >>> display = BiasVarianceDisplay([Terms(3.0, 1.0, 0.5, 1.5)], ["a tree"])
    >>> display.names
    ['a tree']
    """

    def __init__(self, terms: list[Terms], names: Any) -> None:
        self.terms = list(terms)
        self.names = check_names(names, len(self.terms), "models")

    @classmethod
    def from_result(cls, found: BiasVariance, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw a result: its members, where they are known, beside the committee.

        Parameters
        ----------
        found : BiasVariance
        ax : matplotlib Axes, optional
        **kwargs
            For the bars.
        """
        if found.members is None:
            return cls([found.committee], ["model"]).plot(ax, **kwargs)
        terms = [found.members, found.committee]
        return cls(terms, ["member", "committee"]).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        training: Any,
        X: Any,
        y: Any,
        *,
        ax: Any = None,
        **options: Any,
    ) -> Any:
        """Train on many sets and draw the result; options as of `bias_variance`."""
        return cls.from_result(
            bias_variance(estimator, training, X, y, **options), ax=ax
        )

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the terms on top of each other."""
        places = np.arange(len(self.terms))
        foot: FloatArray = np.zeros(len(places))
        for name, colour in _COLOURS.items():
            if any(getattr(terms, name) is None for terms in self.terms):
                continue
            # A bias that is estimated below zero has no bar.
            height = np.array([max(getattr(terms, name), 0.0) for terms in self.terms])
            label = name
            if name == "bias":
                known = self.terms[0].noise is not None
                label = "squared bias" if known else "squared bias and noise"
            style = {"color": colour, "width": 0.6, **kwargs}
            ax.bar(places, height, bottom=foot, label=label, **style)
            foot = foot + height
        ax.set_xticks(places, self.names)
        ax.set(ylabel="mean squared error")
        legend_above(ax)
