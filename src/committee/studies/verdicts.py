"""Rules by which a claim holds: each is stated beside what it decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from committee._typing import FloatArray
from committee.compare import win_loss_tie
from committee.studies.study import Claim, Entry, Verdict

#: Runs behind a printed standard deviation.
PRINTED_RUNS = 100
#: Fewer runs than these of any cell that a claim speaks of decide nothing.
FEW = 10
#: A claim about many places holds where this share does, and partly from the second.
MOST, SOME = 0.8, 0.5
SHARES = f"in {100 * MOST:.0f} % of places (partly: {100 * SOME:.0f} %)"


def by_share(holding: int, total: int) -> Verdict:
    """Return the verdict on a claim that holds in so many places.

    Examples
    --------
    >>> from committee.studies.verdicts import by_share
    >>> [by_share(n, 10) for n in (9, 5, 4)]
    ['reproduced', 'partly', 'not']
    """
    if total == 0:
        return "undecided"
    share = holding / total
    return "reproduced" if share >= MOST else "partly" if share >= SOME else "not"


def by_parts(*parts: bool) -> Verdict:
    """Return the verdict on a claim that has parts: all, some or none of them hold.

    Examples
    --------
    >>> from committee.studies.verdicts import by_parts
    >>> by_parts(True, False)
    'partly'
    """
    return "reproduced" if all(parts) else "partly" if any(parts) else "not"


def enough(runs: Iterable[FloatArray]) -> bool:
    """Tell whether there is anything, and at least ten runs of everything.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.studies.verdicts import enough
    >>> enough([np.ones(10), np.ones(12)]), enough([np.ones(10), np.ones(0)])
    (True, False)
    """
    counts = [len(values) for values in runs]
    return bool(counts) and min(counts) >= FEW


def undecided(text: str, rule: str, protocol: str) -> Claim:
    """Return a claim that too few runs leave open."""
    found = f"fewer than {FEW} runs of some cell"
    return Claim(text, rule, protocol, found, "undecided")


def standard_error(values: FloatArray) -> float:
    """Return that of the mean; NaN for fewer than two runs."""
    if len(values) < 2:
        return np.nan
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def agrees(entry: Entry) -> bool:
    """Tell whether ours is within two joint standard errors of the printed mean.

        |m - m'| <= 2 sqrt(s^2 / n + s'^2 / 100)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.studies.study import Entry
    >>> from committee.studies.verdicts import agrees
    >>> agrees(Entry("sinc", "EP", "paper", np.array([0.9, 1.1]), 1.1, 0.5))
    True
    """
    if entry.printed is None:
        raise ValueError("There is no printed figure to agree with.")
    printed = (entry.printed_sd or 0.0) / np.sqrt(PRINTED_RUNS)
    ours = standard_error(entry.values)
    joint = np.hypot(0.0 if np.isnan(ours) else ours, printed)
    return bool(abs(entry.difference) <= 2 * joint)


def same_figures(text: str, entries: Iterable[Entry]) -> Claim:
    """Return the claim that our means are the printed ones.

    Parameters
    ----------
    text : str
    entries : iterable of Entry
        Of one protocol, with printed figures.
    """
    filled = [e for e in entries if e.printed is not None]
    protocol = filled[0].protocol if filled else "paper"
    rule = f"within two joint standard errors {SHARES}"
    if not enough(e.values for e in filled):
        return undecided(text, rule, protocol)
    close = sum(map(agrees, filled))
    gaps = [100 * e.difference / e.printed for e in filled if e.printed]
    typical = f"; median difference {np.median(gaps):+.0f} %" if gaps else ""
    return Claim(
        text,
        rule,
        protocol,
        f"{close} of {len(filled)} places{typical}",
        by_share(close, len(filled)),
    )


def lower_on_most(
    text: str,
    protocol: str,
    pairs: Sequence[tuple[FloatArray, FloatArray]],
    printed: tuple[int, int],
) -> Claim:
    """Return the claim that the first of each pair has the lower mean.

    Beside the means, the wins and losses by Welch's t-test are told.

    Parameters
    ----------
    text : str
    protocol : str
    pairs : sequence of (ours, rival)
        Runs of both, for every data set.
    printed : (int, int)
        Wins and losses in print.
    """
    rule = (
        "the lower mean as often as in print, but for one set (partly: on half of them)"
    )
    if not enough(runs for pair in pairs for runs in pair):
        return undecided(text, rule, protocol)
    ours, rivals = zip(*pairs, strict=True)
    wins, losses, _ = win_loss_tie(ours, rivals)
    sure = win_loss_tie(ours, rivals, by="t-test")
    half = 2 * wins >= len(pairs)
    verdict: Verdict = "partly" if half else "not"
    if wins >= printed[0] - 1 and wins > losses:
        verdict = "reproduced"
    found = (
        f"wins {wins}, losses {losses} (in print {printed[0]}, {printed[1]}); by a "
        f"t-test {sure.wins}, {sure.losses}"
    )
    return Claim(text, rule, protocol, found, verdict)
