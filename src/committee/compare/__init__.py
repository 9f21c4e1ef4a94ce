"""Statistical comparison of methods over several data sets."""

from committee.compare.comparison import Comparison, compare
from committee.compare.significance import (
    RankTest,
    WinLossTie,
    bonferroni_dunn,
    friedman,
    holm,
    iman_davenport,
    nemenyi,
    rank_methods,
    signed_rank,
    win_loss_tie,
)

__all__ = [
    "Comparison",
    "RankTest",
    "WinLossTie",
    "bonferroni_dunn",
    "compare",
    "friedman",
    "holm",
    "iman_davenport",
    "nemenyi",
    "rank_methods",
    "signed_rank",
    "win_loss_tie",
]
