"""Statistical comparison of methods over several data sets."""

from committee.compare.comparison import Comparison, compare
from committee.compare.pairs import (
    WinLossTie,
    holm,
    signed_rank,
    win_loss_tie,
)
from committee.compare.ranks import (
    RankTest,
    bonferroni_dunn,
    friedman,
    iman_davenport,
    nemenyi,
    rank_methods,
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
