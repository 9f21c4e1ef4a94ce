"""The presets of `committee train`: their learners, which `learners.py` makes, and minutes."""

from __future__ import annotations

#: Learners of each preset, the most valuable first. CatBoost and XGBoost take part where
#: they are installed.
_FAST = ("catboost", "boosting", "shallow-boosting", "extra-trees", "linear", "network")
_MORE = ("neighbours", "xgboost", "slow-boosting", "forest")
PRESETS = {"fast": _FAST, "best": (*_FAST, *_MORE)}
#: Default time budget of each preset, in minutes.
MINUTES = {"fast": 10.0, "best": 60.0}
