"""Claims of the papers, and the rules by which they hold.

A rule is a function that returns what was found and the verdict; it is called only
where there are ten runs of everything that the claim speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from committee._typing import FloatArray
from committee.compare import win_loss_tie

Verdict = Literal["reproduced", "partly", "not", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not", "undecided")

#: Fewer runs than these of any cell that a claim speaks of decide nothing.
FEW = 10
#: A claim about many places holds where this share does, and partly from the second.
MOST, SOME = 0.8, 0.5
SHARES = f"in {100 * MOST:.0f} % of places (partly: {100 * SOME:.0f} %)"


@dataclass(frozen=True)
class Claim:
    """What a paper says, how it is decided here, and what came out."""

    text: str
    rule: str
    protocol: str
    found: str
    verdict: Verdict


def decide(
    text: str,
    rule: str,
    protocol: str,
    runs: Iterable[FloatArray],
    judge: Callable[[], tuple[str, Verdict]],
) -> Claim:
    """Return the claim with what `judge` finds, undecided where runs are too few."""
    if enough(runs):
        return Claim(text, rule, protocol, *judge())
    return undecided(text, rule, protocol)


def undecided(text: str, rule: str, protocol: str) -> Claim:
    """Return a claim that too few runs leave open."""
    found = f"fewer than {FEW} runs of some cell"
    return Claim(text, rule, protocol, found, "undecided")


def enough(runs: Iterable[FloatArray]) -> bool:
    """Tell whether there is anything, and at least ten runs of everything."""
    counts = [len(values) for values in runs]
    return bool(counts) and min(counts) >= FEW


def by_share(holding: Iterable[bool]) -> Verdict:
    """Return the verdict on a claim that is to hold in most places."""
    share = float(np.mean(list(holding)))
    return "reproduced" if share >= MOST else "partly" if share >= SOME else "not"


def by_parts(*parts: bool) -> Verdict:
    """Return the verdict on a claim that has parts: all, some or none of them hold."""
    return "reproduced" if all(parts) else "partly" if any(parts) else "not"


def standard_error(values: FloatArray) -> float:
    """Return that of the mean; NaN for fewer than two runs."""
    if len(values) < 2:
        return np.nan
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def ratio(value: FloatArray | float, base: FloatArray | float) -> FloatArray:
    """Return value / base, 1 where both are zero, NaN where only the base is.

    An error may be zero: a ratio to it is no number to average.
    """
    value, base = np.broadcast_arrays(value, base)
    without = np.where(value == 0, 1.0, np.nan)
    return np.divide(value, base, out=without, where=base != 0)


def lower_on_most(
    text: str,
    protocol: str,
    pairs: Sequence[tuple[FloatArray, FloatArray]],
    printed: tuple[int, int],
) -> Claim:
    """Return the claim that the first of each pair has the lower mean.

    Beside the means stand wins and losses by Welch's t-test.

    Parameters
    ----------
    text, protocol : str
    pairs : sequence of (ours, rival)
        Runs of both, for every data set.
    printed : (int, int)
        Wins and losses in print.
    """

    def judge() -> tuple[str, Verdict]:
        ours, rivals = zip(*pairs, strict=True)
        wins, losses, _ = win_loss_tie(ours, rivals)
        sure = win_loss_tie(ours, rivals, by="t-test")
        found = (
            f"wins {wins}, losses {losses} (in print {printed[0]}, {printed[1]}); by a "
            f"t-test {sure.wins}, {sure.losses}"
        )
        if wins >= printed[0] - 1 and wins > losses:
            return found, "reproduced"
        return found, "partly" if 2 * wins >= len(pairs) else "not"

    rule = (
        "the lower mean as often as in print, but for one set (partly: on half of them)"
    )
    return decide(text, rule, protocol, [runs for p in pairs for runs in p], judge)
