"""How errors and scores are written: in one way all over the page."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

from committee._format import figures

#: Significant digits of what is not a share.
_DIGITS = 4


@dataclass(frozen=True)
class NumberFormat:
    """So many decimals of a number times `scale`, and a unit.

    Numbers that would need too many places have significant digits: `decimals` is None.

    Examples
    --------
    >>> from committee.reporting.number_format import NumberFormat
    >>> rate = NumberFormat.of("error rate", 0.09)
    >>> rate.text(0.0925), rate.change(-0.0025, 0.0031)
    ('9.25 %', '-0.25 ± 0.31 points')
    >>> NumberFormat.of("RMSE", 51.3).text(7.0)
    '7.00'
    """

    scale: int
    decimals: int | None
    unit: str

    @classmethod
    def of(cls, measure: str, typical: float) -> Self:
        """Return the format of a measure: rates in percent, others by a typical value."""
        if measure.endswith("error rate"):
            return cls(100, 2, " %")
        size = abs(typical)
        if not 1e-6 < size < 1e9:
            return cls(1, 3 if size == 0 else None, "")
        return cls(1, max(0, _DIGITS - 1 - math.floor(math.log10(size))), "")

    def text(self, x: float) -> str:
        """Return a number with its unit."""
        return "-" if math.isnan(x) else f"{self._plain(x)}{self.unit}"

    def interval(self, low: float, high: float) -> str:
        """Return the ends of an interval."""
        return "-" if math.isnan(low) else f"{self.text(low)} to {self.text(high)}"

    def spread(self, x: float, se: float) -> str:
        """Return a number and its standard error, where that is known."""
        if math.isnan(se):
            return self.text(x)
        return f"{self._plain(x)} ± {self._plain(se)}{self.unit}"

    def change(self, gap: float, se: float) -> str:
        """Return a difference with its sign and its standard error: of rates in points."""
        number = self._plain(abs(gap))
        zero = not any(c in "123456789" for c in number)
        sign = "" if zero else "-" if gap < 0 else "+"
        spread = "" if math.isnan(se) else f" ± {self._plain(se)}"
        return f"{sign}{number}{spread}{' points' if self.unit else ''}"

    def as_json(self) -> dict[str, Any]:
        """Return what the script of the page needs to write numbers alike."""
        return asdict(self)

    def _plain(self, x: float) -> str:
        if self.decimals is None:
            return figures(self.scale * x, _DIGITS)
        return f"{self.scale * x:,.{self.decimals}f}"
