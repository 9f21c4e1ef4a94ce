"""The presets of `committee train`: their learners, which `learners.py` makes, and minutes."""

from __future__ import annotations

#: Learners of each preset, the most valuable first.
_FAST = ("boosting", "shallow-boosting", "extra-trees", "linear", "network")
PRESETS = {"fast": _FAST, "best": (*_FAST, "neighbours", "slow-boosting", "forest")}
#: Default time budget of each preset, in minutes.
MINUTES = {"fast": 10.0, "best": 60.0}
