"""From any fitted ensemble to the few members that matter."""

from committee.pruning.prune import prune
from committee.pruning.summary import Summary

__all__ = ["Summary", "prune"]
