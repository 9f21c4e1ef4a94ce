"""One self-contained page about a committee."""

from committee.reporting.report import report

__all__ = ["report"]
