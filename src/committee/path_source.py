"""Interface: results of `prune` about the committees of a path."""

from __future__ import annotations

from typing import Any, Protocol

from committee._typing import BoolArray, FloatArray, IntArray


class PathSource(Protocol):
    """Results about the committees of a path beyond their weights.

    Every attribute is computed on first use.
    """

    @property
    def errors(self) -> tuple[FloatArray, FloatArray, str] | None:
        """Error, standard error and measure at each step, where these are known."""

    @property
    def n_bytes(self) -> FloatArray | None:
        """Bytes of the members at each step."""

    @property
    def seconds_per_row(self) -> FloatArray | None:
        """Seconds that the members of each step take for a row."""

    @property
    def available(self) -> BoolArray:
        """The steps of which there is a committee: in a copy not all."""

    @property
    def members_by_number(self) -> dict[int, Any]:
        """The members at hand, by their numbers in the ensemble."""

    @property
    def before(self) -> Any:
        """The ensemble before pruning and its roster; None where it is not at hand."""

    def by(self, scoring: str) -> PathSource:
        """Return the same with errors of another kind."""

    def measured(self, name: str) -> Any:
        """Return one of the above if it is known already, None otherwise."""

    def clearly_better(self, steps: IntArray) -> BoolArray | None:
        """Return which steps have a clearly lower error than the last of them."""

    def committee(self, step: int) -> Any:
        """Return the committee of a step."""

    def calibration(self, support: IntArray) -> Any:
        """Return what calibrates the probabilities of the committee of these members."""

    def summary(self, committee: Any) -> Any:
        """Return what pruning cost and gained."""

    def kept(self, committee: Any, whole: bool) -> PathSource:
        """Return what a copy of a committee keeps of this."""

    def bind(self, committee: Any) -> None:
        """Learn which committee a copy came with."""
